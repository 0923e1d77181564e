"""compile(): every operator of the table, forward and backward, on data that changes.

The calls that are recorded and the runs of the program see different numbers, so that a value that
was frozen, or a branch on one, shows. Operators that cannot be part of a program say so; the table
below says which, and why.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from operator_table import ENTRIES, POINTWISE_ENTRIES, Entry, as_tuple

import numbagrad
from numbagrad.executor.pointwise import JIT_DISABLED

#: Operators that end a recording by their nature, and what about them does.
REFUSED = {
    "masked_select": "as many elements as the mask holds",
    "getitem-mask": "as many elements as the mask holds",
    "nonzero": "as many rows as there are such elements",
    "argwhere": "as many rows as there are such elements",
    "bincount": "as many counts as the largest element",
    "histc": "the range follows from the elements",
    "isin": "NumPy's sets",
    "quantile": "ranks that depend on whether there is a NaN",
    "det": "a gradient that depends on whether a determinant is 0",
}


def step_of(entry: Entry, differentiate: bool):
    """A function of the inputs that returns the results of the operator, and all gradients."""

    def step(*inputs):
        results = [x for x in as_tuple(entry.call(numbagrad, *inputs))]
        found = [x.detach() if isinstance(x, numbagrad.Tensor) else x for x in results]
        roots = [x for x in results if isinstance(x, numbagrad.Tensor) and x.requires_grad]
        if differentiate and roots:
            loss = sum([(x * x).sum() for x in roots])
            wanted = [x for x in inputs if x.requires_grad]
            found += numbagrad.autograd.grad(loss, wanted, allow_unused=True)
        return found

    return step


def inputs_of(entry: Entry, dtype: str, seed: int, differentiate: bool) -> list:
    """The inputs of one call."""
    made = [numbagrad.from_numpy(array) for array in entry.draw(dtype, seed)]
    for tensor, drawn in zip(made, entry.inputs, strict=True):
        if differentiate and not drawn.fixed and tensor.is_floating_point():
            tensor.requires_grad_()
    return made


def check_equal(found: list, expected: list, what: str) -> None:
    """Check that two lists of results are equal but for rounding, and lie alike."""
    assert len(found) == len(expected), what
    for a, b in zip(found, expected, strict=True):
        if not isinstance(b, numbagrad.Tensor):
            assert a == b, what
            continue
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride()), what
        x, y = a.numpy(), b.numpy()
        scale = np.abs(y[np.isfinite(y)]).max(initial=1) if y.dtype.kind == "f" else 1
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5 * scale, err_msg=what)


def follow(entry: Entry, dtype: str) -> bool:
    """Run an operator compiled beside itself; whether it has a program."""
    differentiate = entry.differentiable and dtype == "float32"
    step = step_of(entry, differentiate)
    compiled = numbagrad.compile(step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(3 if entry in POINTWISE_ENTRIES else 4):
            expected = step(*inputs_of(entry, dtype, seed, differentiate))
            found = compiled(*inputs_of(entry, dtype, seed, differentiate))
            check_equal(found, expected, f"{entry.name}, {dtype}, call {seed}")
    said = [str(each.message) for each in caught if "runs uncompiled" in str(each.message)]
    assert len(said) <= 1
    return bool(compiled._programs) and not said


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("entry", [x for x in ENTRIES if x not in POINTWISE_ENTRIES],
                         ids=lambda entry: entry.name)  # fmt: skip
def test_operator(entry, dtype):
    if not entry.admits(dtype):
        dtype = next(name for name in ("float64", "float32", "int64", "bool") if entry.admits(name))
    has_program = follow(entry, dtype)
    refused = entry.name in REFUSED or entry.name.split("-")[0] in REFUSED
    assert not (refused and has_program and dtype == "float32")


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES, ids=lambda entry: entry.name)
def test_pointwise_operator(entry):
    for dtype in ("float32", "int64"):
        if entry.admits(dtype):
            assert follow(entry, dtype) or JIT_DISABLED
