"""compile(): numbers among the arguments are given to the program; what looks at one guards it."""

from __future__ import annotations

import bisect
import collections
import datetime
import decimal
import fractions
import functools
import gc
import itertools
import json
import math
import operator
import struct
import types

import numba
import numpy as np
import pytest
from compile_checks import assert_compiled, follow, programs, same, values

import numbagrad as torch
from numbagrad import nn
from numbagrad.autograd import Function
from numbagrad.executor.mode import NATIVE

F = nn.functional

#: Numbers of successive calls: on both sides of what branches below ask for.
NUMBERS = (0.5, 1.25, -2.0, 3.0, 0.0, 7.5)


def calls(k):
    """Arguments of call ``k``: a tensor and a number."""
    return torch.arange(1.0, 7.0).view(2, 3), NUMBERS[k]


COMPUTED = {
    "a factor": lambda x, s: x * s,
    "on the left": lambda x, s: s - x / (s + 10),
    "an expression": lambda x, s: x * (2 * s - 1) + abs(-s) / 4 + (s + 1) ** 2,
    "used twice": lambda x, s: (x * s).exp() * s,
    "in a container": lambda x, s: sum([x * each for each in [s, s + 1]]),
    "in place": lambda x, s: x.clone().mul_(s).add_(s),
    "of an operator": lambda x, s: x.clamp(min=s),
    "a function of Python's": lambda x, s: x * operator.mul(s, 3.0),
    "with a whole tensor": lambda x, s: x * s + torch.ones(2, 3).cumsum(0) * s,
    "nothing": lambda x, s: x + 1,
    "beside functions of constants": lambda x, s: x * s + math.log(2 * math.pi) * math.sqrt(3),
    "beside functions of sizes": lambda x, s: x * s / math.sqrt(x.size(1)),
    "beside a norm of several": lambda x, s: x * s + torch.stack([x.norm(), x.sum()]).norm(),
    "a weight in place": lambda x, s: x.clone().add_(x, alpha=s).sub_(x, alpha=2 * s),
    "a weight": lambda x, s: torch.add(x, x, alpha=s) - torch.sub(x, x, alpha=-s),
}


@pytest.mark.parametrize("what", COMPUTED)
def test_a_number_that_is_computed_with_is_given_to_the_program(what):
    compiled = follow(lambda: COMPUTED[what], calls)
    assert_compiled(compiled, 2)  # that of the first number, and that of all numbers


#: Writes in C, from a number that it does not ask.
ENCODER = json.JSONEncoder()


@numba.njit
def summed(array, number):
    """A user's kernel that takes a number."""
    return array.sum() + number * 2


def helper_that_branches(x, s):
    """A user's function, called by another."""
    return x if s < 1 else x * s


LOOKED_AT = {
    "a branch": lambda x, s: x * 2 if s > 1 else x * s,
    "a branch on what was computed": lambda x, s: x * s if s * 2 + 1 > 3 else x,
    "its truth": lambda x, s: x * s if s else x,
    "in a helper": helper_that_branches,
    "equality": lambda x, s: x + (s == 3.0),
    "a whole number": lambda x, s: x[:, : int(s) + 2],
    "an index": lambda x, s: [x, x * 2, x * 3][math.floor(s) % 3],
    "rounded": lambda x, s: x * round(s),
    "a remainder": lambda x, s: x * (s % 2),
    "a text": lambda x, s: x * len(f"{s}"),
    "an old text": lambda x, s: x * len("%g" % s),  # noqa: UP031
    "a key": lambda x, s: x * {0.5: 2.0}.get(s, 1.0),
    "a root": lambda x, s: x * math.sqrt(s + 9),
    "whether it is finite": lambda x, s: x * math.isfinite(s),
    "a function of NumPy": lambda x, s: x * float(np.sqrt(s + 9)),
    "a class of NumPy": lambda x, s: x * 2 if np.float32(s) > 1 else x,
    "a fraction": lambda x, s: x * float(fractions.Fraction(s) / 3),
    "an array": lambda x, s: x * torch.full((3,), s),
    "the largest": lambda x, s: x * max(s, 1.0),
    "an exponent": lambda x, s: x * (s + 9) ** 0.5,
    "a threshold": lambda x, s: F.threshold(x, s, 0.25),
    "its class": lambda x, s: x * 2 if type(s) is float else x,
    "a property": lambda x, s: x * 2 if s.real > 1 else x,
    "whole": lambda x, s: x * s.is_integer(),
    "a function compiled by Numba": lambda x, s: x * summed(np.ones(3), s),
    "a document": lambda x, s: x * len(json.dumps([s, 10])),
    "an object that writes documents": lambda x, s: x * float(ENCODER.encode([s])[1:-1]),
    "a duration": lambda x, s: x * datetime.timedelta(hours=s).total_seconds(),
    "a float": lambda x, s: x * float(s),
    "a complex number": lambda x, s: x * complex(s, 1).real,
    "a decimal": lambda x, s: x * float(decimal.Decimal(s) + 1),
    "bytes": lambda x, s: x * struct.pack("<f", s)[2],
    "a power in C": lambda x, s: x * math.ldexp(s, 2) + pow(s, 2),
    "a length": lambda x, s: x * math.hypot(s, 3.0) + math.fsum([s, 2.0]),
    "a branch on a function": lambda x, s: x * 2 if math.exp(s) > 3 else x,
    "rounded to places": lambda x, s: x * round(s, 1),
    "an array of NumPy": lambda x, s: x * float(np.array([s, 2.0]).sum()),
    "a filled array": lambda x, s: x * float(np.full(3, s)[1]),
    "a product of NumPy": lambda x, s: x * float((np.ones(3) * s)[1]),
    "a scalar of NumPy": lambda x, s: x * float(np.float64(2) * s),
    "the nearest": lambda x, s: x * bisect.bisect([0.0, 1.0, 5.0], s),
    "sorted": lambda x, s: x * sorted([s, 1.0])[0],
    "a tensor": lambda x, s: x * torch.tensor(s),
    "an item": lambda x, s: x * torch.tensor([s, 2.0]).sum(),
    "a text with places": lambda x, s: x * float(f"{s:.1f}") + len("%5.2f" % s),  # noqa: UP031
}


@pytest.mark.parametrize("what", LOOKED_AT)
def test_a_number_that_is_looked_at_is_no_constant_of_another_call(what):
    follow(lambda: LOOKED_AT[what], calls)


def test_a_class_of_numpy_that_an_object_holds():
    box = types.SimpleNamespace(cast=np.float32)
    follow(lambda: lambda x, s: x * 2 if box.cast(s) > 1 else x, calls)


def test_a_number_beside_integers():
    follow(
        lambda: lambda x, s: (x.long() * s).long().clamp(max=s),
        lambda k: (torch.ones(3), NUMBERS[k]),
    )


def test_one_number_that_is_given_and_one_that_is_looked_at():
    compiled = follow(
        lambda: lambda x, a, b: x * a if b > 1 else x * a + b,
        lambda k: (torch.ones(3), float(k), NUMBERS[k % 3]),
    )
    assert_compiled(compiled)


def test_a_number_that_never_changes_is_a_constant():
    compiled = follow(lambda: lambda x, s: x * s, lambda k: (torch.ones(3), 0.5))
    assert_compiled(compiled, 1)


def test_a_number_given_by_name():
    compiled = torch.compile(lambda x, scale=1.0: x * scale)
    for scale in NUMBERS:
        same(values(compiled(torch.ones(3), scale=scale)), np.full(3, scale, np.float32))
    same(values(compiled(torch.ones(3))), np.ones(3, np.float32))


def test_a_number_after_an_empty_container():
    compiled = follow(
        lambda: lambda x, rest, s: x * s + sum(rest), lambda k: (torch.ones(3), (), NUMBERS[k])
    )
    assert_compiled(compiled, 2)


def test_a_number_that_is_returned():
    def step(x, s):
        return x * s, [s, s * 2 + 1]

    compiled = follow(lambda: step, calls)
    found = compiled(torch.ones(2, 3), 4.0)[1]
    assert found == [4.0, 9.0]
    assert all(type(each) is float for each in found)


def test_a_number_that_the_function_keeps():
    class Scaled:
        last = 0.0

        def __call__(self, x, s):
            self.last = s
            return x * s

    scaled = Scaled()
    compiled = torch.compile(scaled)
    with pytest.warns() if NATIVE else torch.no_grad():
        for k in range(12):
            same(values(compiled(torch.ones(2), k / 2)), np.full(2, k / 2, np.float32))
            assert scaled.last == k / 2
            assert type(scaled.last) is float


def test_a_learning_rate_as_argument():
    def make():
        torch.manual_seed(2)
        net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))

        def step(x, rate):
            net.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for weight in net.parameters():
                    weight -= rate * weight.grad
            return loss.detach()

        return step

    x = torch.randn(8, 4)
    compiled = follow(make, lambda k: (x, 0.1 / (k + 1)))
    if NATIVE:
        assert programs(compiled) <= 3  # gradients are None at first


class Scaled(Function):
    """A Function that keeps a number."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None


@pytest.mark.parametrize("times", [lambda x, s: x * s, Scaled.apply])
def test_each_result_is_differentiated_with_its_own_number(times):
    compiled = torch.compile(lambda x, s: (times(x, s) * s).sum())
    for _ in range(2):
        x = torch.ones(3, requires_grad=True)
        results = [compiled(x, number) for number in NUMBERS]
        for number, result in reversed([*zip(NUMBERS, results, strict=True)]):
            x.grad = None
            result.backward()
            same(values(x.grad), np.full(3, number**2, np.float32))


def test_a_number_in_a_random_program():
    def step(x, s):
        return F.dropout(x * s, 0.5) + torch.randn(3)

    compiled = follow(lambda: step, lambda k: (torch.ones(3), NUMBERS[k]))
    assert_compiled(compiled, 2)


def test_minus_zero_nan_and_infinity_are_given():
    compiled = torch.compile(lambda x, s: x * s)
    for number in (1.0, 2.0, 0.0, -0.0, float("inf"), float("nan"), 1e300):
        with np.errstate(over="ignore"):
            found, expected = values(compiled(torch.ones(2), number)), np.float32(number)
        np.testing.assert_array_equal(found, np.full(2, expected))
        assert np.signbit(found).all() == np.signbit(expected)


def test_a_number_by_which_python_divides():
    compiled = torch.compile(lambda x, s: x * (1.0 / s))
    for number in (1.0, 2.0, 4.0):
        same(values(compiled(torch.ones(2), number)), np.full(2, 1 / number, np.float32))
    with pytest.raises(ZeroDivisionError):
        compiled(torch.ones(2), 0.0)


#: Integers of successive calls.
WHOLE = (1, 2, 3, 0, 5, 4)


def counted(k):
    """Arguments of call ``k``: a tensor and an integer."""
    return torch.arange(1.0, 25.0).view(6, 4), WHOLE[k]


COUNTED_WITH = {
    **COMPUTED,
    "a power of a constant": lambda x, t: x * (1 - 0.9**t),
    "a quotient": lambda x, t: x * (1.0 / (t + 1)),
    "both": lambda x, t: x * (t * 0.5 + 3 * t),
    "steps of a schedule": lambda x, t: x * 0.1 ** (t // 2) + t % 3,
}


@pytest.mark.parametrize("what", COUNTED_WITH)
def test_an_integer_that_is_computed_with_is_given_to_the_program(what):
    if what == "with a whole tensor":
        step = lambda x, s: x * s + torch.ones(6, 4).cumsum(0) * s  # noqa: E731
    else:
        step = COUNTED_WITH[what]
    compiled = follow(lambda: step, counted)
    assert_compiled(compiled, 2)


COUNTED_BY = {
    "a place": lambda x, t: x[t],
    "a slice": lambda x, t: x[: t + 1],
    "a place in a list": lambda x, t: [x, x * 2, x * 3, x * 4, x * 5, x * 6][t],
    "a range": lambda x, t: sum([x * each for each in range(t)], x),
    "a size": lambda x, t: torch.zeros(t, 2) + 1,
    "a shape": lambda x, t: torch.ones((t + 1, 2)) * 2,
    "numbers in a row": lambda x, t: torch.arange(t) * 2,
    "a view": lambda x, t: (x * 2)[: t + 1].view(t + 1, -1),
    "a dimension": lambda x, t: x.sum(t % 2),
    "a dimension itself": lambda x, t: x.unsqueeze(min(t, 2)),
    "a weight": lambda x, t: torch.add(x, x, alpha=t),
    "an exponent": lambda x, t: x**t,
    "a base": lambda x, t: t ** (x / 24),
    "a bound": lambda x, t: x.clamp(min=t),
    "a filling": lambda x, t: torch.full((3,), t) + 1,
    "written": lambda x, t: x.clone().fill_(t),
    "written at a place": lambda x, t: x.clone().index_fill_(0, torch.tensor([1]), t),
    "repeated": lambda x, t: x.repeat(t + 1, 1),
    "rolled": lambda x, t: x.roll(t, 0),
    "chunks": lambda x, t: torch.cat(x.chunk(t + 1), 1),
    "integers": lambda x, t: x.long() * t + t,
    "the parity": lambda x, t: x * 2 if t % 2 else x,
    "a division": lambda x, t: x * (24 // (t + 1)),
    "bits": lambda x, t: x * (t & 1) + (t << 2) + (8 >> t),
    "a factorial": lambda x, t: x * math.factorial(t),
    "a logarithm": lambda x, t: x * math.log(t + 1),
    "its root": lambda x, t: x * (t + 1) ** 0.5,
    "a negative power": lambda x, t: x * (t + 1) ** -1,
    "of NumPy": lambda x, t: x * float(np.arange(t + 1).sum()),
    "an array of NumPy": lambda x, t: x * float(np.asarray(t) + 1),
    "an old text": lambda x, t: x * len("%d" % t),  # noqa: UP031
    "a text": lambda x, t: x * len(f"{t:03d}"),
    "a string": lambda x, t: x * int(str(t)),
    "a key": lambda x, t: x * {1: 2.0, 5: 3.0}.get(t, 1.0),
    "a member": lambda x, t: x * (t in (1, 5)) + (t in {2, 3}),
    "a class": lambda x, t: x * 2 if type(t) is int else x,
    "an instance": lambda x, t: x * t if isinstance(t, int) else x,
    "a pattern": lambda x, t: x[:, : divmod(t, 4)[1]],
    "a float": lambda x, t: x * float(t),
    "counting": lambda x, t: sum([x * k for k, _ in enumerate([1, 2], t)]),
    "the least": lambda x, t: x * min(t, 3),
    "a tensor": lambda x, t: x * torch.tensor(t),
    "an item": lambda x, t: x * torch.tensor([t, 2.0]).sum(),
    "a fraction": lambda x, t: x * float(fractions.Fraction(t, 3)),
    "text times": lambda x, t: x * len("ab" * t),
    "one hot": lambda x, t: F.one_hot(torch.tensor([0, 1]), t + 2),
    "a power and a modulus": lambda x, t: x * pow(t, 2, 7) + pow(3, t, 5),
    "an exponent in C": lambda x, t: x * math.ldexp(1.0, t),
    "a length in C": lambda x, t: x * sum(collections.deque([1, 2, 3, 4], t)),
    "a document": lambda x, t: x * len(json.dumps([t, 10])),
    "an object that writes documents": lambda x, t: x * int(ENCODER.encode([t])[1:-1]),
    "a duration": lambda x, t: x * datetime.timedelta(hours=t).total_seconds(),
    "a function compiled by Numba": lambda x, t: x * summed(np.ones(3), t),
}


@pytest.mark.parametrize("what", COUNTED_BY)
def test_an_integer_that_is_looked_at_is_no_constant_of_another_call(what):
    follow(lambda: COUNTED_BY[what], counted)


def test_truth_values_are_no_integers():
    compiled = follow(lambda: lambda x, t: x * t if t else x - 1, lambda k: (torch.ones(3), k > 2))
    assert_compiled(compiled, 2)


def test_an_integer_beyond_the_floats_is_what_it_is():
    follow(lambda: lambda x, t: x.long() + t, lambda k: (torch.ones(3), 2**53 + k))
    follow(lambda: lambda x, t: x * t, lambda k: (torch.ones(3), 2**62 + k))


def test_an_integer_of_more_bits_is_refused_by_programs_too():
    compiled = torch.compile(lambda x, t: x * t)
    for t in (1, 2, 3, 4):
        assert compiled(torch.ones(3), t).tolist() == [t] * 3
    with pytest.raises(OverflowError, match="int too big to convert"):
        compiled(torch.ones(3), 2**70)
    assert compiled(torch.ones(3), 5).tolist() == [5] * 3


def test_adam_written_out_with_its_step_count():
    def make():
        torch.manual_seed(3)
        weight = torch.randn(4, 3, requires_grad=True)
        first, second = torch.zeros(4, 3), torch.zeros(4, 3)

        def step(x, t):
            weight.grad = None
            loss = (x @ weight).tanh().pow(2).sum()
            loss.backward()
            with torch.no_grad():
                first.mul_(0.9).add_(weight.grad, alpha=0.1)
                second.mul_(0.999).addcmul_(weight.grad, weight.grad, value=0.001)
                scale = 0.01 / (1 - 0.9**t)
                weight.sub_(scale * first / ((second / (1 - 0.999**t)).sqrt() + 1e-8))
            return loss.detach()

        return step

    compiled = follow(make, lambda k: (torch.ones(5, 4), k + 1))
    if NATIVE:
        assert programs(compiled) <= 3  # the gradient is None at first


def test_an_integer_that_is_returned_or_kept():
    def step(x, t):
        return x * t, [t, t + 1, t / 2], {"step": t * 2}

    compiled = follow(lambda: step, counted)
    _, found, kept = compiled(*counted(1)[:1], 6)
    assert (found, kept) == ([6, 7, 3.0], {"step": 12})
    assert [type(each) for each in (*found, kept["step"])] == [int, int, float, int]


class Kept:
    """What a step keeps, in every kind of container."""

    __slots__ = ("__dict__", "slot")

    def __init__(self):
        self.rows, self.named, self.seen = [], {}, set()
        self.last = collections.OrderedDict(first=0, second=0)

    def keep(self, s):
        self.rows.append((1, s))
        self.rows.append({"s": s, "more": [s + 1]})
        self.named[s] = self.last["second"] = s
        self.seen.add(s)
        self.slot = self.attribute = s * 2
        self.function = lambda: s

    def numbers(self):
        (_, pair), row = self.rows
        return [
            pair, row["s"], *row["more"], *self.named, *self.named.values(), *self.last.values(),
            *self.seen, self.slot, self.attribute, self.function(),
        ]  # fmt: skip


def test_numbers_that_a_call_keeps_are_plain_ones():
    kept = Kept()

    def function(x, s):
        if s > 1:
            kept.keep(s)
        return x * s

    compiled = torch.compile(function)
    for s in (0.5, 1.5):
        compiled(torch.ones(2), s)
    assert {type(each) for each in kept.numbers()} == {float, int}
    assert kept.numbers() == [1.5, 1.5, 2.5, 1.5, 1.5, 0, 1.5, 1.5, 3.0, 3.0, 1.5]
    assert json.loads(json.dumps(kept.rows)) == [[1, 1.5], {"s": 1.5, "more": [2.5]}]


class Shared:
    rate = 0.0


@functools.lru_cache(maxsize=4)
def cached(number):
    return [number, number]


def begun(number):
    def function():
        again = number
        yield (again, number)
        yield again

    generator = function()
    next(generator)
    return generator


def on_the_class(number):
    Shared.rate = number
    return [Shared.rate]


#: Makers of objects that keep a number, and functions that get it out again.
KEEPERS = {
    "frozenset": (lambda s: frozenset([s]), list),
    "table": (lambda s: frozenset([s, *range(20, 40)]), lambda kept: [x for x in kept if x < 20]),
    "slice": (lambda s: slice(s, s), lambda kept: [kept.start, kept.stop]),
    "repeat": (itertools.repeat, lambda kept: [next(kept)]),
    "count": (itertools.count, lambda kept: [next(kept)]),
    "method": (lambda s: types.MethodType(lambda s: s, s), lambda kept: [kept()]),
    "suspended": (begun, lambda kept: [next(kept)]),
    "not begun": (lambda s: (x for x in [s, s]), list),
    "cache": (lambda s: cached(s), lambda kept: [*kept, *cached(1.5)]),
    "class": (on_the_class, lambda kept: [*kept, Shared.rate]),
}


@pytest.mark.parametrize("name", KEEPERS)
def test_no_object_keeps_the_number_of_a_program(name):
    make, kept_by = KEEPERS[name]
    kept = []

    def function(x, s):
        if s > 1:
            kept.append(make(s))
        return x * s

    compiled = torch.compile(function)
    assert [compiled(torch.ones(1), s).item() for s in (0.5, 1.5)] == [0.5, 1.5]
    numbers = kept_by(kept[0])
    assert set(numbers) == {1.5} and {type(x) for x in numbers} == {float}


def test_frozen_objects_keep_no_number_of_a_program():
    """The collector does not look for references among objects that were frozen."""
    kept = []

    def function(x, s):
        if s > 1:
            kept.append(s)
        return x * s

    compiled = torch.compile(function)
    gc.freeze()
    for s in (0.5, 1.5):
        compiled(torch.ones(1), s)
    assert kept == [1.5] and type(kept[0]) is float


@pytest.mark.parametrize("number", [-1, 300, -300])
def test_ints_lose_upper_bits_in_programs_as_without(number):
    compiled = torch.compile(lambda x, n: [x + n, x * n, x == n])
    x = torch.tensor([1, 7], dtype=torch.uint8)
    for n in (4, 4, 4, number, number, 5, number):
        for found, expected in zip(compiled(x, n), [x + n, x * n, x == n], strict=True):
            assert torch.equal(found, expected)
