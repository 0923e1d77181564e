"""Different values and counts of values on the device: to the bit what the CPU finds."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.cuda import library
from numbagrad.cuda.driver import driver
from numbagrad.cuda.forwards import _FUNCTIONS

VALUES = {
    "integers": [[1, 2], [1, 2], [0, 5]],
    "floats": [2.0, float("nan"), -0.0, 2.0, float("nan"), 0.0],
    "bools": [True, False, True],
    "nothing": [],
}


def equal(found, expected):
    """Both in the same place of a tuple, of one dtype, and on their devices."""
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for own, other in pairs:
        assert own.device.type == "cuda" and own.dtype is other.dtype
        np.testing.assert_array_equal(own.double().cpu().numpy(), other.double().numpy())
    assert library.refused == set()


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("function", [torch.unique, torch.unique_consecutive])
def test_different_values(function, values):
    x = torch.tensor(VALUES[values])
    for dim in (None, *range(x.ndim)):
        given = {"return_inverse": True, "return_counts": True, "dim": dim}
        equal(function(x.cuda(), **given), function(x, **given))


def test_different_values_wait_for_their_number_alone():
    """CuPy does so inside of ``nonzero``; nothing is read here."""
    x = torch.tensor([2, 1, 2, 2], device="cuda")
    for function in (torch.unique, torch.unique_consecutive):
        before = driver().waits
        function(x, return_inverse=True, return_counts=True)
        assert driver().waits == before


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_occurrences(dtype):
    x = torch.tensor([0, 3, 3, 1])
    weights = torch.tensor([0.5, 1, 2, 4]).to(dtype)
    for given in ((), (None, 6), (weights,), (weights, 6)):
        there = [y.cuda() if isinstance(y, torch.Tensor) else y for y in given]
        equal(torch.bincount(x.cuda(), *there), torch.bincount(x, *given))
    with pytest.raises(RuntimeError, match="1-d non-negative integral"):
        torch.bincount(torch.tensor([1, -1], device="cuda"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_elements_in_intervals(dtype):
    """On edges as well; NaN and what is outside count nowhere."""
    x = torch.tensor([-2.0, -1.5, -1.0, 0.0, 0.3, 2.0, 7.0, float("nan")]).to(dtype)
    there = x.cuda()
    before = driver().waits
    found = there.histc(4, -2, 2)
    assert driver().waits == before
    equal(found, x.histc(4, -2, 2))
    for given in ((3,), (2, 0.3, 0.3)):
        equal(there[:-1].histc(*given), x[:-1].histc(*given))
    for low, high, text in ((0, 0, "not finite"), (2, 1, "max must be larger than min")):
        with pytest.raises(RuntimeError, match=text):
            there.histc(4, low, high)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_by_where_they_begin(mode):
    indices, offsets = torch.tensor([1, 2, 2, 4]), torch.tensor([0, 2])
    table = torch.randn(5, 3)
    results = []
    for device in ("cpu", "cuda"):
        weight = table.to(device, copy=True).requires_grad_()
        given = indices.to(device), weight, offsets.to(device)
        before = driver().waits
        made = torch.nn.functional.embedding_bag(*given, mode=mode)
        made.sum().backward()
        assert driver().waits == before + (mode == "max" and device == "cuda")
        results.append((made.detach(), weight.grad))
    equal(results[1], results[0])


def test_bags_of_any_size_wait_for_nothing():
    """Empty ones, padding, weights of samples, and the end of the last; and wrong ones say so."""
    bag, results = torch.nn.functional.embedding_bag, []
    for device in ("cpu", "cuda"):
        weight = torch.arange(15.0, device=device).reshape(5, 3).requires_grad_()
        indices = torch.tensor([1, 2, 2, 4, 0], device=device)
        starts = torch.tensor([0, 0, 3, 3, 5], device=device)
        factors = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], device=device).requires_grad_()
        before = driver().waits
        made = [
            bag(indices, weight, starts, mode="mean", include_last_offset=True),
            bag(indices, weight, starts, mode="sum", padding_idx=2),
            bag(indices, weight, starts, mode="mean", padding_idx=2),
            bag(indices, weight, starts, mode="sum", per_sample_weights=factors),
        ]
        grads = torch.autograd.grad(sum([x.square().sum() for x in made]), (weight, factors))
        assert driver().waits == before
        results.append(tuple([x.detach() for x in (*made, *grads)]))
    equal(results[1], results[0])
    for wrong in ([0, 3, 2], [1, 2], [0, 6]):
        with pytest.raises(RuntimeError, match="embedding_bag.*an offset"):
            bag(indices, weight, torch.tensor(wrong, device="cuda")).tolist()


def test_a_fill_with_a_tensor_of_the_device_is_a_copy_there():
    found = []
    for device in ("cpu", "cuda"):
        x, value = torch.zeros(2, 3, device=device), torch.tensor(2.5, device=device)
        value, whole = value.requires_grad_(), torch.zeros(2, dtype=torch.int64, device=device)
        before = driver().waits
        made = torch.fill(x, value)
        whole.fill_(value.detach())
        x[:, 1].fill_(value.detach())
        (grad,) = torch.autograd.grad(made.sum(), value)
        assert driver().waits == before
        assert type(made.grad_fn).__name__.startswith("Fill")
        found.append((made.detach(), whole, x, grad))
    equal(found[1], found[0])


def test_fake_integers_are_launches():
    """As those of the CPU, forward and backward, without a wait or a copy to the host."""
    x = torch.randn(3, 4)
    points = torch.tensor([0, 1, 2], dtype=torch.int32)
    scales = torch.tensor([0.1, 0.2, 0.3])
    found = []
    for device in ("cpu", "cuda"):
        own = x.to(device).requires_grad_()
        before = driver().waits
        made = torch.fake_quantize_per_tensor_affine(own, 0.1, 2, 0, 9)
        assert driver().waits == before
        made = made + torch.fake_quantize_per_channel_affine(
            own, scales.to(device), points.to(device), 0, 0, 9
        )
        (grad,) = torch.autograd.grad(made.sum(), own)
        found.append((made.tolist(), grad.tolist()))
    assert found[0] == found[1]


def test_functions_that_have_replacements_are_there():
    """A name that nothing has any more would send arrays to the host without a word."""
    for path in _FUNCTIONS:
        module, _, name = path.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name)), path
