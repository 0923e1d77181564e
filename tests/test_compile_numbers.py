"""compile(): floats among the arguments are given to the program; what looks at one guards it."""

from __future__ import annotations

import fractions
import math
import operator
import types

import numpy as np
import pytest
from compile_checks import assert_compiled, follow, programs, same, values

import numbagrad as torch
from numbagrad import nn
from numbagrad.autograd import Function
from numbagrad.executor.pointwise import JIT_DISABLED

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
}


@pytest.mark.parametrize("what", COMPUTED)
def test_a_number_that_is_computed_with_is_given_to_the_program(what):
    compiled = follow(lambda: COMPUTED[what], calls)
    assert_compiled(compiled, 2)  # that of the first number, and that of all numbers


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
    with pytest.warns() if not JIT_DISABLED else torch.no_grad():
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
    if not JIT_DISABLED:
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
