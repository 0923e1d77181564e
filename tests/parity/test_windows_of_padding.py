"""Maxima of windows that lie in the padding, and tables of rows in half precision or with tangents.

PyTorch's own tests of layers found each of these: windows that dilation leaves without an element,
means of bags in bfloat16, and tangents of tables whose rows are shortened.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from parity_tools import both

import numbagrad


def pooled(t, rank, dtype, options, indices):
    """The maxima (with indices), the gradient of their finite ones; or the class of the error."""
    *options, size = options
    x = t.arange(1, 1 + 2 * size**rank).to(getattr(t, dtype)).view(1, 2, *(size,) * rank)
    x.requires_grad_(dtype == "float32")
    try:
        made = getattr(t.nn.functional, f"max_pool{rank}d")(x, *options, return_indices=indices)
    except RuntimeError:
        return "error"
    if indices:
        return [each.tolist() for each in made]
    if dtype != "float32":
        return made.tolist()
    made.masked_fill(made.isinf(), 0).sum().backward()
    return made.tolist(), x.grad.tolist()


@pytest.mark.parametrize("indices", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
@pytest.mark.parametrize("rank", [1, 2])
def test_windows_without_an_element(rank, dtype, indices):
    found = 0
    for kernel, stride, dilation, padding, ceil, size in itertools.product(
        (2, 3), (1, 2), (1, 2, 3), (0, 1), (False, True), (1, 2, 4)
    ):
        options = kernel, stride, padding, dilation, ceil, size
        ours, theirs = both(lambda t, x=options: pooled(t, rank, dtype, x, indices))
        assert ours == theirs, options
        found += "inf" in repr(ours)
    assert found or dtype == "uint8"


def test_windows_without_an_element_of_samples_and_of_volumes():
    def one(t):
        x = t.arange(12.0).view(3, 1, 1, 2, 2)
        function = t.nn.functional.max_pool3d
        whole = function(x, 2, padding=1, dilation=2)
        samples = t.vmap(lambda y: t.nn.functional.max_pool2d(y, 2, padding=1, dilation=2))(
            t.arange(6.0).view(3, 1, 1, 2)
        )
        return whole.tolist(), samples.tolist()

    ours, theirs = both(one)
    assert ours == theirs


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_bags_of_every_dtype(dtype, mode, sparse):
    if sparse and mode == "max":
        return

    def run(t):
        weight = t.arange(1, 11).view(5, 2).to(getattr(t, dtype)).requires_grad_()
        indices, offsets = t.tensor([3, 1, 1, 1, 4, 0]), t.tensor([0, 0, 3, 3, 6])
        made = t.nn.functional.embedding_bag(indices, weight, offsets, mode=mode, sparse=sparse)
        made.backward(t.ones_like(made) * 0.5)
        grad = weight.grad.to_dense() if sparse else weight.grad
        return made.dtype == weight.dtype, made.tolist(), grad.tolist()

    ours, theirs = both(run)
    assert ours[0] and theirs[0]
    for x, y in zip(ours[1:], theirs[1:], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-2 if "16" in dtype else 1e-6)


def test_tangents_of_rows_that_are_shortened():
    def run(library):
        table = library.arange(1.0, 9.0).view(4, 2)
        forward = library.autograd.forward_ad
        with forward.dual_level():
            dual = forward.make_dual(table, library.ones(4, 2))
            made = library.nn.functional.embedding(
                library.tensor([[0, 2], [2, 1]]), dual, max_norm=1.0
            )
            primal, tangent = forward.unpack_dual(made)
        return primal.tolist(), tangent.tolist(), table.tolist()

    ours, theirs = run(numbagrad), run(torch)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)
