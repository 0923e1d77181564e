"""Gradients of the first three orders of the operator table's rows, beside torch.

Also whether they require grad. The test takes every fourth row and those that are known to differ;
``python tests/parity/test_third_gradients.py`` takes all, with two seeds, and prints what differs.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
import torch
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad

ROWS = [x for x in POINTWISE_ENTRIES + ENTRIES if x.differentiable and x.admits("float64")]

#: torch has no second derivative, or no gradient of one of the inputs, or spoils what it needs.
REFUSED_BY_TORCH = (
    "binary_cross_entropy_with_logits_weighted", "cdist-", "hardsigmoid", "linalg_cond-1",
    "linalg_cond--1", "linalg_cond-fro", "linalg_cond-inf", "linalg_cond--inf", "pdist", "prelu",
    "segment_reduce", "vander",
)  # fmt: skip
#: Where the numbers are others, ours are judged by differences of the gradients one order below.
OTHER_NUMBERS = {
    "as_strided_scatter": "torch has the gradient of what was overwritten, not of what stays",
    "ldexp": "torch's gradient is 0 for negative powers",
    "logcumsumexp": "torch has NaN",
}


def gradients(t, row, arrays, orders=3):
    """The gradients by order, and the error that ends them: each is that of a sum of logarithms."""
    leaves = [t.from_numpy(x.copy()) for x in arrays]
    floats = [x.requires_grad_() for x in leaves if x.is_floating_point()]
    generator = np.random.default_rng(5)
    total = t.zeros((), dtype=t.float64)
    made = []
    try:
        for result in as_tuple(row.call(t, *leaves)):
            if result.requires_grad:
                real = t.view_as_real(result) if result.is_complex() else result
                weights = np.asarray(generator.uniform(0.5, 1.5, tuple(real.shape)))
                total = total + (real * t.from_numpy(weights)).sum()
        while total.requires_grad and len(made) < orders:
            found = t.autograd.grad(total, floats, create_graph=True, allow_unused=True)
            made.append(found)
            known = [x for x in found if x is not None and x.requires_grad]
            total = sum([(1 + x * x).log().sum() for x in known], t.zeros((), dtype=t.float64))
    except RuntimeError as error:
        return made, error
    return made, None


def difference(ours, theirs):
    """The first of what differs in the gradients of one order, in words."""
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if (a is None) != (b is None) or (a is not None and a.requires_grad != b.requires_grad):
            return f"gradient {k} is {a}, in torch {b}"
        if a is not None:
            own, other = (x.detach().numpy(force=True) for x in (a, b))
            if not np.allclose(own, other, rtol=1e-7, atol=1e-9, equal_nan=True):
                return f"gradient {k} is {own.ravel()}, in torch {other.ravel()}"
    return ""


def differences(row, seed):
    """What differs by order; or torch's error, if it has one."""
    arrays = row.draw("float64", seed)
    ours, error = gradients(numbagrad, row, arrays)
    theirs, refusal = gradients(torch, row, arrays)
    assert error is None or refusal is not None, error
    said = [
        f"{k + 1}: {difference(a, b)}" for k, (a, b) in enumerate(zip(ours, theirs, strict=False))
    ]
    if refusal is None and len(ours) != len(theirs):
        said.append(f"{len(ours)} orders, in torch {len(theirs)}")
    return [x for x in said if len(x) > 3], refusal


def numeric(row, arrays, order):
    """The gradients of one order, by differences of what they are the gradients of."""

    def total():
        made, _ = gradients(numbagrad, row, arrays, order - 1)
        if order == 1:
            weights = np.random.default_rng(5)
            with numbagrad.no_grad():
                results = as_tuple(row.call(numbagrad, *map(numbagrad.from_numpy, arrays)))
            return sum(
                (x.numpy() * weights.uniform(0.5, 1.5, tuple(x.shape))).sum() for x in results
            )
        return sum(
            np.log1p(x.detach().numpy() ** 2).sum() for x in made[order - 2] if x is not None
        )

    found = []
    for array in arrays:
        if array.dtype.kind == "f":
            slope = np.zeros_like(array)
            for k in np.ndindex(array.shape):
                ends = []
                for step in (1e-6, -1e-6):
                    before = array[k]
                    array[k] += step
                    ends.append(total())
                    array[k] = before
                slope[k] = (ends[0] - ends[1]) / 2e-6
            found.append(slope)
    return found


@pytest.mark.parametrize("row", ROWS[::4], ids=lambda row: row.name)
def test_three_orders(row):
    found, refusal = differences(row, 3)
    if row.name.startswith(REFUSED_BY_TORCH):
        assert refusal is not None
    elif row.name not in OTHER_NUMBERS:
        assert not found
        assert refusal is None


@pytest.mark.parametrize("name", OTHER_NUMBERS)
def test_other_numbers_than_torch_has(name):
    (row,) = [x for x in ROWS if x.name == name]
    found, _ = differences(row, 3)
    assert found
    order = int(found[0][0])
    arrays = row.draw("float64", 3)
    ours, _ = gradients(numbagrad, row, arrays, order)
    for own, slope in zip(ours[-1], numeric(row, arrays, order), strict=True):
        scale = np.abs(slope).max()
        np.testing.assert_allclose(own.detach().numpy(), slope, rtol=1e-4, atol=1e-5 * scale)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    several = {
        (row.name, seed): differences(row, seed)
        for row in ROWS
        if not sys.argv[1:] or row.name in sys.argv[1:]
        for seed in (3, 4)
    }
    for (name, seed), (found, refusal) in several.items():
        if found or refusal:
            print(name, seed, *found, f"torch: {refusal}" if refusal else "")
    print(len(several), "cases,", sum(bool(x or y) for x, y in several.values()), "differ")
