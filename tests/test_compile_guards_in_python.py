"""compile(): where no words in the heads of objects are found, Python compares at every call."""

from __future__ import annotations

import pytest

import numbagrad as torch
from numbagrad.compiling import walk
from numbagrad.executor.pointwise import JIT_DISABLED


class Rate:
    value = 2.0

    def read(self):
        return self.value


class Doubled(Rate):
    def read(self):
        return 2 * self.value


def helper():
    return 2.0


def other_helper():
    return 5.0


def _class(rate):
    rate.__class__ = Doubled


def _dictionary(rate):
    rate.__dict__ = {"value": 7.0}


def _attribute(rate):
    rate.value = 3.0


@pytest.mark.parametrize("change", [_class, _dictionary, _attribute])
@pytest.mark.parametrize("in_python", [False, True])
def test_an_object_changes(change, in_python, monkeypatch):
    if in_python:
        monkeypatch.setattr(walk, "words_for", lambda value, find: None)
    rate = Rate()

    @torch.compile
    def step(x):
        return x * rate.read()

    for _ in range(4):
        assert step(torch.ones(1)).item() == 2.0
    if in_python and not JIT_DISABLED:
        ((recorded,),) = step._programs.values()
        assert recorded.surroundings._rest  # what compiled code cannot look at
    change(rate)
    for _ in range(4):
        assert step(torch.ones(1)).item() == rate.read()


@pytest.mark.parametrize("in_python", [False, True])
def test_a_function_is_given_other_code(in_python, monkeypatch):
    if in_python:
        monkeypatch.setattr(walk, "words_for", lambda value, find: None)
    step = torch.compile(lambda x: x * helper())
    before = helper.__code__
    try:
        for _ in range(4):
            assert step(torch.ones(1)).item() == 2.0
        helper.__code__ = other_helper.__code__
        assert step(torch.ones(1)).item() == 5.0
    finally:
        helper.__code__ = before
