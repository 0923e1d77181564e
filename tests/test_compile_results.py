"""compile(): what a call leaves behind beside numbers: views, flags, histories, counts of writes.

Each script runs compiled beside itself, call by call, on data that changes; compared is all that
there is to see of its results, its arguments and its state.
"""

from __future__ import annotations

import ctypes
import warnings

import numpy as np
import pytest
from compile_checks import lockstep, programs

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.executor.mode import NATIVE
from numbagrad.overrides import TorchFunctionMode, install


def vector(k):
    """One argument: three numbers."""
    return (torch.randn(3),)


def leaf(k):
    """One argument that requires gradients."""
    return (torch.randn(3).requires_grad_(),)


# --- results with a graph that the caller walks ---------------------------------------------------


def walks(function, inputs, choose=lambda results, k: results):
    """A script whose caller walks the graph of the results, or of some of them."""

    def make():
        def after(results, k, *arguments):
            chosen = choose(results, k)
            chosen = chosen if isinstance(chosen, tuple) else (chosen,)
            sum([x.sum() * (j + 1) for j, x in enumerate(chosen)]).backward()

        return function, None, after

    return make, inputs


def written_after(k, tensor):
    """Write a result in every second call."""
    if k % 2:
        with torch.no_grad():
            tensor.mul_(2)


def kept_and_written(function):
    """A script whose caller writes its first result and walks the graph of the second."""

    def choose(results, k):
        written_after(k, results[0])
        return results[1]

    return walks(function, leaf, choose)


def heads(k, results):
    """Other results in every call."""
    return [results[:1], results[1:], results, results[2:], results[::2]][k % 5]


def _doubled(y):
    return y, y * 2


def _detached(y):
    return y.detach(), y * 2


def _part(y):
    return y[1:].detach(), y * y


def _total(y):
    return y, y.sum()


def _two_views(x):
    y = x * 2
    return y[1:], y.sum()


def _written_views(x):
    y = x * 2
    y[1:] += 1
    y[0].mul_(5)
    return y


WALKED = {
    "one of several": walks(
        lambda x: (x * 2, x.exp(), x.sin().cos()), leaf, lambda r, k: heads(k, r)
    ),
    "infinite derivatives of what is not walked": walks(
        lambda x: (x.abs().sqrt() * 0 + x, (x * 0).sqrt(), (x * 0).log() * x), leaf,
        lambda r, k: heads(k, r),
    ),
    "kept by the backward, and written": kept_and_written(lambda x: _doubled(x.exp())),
    "kept, detached, and written": kept_and_written(lambda x: _detached(x.exp())),
    "kept, and a part written": kept_and_written(lambda x: _part(x.exp())),
    "not kept, and written": kept_and_written(lambda x: _total(x * 2)),
    "views": walks(_two_views, leaf),
    "views that were written": walks(_written_views, leaf, lambda r, k: r * r),
    "a result of many": walks(lambda x: tuple([x * j for j in range(12)]), leaf,
                              lambda r, k: r[k : k + 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", WALKED)
def test_results_whose_graph_is_walked(name):
    make, inputs = WALKED[name]
    lockstep(make, inputs, 10, versions=False)


def test_a_graph_that_keeps_nothing_is_walked_again():
    def make():
        def after(results, k, x):
            results[k % 2].sum().backward()
            results[k % 2].sum().backward()

        return (lambda x: (-x, x + 1)), None, after

    lockstep(make, leaf, versions=False)


class Doubled(torch.autograd.Function):
    """Its gradient is no linear function of that of its result."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-1, 1) * 2


def test_one_of_several_results_behind_a_function_of_a_user():
    def make():
        weight = torch.ones(3, requires_grad=True)

        def step(x):
            y = Doubled.apply(weight * x)
            return y, y * 3, x * weight

        def after(results, k, x):
            weight.grad = None
            sum([each.sum() for each in heads(k, results)]).backward()

        return step, lambda: weight.grad, after

    lockstep(make, vector, 10, versions=False)


def test_a_head_that_is_not_used_is_not_decayed():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk, self.left, self.right = nn.Linear(3, 3), nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x):
            hidden = self.trunk(x).tanh()
            return self.left(hidden), self.right(hidden)

    def run(compiled):
        torch.manual_seed(0)
        model = Model()
        optimizer = optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.1)
        called = torch.compile(model) if compiled else model
        for k in range(9):
            torch.manual_seed(k)
            found = called(torch.randn(4, 3))
            optimizer.zero_grad()
            chosen = [found[:1], found[1:], found][k % 3]
            sum([x.sum() for x in chosen]).backward()
            yield [None if p.grad is None else p.grad.tolist() for p in model.parameters()]
            optimizer.step()
        yield [p.tolist() for p in model.parameters()]

    for found, expected in zip(run(True), run(False), strict=True):
        assert [x is None for x in found] == [x is None for x in expected]
        for a, b in zip(found, expected, strict=True):
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


# --- inference mode, counts of writes, modes ------------------------------------------------------


def sometimes_inference(k):
    """A vector that is an inference tensor in every second call."""
    with torch.inference_mode(k % 2 == 1):
        return (torch.arange(4.0) + k,)


def _in_inference_mode(x):
    with torch.inference_mode():
        y = x * 2
        return y, y[1:], x[1:]


def _outside_of_inference_mode(x):
    with torch.inference_mode(False):
        return x * 2, (x * 2)[1:]


def _written_argument(x):
    x.add_(1)
    return x * 2


def _several(x):
    return x * 2, x[:1], x.view(-1), x.detach()


@pytest.mark.parametrize("function", [_several, _in_inference_mode, _written_argument])
def test_inference_tensors_among_the_arguments(function):
    lockstep(lambda: function, sometimes_inference, 10)


def _parts(x):
    y = x * 2
    return x[1:].detach(), x[1:], y[:-1].detach(), y.view(-1)[1:].view(-1).detach(), y[1:]


def test_detached_parts_know_their_memory():
    """Where they begin in it, and how large it is: ``as_strided`` goes by that."""
    lockstep(lambda: _parts, vector)
    lockstep(lambda: lambda x: _parts(x[1:]), vector)
    step = torch.compile(lambda x: x[1:].detach())
    for _ in range(4):
        part = step(torch.arange(4.0))
        assert part.as_strided((2,), (1,), 0).tolist() == [0, 1]


@pytest.mark.parametrize("function", [_several, _in_inference_mode, _outside_of_inference_mode])
def test_calls_in_inference_mode(function):
    lockstep(lambda: function, sometimes_inference, 10, torch.inference_mode)
    lockstep(lambda: function, vector)


def test_the_count_of_writes_is_not_frozen():
    def make():
        weight = torch.ones(3, requires_grad=True)

        def step(x):
            version = weight._version
            with torch.no_grad():
                weight.add_(x)
            return weight.detach() * version

        return step, lambda: weight

    lockstep(make, vector)


class Seen(TorchFunctionMode):
    """Notes the names of the functions that are called."""

    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_around_calls_sees_what_they_call():
    install()
    step, x = torch.compile(lambda x: (x * 2).sin() + 1), torch.ones(2)
    for _ in range(4):
        step(x)
    count = programs(step)
    seen = Seen()
    with seen:
        for _ in range(3):
            step(x)
    assert seen.names == ["mul", "sin", "add"] * 3
    step(x)
    assert len(seen.names) == 9 and programs(step) == count


def test_a_mode_inside_a_function_sees_what_it_calls():
    install()
    seen = Seen()

    @torch.compile
    def step(x):
        y = x * 2
        with seen:
            y = y.sin() + 1
        return y * 3

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            step(torch.ones(2))
    assert seen.names == ["sin", "add"] * 5


# --- writes past the trace ---------------------------------------------------------------------


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("amount", [1e-5, 1e-2])
def test_a_small_write_through_an_address_is_noticed(trained, amount):
    def make():
        weight = torch.ones(3, requires_grad=trained)
        optimizer = optim.SGD([weight], lr=1e-2) if trained else None
        kind, address = ctypes.c_float * 3, weight.data_ptr()

        def step(x):
            loss = (weight * x).sum()
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            memory = np.frombuffer(kind.from_address(address), np.float32)
            np.subtract(memory, np.float32(amount), out=memory)
            return loss.detach()

        return step, lambda: weight.detach().clone()

    assert programs(lockstep(make, vector)) == 0


DIVISIONS = {
    "floor_divide": lambda x, y: x // y,
    "in place, and written over": lambda x, y: x.clone().floor_divide_(y).fill_(3),
    "remainder": lambda x, y: x % y + 1,
    "fmod": lambda x, y: torch.fmod(x, y),
    "truncated": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "computed divisor": lambda x, y: x // (y * 2),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_integers_divided_by_zero_raise_at_every_run(name):
    """Also where nobody reads the quotients, as in eager execution."""
    compiled = torch.compile(DIVISIONS[name])
    x = torch.tensor([3, 4])
    for divisor in (1, 2, 1, 2):
        y = torch.tensor([1, divisor])
        assert torch.equal(compiled(x, y), DIVISIONS[name](x, y))
    assert programs(compiled) or not NATIVE
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, torch.tensor([1, 0]))
    assert compiled(x, torch.tensor([1, 2])).dtype is torch.int64


def _normed_by_batch(x):
    y = nn.functional.batch_norm(x * 2, None, None, training=True)
    return y._is_view(), y.detach_()


def _normed_by_group(x):
    y = nn.functional.group_norm(x * 2, 3)
    return y._is_view(), y.detach_()


@pytest.mark.parametrize("size", [(), (4,)])
@pytest.mark.parametrize("function", [_normed_by_batch, _normed_by_group])
def test_results_of_several_operators_are_no_views(function, size):
    """As eagerly, where one node stands for all of them."""
    lockstep(lambda: function, lambda k: (torch.randn(2, 3, *size, requires_grad=True),), 4)
