"""compile(): operators that raise, and what the function does then: catch it, or let it pass.

A program stops where an operator raises. The function goes on from there, or has left behind what
it did before; after a compiled call nothing else may be seen.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from compile_checks import assert_compiled, lockstep, programs

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.executor.mode import NATIVE


def indices(*wrong):
    """Arguments: a vector, and two places of it, which are wrong in some of the calls."""
    return lambda k: (torch.arange(4.0) + k, torch.tensor([k % 3, 9 if k in wrong else 1]))


def test_an_exception_that_is_caught():
    def make():
        written = torch.zeros(2)

        def step(x, index):
            written.add_(1)
            try:
                y = x.index_select(0, index)
            except (IndexError, RuntimeError):
                written.add_(10)
                y = x[:2] * 0
            return y + written

        return step, lambda: written

    assert_compiled(lockstep(make, indices(5, 6)), 1)


def test_an_exception_that_is_caught_while_the_call_is_recorded():
    def make():
        def step(x, index):
            try:
                return x.gather(0, index)
            except (IndexError, RuntimeError):
                return x[:2] * 0

        return step

    assert_compiled(lockstep(make, indices(0, 1, 6)), 1)


def test_an_exception_in_each_call_leaves_the_function_uncompiled():
    @torch.compile
    def step(x, index):
        try:
            return x.index_select(0, index)
        except (IndexError, RuntimeError):
            return x * 2

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(10):
            assert step(torch.ones(2) * k, torch.tensor([5])).tolist() == [2 * k, 2 * k]
    if NATIVE:
        assert programs(step) == 0
        assert [x for x in caught if "raised and caught" in str(x.message)]


def test_what_was_done_before_an_exception_stays():
    def make():
        first, second = torch.zeros(3), torch.zeros(3)

        def step(x, index):
            first.add_(1)
            y = x.index_select(0, index)
            second.add_(1)
            return y

        return step, lambda: [first, second]

    assert_compiled(lockstep(make, indices(5, 6)), 1)


def test_an_exception_behind_a_whole_step():
    def make():
        weight = torch.ones(3, requires_grad=True)
        optimizer = optim.Adam([weight], lr=0.1)
        count = torch.zeros(1)

        def step(x, matrix):
            count.add_(1)
            optimizer.zero_grad()
            (weight * x * torch.rand(3)).sum().backward()
            optimizer.step()
            root = torch.linalg.cholesky(matrix)
            count.add_(1)
            return root * weight.detach().sum()

        return step, lambda: [count, weight, weight.grad, *optimizer.state[weight].values()]

    def calls(k):
        return torch.arange(3.0), torch.eye(2) * (-1 if k in (5, 6) else k + 1)

    assert_compiled(lockstep(make, calls, versions=False), 1)


def test_random_numbers_drawn_before_an_exception_are_drawn_once():
    def make():
        total = torch.zeros(2)

        def step(matrix):
            total.add_(torch.bernoulli(torch.full((2,), 0.5)))
            try:
                return torch.linalg.inv(matrix)
            except RuntimeError:
                total.mul_(-1)
                return matrix + torch.rand(2, 2)

        return step, lambda: [total, torch.rand(2)]

    def calls(k):
        return (torch.eye(2) * (0 if k in (4, 5) else k + 1),)

    lockstep(make, calls, versions=False)


def test_overlapping_memory_that_was_written_is_as_the_function_leaves_it():
    def make():
        base = torch.zeros(6)
        left, right = base[:4], base[2:]

        def step(matrix):
            left.add_(1)
            right.mul_(2)
            try:
                return torch.linalg.inv(matrix)
            except RuntimeError:
                right.sub_(5)
                return matrix

        return step, lambda: base.clone()

    def calls(k):
        return (torch.eye(2) * (0 if k in (4, 5) else k + 1),)

    lockstep(make, calls)


def test_an_exception_of_python_in_the_middle():
    def make():
        written, options = torch.zeros(3), {"bad": False}

        def step(x):
            written.add_(x)
            if options["bad"]:
                raise ValueError("bad")
            written.mul_(2)
            return written.clone()

        def after(result, k, *arguments):
            options["bad"] = k == 4

        return step, lambda: written, after

    lockstep(make, lambda k: (torch.randn(3),))


# --- counters of optimizers that move apart -------------------------------------------------------


def test_parameters_that_at_times_have_no_gradient():
    def make():
        first, second = (torch.ones(2, requires_grad=True) for _ in range(2))
        optimizer = optim.Adam([first, second], lr=0.1)

        def step(x, both):
            optimizer.zero_grad()
            loss = (first * x).sum()
            if both:
                loss = loss + (second * x).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step, lambda: [first, second, [list(x.values()) for x in optimizer.state.values()]]

    lockstep(make, lambda k: (torch.ones(2) * k, k % 4 != 2), 14, versions=False)


@pytest.mark.parametrize("name", ["Adam", "NAdam", "RAdam", "ASGD", "Adamax"])
def test_state_that_is_written_by_hand(name):
    def make():
        first, second = (torch.ones(2, requires_grad=True) for _ in range(2))
        groups = [{"params": [first]}, {"params": [second]}]
        optimizer = getattr(optim, name)(groups, lr=0.1)

        def step(x):
            optimizer.zero_grad()
            ((first * x).sum() + (second * x * x).sum()).backward()
            optimizer.step()
            return x + 1

        def after(result, k, *arguments):
            if k == 4:
                optimizer.state[first]["step"].fill_(20)
            if k == 6:
                optimizer.state[second]["step"] = torch.tensor(3.0)
            if k == 9:
                optimizer.load_state_dict(optimizer.state_dict())

        def state():
            return [first, second, [list(x.values()) for x in optimizer.state.values()]]

        return step, state, after

    lockstep(make, lambda k: (torch.ones(2) * k,), 13, versions=False)


# --- arguments that are no tensors, and modules ---------------------------------------------------

ARGUMENTS = {
    "float32": lambda k: np.float32([0.0, -0.0, 2.0][k % 3]),
    "float32, NaN": lambda k: np.float32("nan") if k % 2 else np.float32(1),
    "int64": lambda k: np.int64(k % 3),
    "complex": lambda k: complex(k % 3, -0.0 if k % 2 else 0.0),
    "slice": lambda k: slice(k % 3, 4),
    "slice of a tensor": lambda k: slice(torch.tensor(k % 3), 4),
    "range": lambda k: range(k % 3, 4),
    "object": lambda k: Holder(float(k % 3)),
    "subclass of float": lambda k: Named(2.0, float(k % 3)),
}


class Holder:
    """An object of which many are made and dropped, at the same few addresses."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number

    __hash__ = None


class Named(float):
    """A float with an attribute."""

    def __new__(cls, value, number):
        made = super().__new__(cls, value)
        made.number = number
        return made


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_an_argument_is_told_by_its_value(kind):
    def step(x, value):
        if isinstance(value, (slice, range)):
            return x[value] if isinstance(value, slice) else x[list(value)]
        if isinstance(value, complex):
            return x * value.real + float(np.copysign(1, value.imag))
        if isinstance(value, (Holder, Named)):
            return x * value.number
        return x * value + float(np.copysign(1, value))

    lockstep(lambda: step, lambda k: (torch.arange(1.0, 5.0), ARGUMENTS[kind](k)), 12)


def test_an_object_that_a_key_holds_keeps_its_address():
    @torch.compile
    def step(x, value):
        return x * value.number

    for k in range(40):
        assert step(torch.ones(1), Holder(k)).item() == k


@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle"])
def test_a_compiled_module_is_copied(how):
    import copy

    compiled = torch.compile(nn.Linear(2, 2), fullgraph=True)
    x = torch.randn(3, 2)
    for _ in range(3):
        compiled(x)
    made = {
        "copy": copy.copy, "deepcopy": copy.deepcopy,
        "pickle": lambda module: pickle.loads(pickle.dumps(module)),
    }[how](compiled)  # fmt: skip
    assert type(made) is type(compiled)
    assert list(made.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert (made.weight is compiled.weight) == (how == "copy")
    for k in range(4):
        if how != "copy":
            made.weight.data.fill_(k)
        expected = x @ made.weight.T + made.bias
        np.testing.assert_allclose(made(x).tolist(), expected.tolist(), rtol=1e-6)
    with pytest.raises(AttributeError):
        made.nothing  # noqa: B018 - the look-up is what is tested


def test_an_attribute_of_a_module_that_is_being_made():
    compiled = torch.compile(nn.Linear(2, 2))
    empty = type(compiled).__new__(type(compiled))
    with pytest.raises(AttributeError, match="OptimizedModule"):
        empty.weight  # noqa: B018 - the look-up is what is tested
