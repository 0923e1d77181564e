"""Every operator of the table on complex tensors: torch's value and gradient, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from operator_entry import Entry, as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES

import numbagrad

TABLE = [e for e in (*POINTWISE_ENTRIES, *ENTRIES) if any(not x.fixed for x in e.inputs)]


def drawn(entry: Entry) -> list[np.ndarray]:
    """Real inputs of the table with an imaginary part, where their dtype is not fixed."""
    generator = np.random.default_rng(0)
    made = []
    for source in entry.inputs:
        values = source.draw(generator, "float64")
        if not source.fixed:
            values = values + 0.5j * source.draw(generator, "float64")
        made.append(np.ascontiguousarray(values))
    return made


def results(t: Any, entry: Entry, arrays: list[np.ndarray]) -> list[Any]:
    """The outputs and the gradients of the inputs, as ndarrays."""
    tensors = [t.from_numpy(x.copy()) for x in arrays]
    wanted = []
    for tensor, source in zip(tensors, entry.inputs, strict=True):
        if not source.fixed:
            wanted.append(tensor.requires_grad_())
    outputs = [x for x in as_tuple(entry.call(t, *tensors)) if hasattr(x, "requires_grad")]
    found = [x.detach().resolve_conj().resolve_neg().numpy() for x in outputs]
    followed = [x for x in outputs if x.requires_grad]
    if not followed:
        return found
    generator = np.random.default_rng(1)
    seeds = []
    for output in followed:
        values = generator.normal(size=(2, *output.shape))
        seed = values[0] + 1j * values[1] if output.is_complex() else values[0]
        seeds.append(t.from_numpy(np.asarray(seed)).to(output.dtype))
    gradients = t.autograd.grad(followed, wanted, seeds, allow_unused=True)
    zeros = [np.zeros(tuple(x.shape), complex) for x in wanted]
    return found + [
        zero if x is None else x.resolve_conj().resolve_neg().numpy()
        for x, zero in zip(gradients, zeros, strict=True)
    ]


#: What torch gets wrong: whole negative exponents, and the gradient of what is overwritten.
WRONG_IN_TORCH = (
    "ldexp", "as_strided_scatter",
    # Of a diagonal that is not real LAPACK reads the real parts.
    "cholesky_inverse-True", "cholesky_inverse-False",
)  # fmt: skip
#: Texts of errors that torch raises where it has no gradient; the second is a slip in its vander.
NO_GRADIENT = ("automatic differentiation", "modified by an inplace operation")


def check_gradients(entry: Entry, arrays: list[np.ndarray]) -> None:
    """Compare the gradients of an entry with differences."""
    leaves = [
        numbagrad.tensor(x).requires_grad_(not source.fixed)
        for x, source in zip(arrays, entry.inputs, strict=True)
    ]
    assert numbagrad.autograd.gradcheck(
        lambda *x: entry.call(numbagrad, *x), leaves, fast_mode=True
    )


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.name)
@pytest.mark.filterwarnings("ignore")
def test_complex_tensors_give_what_torch_gives_or_raise(entry: Entry) -> None:
    arrays = drawn(entry)
    try:
        made = results(numbagrad, entry, arrays)
    except (RuntimeError, TypeError, ValueError):
        return
    try:
        expected = results(torch, entry, arrays)
    except RuntimeError as error:
        # torch refuses gradients of some that it computes; gradcheck sees to those.
        assert any([text in str(error) for text in NO_GRADIENT])
        return check_gradients(entry, arrays)
    if entry.name in WRONG_IN_TORCH:
        return check_gradients(entry, arrays)
    for mine, other in zip(made, expected, strict=True):
        assert mine.dtype.kind == other.dtype.kind
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10)
