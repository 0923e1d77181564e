"""The compiled check of recorded calls: what it sees as unchanged, and what it leaves to Python."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.pointwise import JIT_DISABLED

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="without a compiler nothing is recorded")


def learned(function, *arguments):
    """A compiled function whose last call was found unchanged by compiled code, and its check."""
    compiled = torch.compile(function)
    for _ in range(6):
        compiled(*arguments)
    found = compiled._latest[1]._replay.holds
    assert found(*arguments) is not None
    return compiled, found


def test_new_arguments_of_the_same_form_hold():
    compiled, holds = learned(lambda a, b: a * b, torch.ones(3, 4), torch.ones(3, 4))
    a, b = torch.full((3, 4), 2.0), torch.full((3, 4), 3.0)
    assert holds(a, b) is not None
    assert compiled(a, b).tolist() == (a * b).tolist()
    assert holds(a, torch.full((5, 3, 4), 3.0)[2]) is not None  # a view, of memory of its own


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.double(),
        lambda a: a.t(),
        lambda a: a[:2],
        lambda a: a.requires_grad_(),
        lambda a: torch.nn.Parameter(a, requires_grad=False),
        lambda a: a.numpy(),
        lambda a: 1.0,
        lambda a: None,
    ],
)  # fmt: skip
def test_arguments_of_another_form_are_left_to_python(change):
    other = torch.ones(3, 3)
    _, holds = learned(lambda a, b: b * 2, torch.ones(3, 3), other)
    assert holds(change(torch.ones(3, 3)), other) is None


def test_arguments_with_gradients_hooks_or_attributes_are_left_to_python():
    _, holds = learned(lambda a: a * 2, torch.ones(3))
    with_gradient, with_attribute = torch.ones(3), torch.ones(3)
    with_gradient.grad = torch.ones(3)
    with_attribute.name = "weight"
    assert holds(with_gradient) is None
    assert holds(with_attribute) is None
    assert holds() is None
    assert holds(torch.ones(3), torch.ones(3)) is None


def test_arguments_that_share_memory_are_left_to_python():
    weight = torch.zeros(3)

    def step(a, b):
        weight.add_(a)
        return a * b

    compiled, holds = learned(step, torch.ones(3), torch.ones(3))
    a = torch.ones(3)
    assert holds(a, a) is None
    assert holds(a, a.view(3)) is None
    assert holds(a, weight) is None
    assert holds(a, weight.detach()) is None
    assert holds(a, torch.from_numpy(np.frombuffer(bytearray(12), np.float32))) is None
    before = weight.clone()
    assert compiled(a, weight.detach()).tolist() == (before + 1).tolist()


def test_tensors_outside_that_change_are_left_to_python():
    weight = torch.ones(3, requires_grad=True)

    def step(x):
        weight.grad = None
        loss = (weight * x).sum()
        loss.backward()
        return loss

    x = torch.ones(3)
    compiled, holds = learned(step, x)
    assert holds(x) is True  # the gradient may be written again
    kept = weight.grad
    assert holds(x) is False  # but not if somebody has it
    value = compiled(torch.full((3,), 2.0))
    assert value.item() == 6.0 and kept.tolist() == [1.0] * 3 and weight.grad.tolist() == [2.0] * 3
    weight.grad = None
    assert holds(x) is None
    compiled, holds = learned(step, x)
    weight.requires_grad_(False)
    assert holds(x) is None
    weight.requires_grad_()
    assert holds(x) is not None
    weight.data = torch.full((3,), 5.0)
    assert holds(x) is None
    assert compiled(x).item() == 15.0


def test_versions_count_and_results_stay():
    weight = torch.zeros(2)

    def step(x):
        with torch.no_grad():
            weight.add_(x)
        return weight * 1

    x = torch.ones(2)
    compiled, holds = learned(step, x)
    version, results = weight._version, [compiled(x) for _ in range(3)]
    assert weight._version == version + 3
    assert [result.tolist() for result in results] == [[7.0] * 2, [8.0] * 2, [9.0] * 2]
