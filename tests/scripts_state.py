"""Training scripts whose steps read and write state that lies in places of its own.

Each place is a function that returns what a step reads (a weight of the loss), what changes it
between calls, and what is left of it in the end.
"""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import dataclasses
import decimal
import enum
import heapq
import itertools
import multiprocessing
import os
import re
import sqlite3
import struct
import types
import weakref

import numpy as np
from scripts_tools import STEPS, batch, parts, scripts

from numbagrad import nn

F = nn.functional


def environment():
    os.environ["NUMBAGRAD_TEST_WEIGHT"] = "1"
    change = lambda k: os.environ.update(NUMBAGRAD_TEST_WEIGHT=str(1 + k % 3))  # noqa: E731
    left = lambda: [os.environ.pop("NUMBAGRAD_TEST_WEIGHT")]  # noqa: E731
    return lambda: float(os.environ["NUMBAGRAD_TEST_WEIGHT"]), change, left


def context_variable():
    weight = contextvars.ContextVar("weight", default=1.0)
    return weight.get, lambda k: weight.set(1.0 + k) if k > 3 else None, list


def window():
    seen = collections.deque([1.0], maxlen=3)

    def read():
        seen.append(seen[-1] * 1.1)
        return sum(seen) / len(seen)

    return read, lambda k: None, lambda: list(seen)


def iterators():
    cycle, count = itertools.cycle([1.0, 2.0, 3.0]), itertools.count()
    return lambda: next(cycle) + next(count), lambda k: None, lambda: [next(count)]


def generator():
    def halves():
        value = 1.0
        while True:
            yield value
            value *= 0.5

    made = halves()
    return lambda: next(made), lambda k: None, lambda: [next(made)]


def phases():
    class Phase(enum.Enum):
        WARM, MAIN = 1, 2

    run = types.SimpleNamespace(phase=Phase.WARM)
    change = lambda k: setattr(run, "phase", Phase.MAIN) if k == 4 else None  # noqa: E731
    return lambda: 0.5 if run.phase is Phase.WARM else 2.0, change, list


def numbers_of_c():
    values = array.array("d", [1.0, 2.0])

    def read():
        values[1] += 1
        return values[0]

    return read, lambda k: values.__setitem__(0, 1 + k / 2), lambda: list(values)


def structure():
    class Settings(ctypes.Structure):
        _fields_ = (("weight", ctypes.c_double), ("calls", ctypes.c_int))

    settings = Settings(1.0, 0)

    def read():
        settings.calls += 1
        return settings.weight

    return read, lambda k: setattr(settings, "weight", 1 + k / 2), lambda: [settings.calls]


def packed_bytes():
    memory = bytearray(struct.pack("d", 1.0))
    change = lambda k: struct.pack_into("d", memory, 0, 1.0 + k)  # noqa: E731
    return lambda: struct.unpack("d", memory)[0], change, list


def database():
    rows = sqlite3.connect(":memory:")
    rows.execute("create table settings(weight real)")
    rows.execute("insert into settings values (1)")
    change = lambda k: rows.execute("update settings set weight = ?", (1 + k / 2,))  # noqa: E731
    return lambda: rows.execute("select weight from settings").fetchone()[0], change, list


def settings_that_are_replaced():
    @dataclasses.dataclass(frozen=True)
    class Settings:
        weight: float = 1.0

    run = types.SimpleNamespace(settings=Settings())

    def change(k):
        run.settings = dataclasses.replace(run.settings, weight=1.0 + k)

    return lambda: run.settings.weight, change, list


def defaults():
    class Defaults(dict):
        def __missing__(self, key):
            self[key] = 1.0 + len(self)
            return self[key]

    weights, name = Defaults(), ["a"]
    change = lambda k: name.__setitem__(0, "abcdefgh"[k // 2])  # noqa: E731
    return lambda: weights[name[0]], change, lambda: list(weights.values())


def descriptor():
    class Schedule:
        def __get__(self, run, kind):
            return 1 + run.calls / 4

    class Run:
        weight = Schedule()
        calls = 0

    run = Run()

    def read():
        run.calls += 1
        return run.weight

    return read, lambda k: None, lambda: [run.calls]


def attributes_by_name():
    class Table(type):
        def __getattr__(cls, name):
            return cls.entries[name]  # KeyError for any other

    class Settings(metaclass=Table):
        entries = {"weight": 1.0}  # noqa: RUF012 - changed on purpose

    class Proxy:
        def __init__(self, target):
            object.__setattr__(self, "target", target)

        def __getattr__(self, name):
            return self.target[name]

    proxy = Proxy({"weight": 1.0})

    def change(k):
        Settings.entries["weight"] = 1.0 + k
        if k == 5:
            proxy.target["weight"] = 3.0

    return lambda: Settings.weight * proxy.weight, change, list


def property_that_logs():
    class Settings:
        def __init__(self):
            self._weight, self.log = 1.0, []

        @property
        def weight(self):
            self.log.append("read")
            return self._weight

        @weight.setter
        def weight(self, value):
            self.log.append("written")
            self._weight = value

    settings = Settings()

    def read():
        settings.weight *= 0.9
        return settings.weight

    return read, lambda k: None, lambda: settings.log


def weak_references():
    class Weight:
        def __init__(self, value):
            self.value = value

    kept = [Weight(1.0)]
    weights = weakref.WeakValueDictionary(now=kept[0])

    def change(k):
        if k == 3:
            kept[0].value = 5.0
        if k == 6:
            kept[0] = weights["now"] = Weight(7.0)

    return lambda: weights["now"].value, change, list


def shared_between_processes():
    weight = multiprocessing.Value("d", 1.0)

    def read():
        with weight.get_lock():
            weight.value += 0.5
        return weight.value

    return read, lambda k: None, lambda: [weight.value]


def maps():
    first, second = collections.UserDict(w=1.0), collections.ChainMap({}, {"w": 1.0})

    def change(k):
        first["w"] = 1.0 + k
        if k == 5:
            second.maps[0]["w"] = 3.0

    return lambda: first["w"] * second["w"], change, list


def text():
    lines = ["weight=1.0"]
    change = lambda k: lines.__setitem__(0, f"weight={1 + k / 4}")  # noqa: E731
    return lambda: float(re.search(r"=([\d.]+)", lines[0]).group(1)), change, list


def decimals():
    weight = [decimal.Decimal(1)]

    def read():
        weight[0] += decimal.Decimal("0.5")
        return float(weight[0])

    return read, lambda k: None, lambda: [str(weight[0])]


def heap():
    entries = [3.0]

    def read():
        heapq.heappush(entries, len(entries) * 0.5)
        return entries[0] + 1

    change = lambda k: heapq.heappop(entries) if k % 3 == 2 else None  # noqa: E731
    return read, change, lambda: sorted(entries)


def generator_of_numpy():
    draws = np.random.default_rng(4)
    return lambda: 1 + draws.random(), lambda k: None, lambda: [draws.random()]


def code_that_is_replaced():
    scope = {"weight": 1.0}
    exec("def read():\n    return weight\n", scope)

    def change(k):
        scope["weight"] = 1.0 + k
        if k == 5:
            exec("def read():\n    return weight / 2\n", scope)

    return lambda: scope["read"](), change, list


def trained_with(compile, position):
    """The losses of steps that weigh them by what a place holds, and what is left there."""
    read, change, left = position()
    net, optimizer = parts()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y) * read()
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for k in range(STEPS):
        change(k)
        losses.append(step(*batch(k)))
    return [losses, left(), dict(net.state_dict())]


POSITIONS = [
    environment, context_variable, window, iterators, generator, phases, numbers_of_c, structure,
    packed_bytes, database, settings_that_are_replaced, defaults, descriptor, attributes_by_name,
    property_that_logs, weak_references, shared_between_processes, maps, text, decimals, heap,
    generator_of_numpy, code_that_is_replaced,
]  # fmt: skip
scripts(trained_with, {position.__name__: position for position in POSITIONS})
