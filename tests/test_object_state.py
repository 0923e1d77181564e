"""Objects that can be watched, and those that hold state nobody can read."""

from __future__ import annotations

import argparse
import array
import collections
import configparser
import ctypes
import dataclasses
import enum
import functools
import io
import itertools
import logging
import pathlib
import random
import threading
import types
import uuid
import weakref

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.compiling.object_state import hidden, reader_of, slot_values, slots_of


@dataclasses.dataclass
class Options:
    rate: float = 1.0


class Slotted:
    __slots__ = ("a", "__b")

    def __init__(self):
        self.a, self.__b = 1, 2


class Hashed:
    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


class Kind(enum.Enum):
    A = 1


class Number(float):
    pass


READABLE = [
    {}, [], (), set(), collections.deque(), collections.OrderedDict(), collections.Counter(),
    collections.ChainMap(), collections.UserDict(), types.SimpleNamespace(), argparse.Namespace(),
    Options(), Slotted(), Hashed(), Kind.A, Number(1.0), ValueError("x"), logging.getLogger("x"),
    configparser.ConfigParser(), pathlib.Path("."), uuid.UUID(int=1), array.array("d"),
    bytearray(), memoryview(b"a"), np.zeros(2), np.zeros(1, [("a", "f4")])[0], ctypes.c_double(1),
    types.MappingProxyType({}), {}.keys(), functools.partial(max), functools.cache(max),
    io.StringIO(), weakref.WeakKeyDictionary(), nn.Linear(2, 2), torch.ones(1),
    optim.SGD([torch.ones(1, requires_grad=True)], 0.1), torch.Generator(),
]  # fmt: skip
HIDDEN = [
    threading.Lock(), threading.RLock(), threading.local(), random.Random(1), itertools.count(),
    iter([1]), (x for x in "a"), np.random.default_rng(1), np.random.RandomState(1),
    ctypes.pointer(ctypes.c_int(1)),
]  # fmt: skip


@pytest.mark.parametrize("value", READABLE, ids=lambda x: type(x).__name__)
def test_what_can_be_read(value):
    assert not hidden(value)


@pytest.mark.parametrize("value", HIDDEN, ids=lambda x: type(x).__name__)
def test_what_may_hold_anything(value):
    assert hidden(value)


def test_slots_under_mangled_names():
    assert sorted(slot_values(Slotted(), slots_of(Slotted))) == [1, 2]


def _change(value, change):
    read = reader_of(value)
    before = read()
    change(value)
    return before != read()


@functools.lru_cache(2)
def remembered(x):
    return [x]


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (bytearray(b"ab"), lambda x: x.append(1)),
        (array.array("d", [1.0]), lambda x: x.append(1.0)),
        (np.zeros(1, [("a", "f4")])[0], lambda x: x.__setitem__("a", 1)),
        (ctypes.c_double(1), lambda x: setattr(x, "value", 2)),
        (collections.deque([1]), lambda x: x.append(1)),
        (io.StringIO("ab"), lambda x: x.read(1)),
        (remembered, lambda x: x(1)),
        (remembered, lambda x: x.cache_clear()),
        (functools.partial(max), lambda x: x.__setstate__((min, (), {}, None))),
        (ValueError("a"), lambda x: setattr(x, "args", ("b",))),
    ],
)
def test_a_change_is_read(value, change):
    assert _change(value, change)


def test_what_a_function_remembers_can_be_followed():
    remembered.cache_clear()
    made = remembered(1)
    assert any(each is made for each in reader_of(remembered)())
