"""Sums of products over chosen dimensions: tensordot, inner, einsum, kron, chains of products.

Built of permutations, products of matrices and sums, so that their gradients are those of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor
from .matmul import mm
from .output import write_result
from .registry import method
from .shapes import dimension
from .view import unsafe_view

__all__ = ["chain_matmul", "inner", "kron", "tensordot"]


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Sum of products over the given dimensions of both, or over the last/first ``dims``.

    Raises:
        RuntimeError: if the contracted sizes differ.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        first = list(range(a._array.ndim - dims, a._array.ndim))
        second = list(range(dims))
    else:
        first, second = ([d] if isinstance(d, int) else d for d in dims)
        first = [dimension(a._array.ndim, d) for d in first]
        second = [dimension(b._array.ndim, d) for d in second]
    sizes_a = [a._array.shape[d] for d in first]
    sizes_b = [b._array.shape[d] for d in second]
    if sizes_a != sizes_b:
        raise RuntimeError(
            f"tensordot: contracted dimensions need to match, but got {sizes_a} and {sizes_b}"
        )
    kept_a = [d for d in range(a._array.ndim) if d not in first]
    kept_b = [d for d in range(b._array.ndim) if d not in second]
    rows = [a._array.shape[d] for d in kept_a]
    columns = [b._array.shape[d] for d in kept_b]
    depth = math.prod(sizes_a)
    left = a.permute(*kept_a, *first).reshape(math.prod(rows), depth)
    right = b.permute(*second, *kept_b).reshape(depth, math.prod(columns))
    made = mm(left, right).reshape(*rows, *columns)
    return write_result("tensordot", made, out)


@method()
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sums of products along the last dimension of both operands."""
    if input._array.ndim == 0 or other._array.ndim == 0:
        return write_result("inner", input * other, out)
    if input._array.shape[-1] != other._array.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input._array.shape)} and {list(other._array.shape)}"
        )
    return write_result("inner", tensordot(input, other, dims=([-1], [-1])), out)


@method()
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every element of ``input`` times the whole of ``other``, as blocks of one tensor."""
    rank = max(input._array.ndim, other._array.ndim)
    own, given = ((1,) * (rank - x._array.ndim) + x._array.shape for x in (input, other))
    left = input.reshape([size for pair in zip(own, (1,) * rank, strict=True) for size in pair])
    right = other.reshape([size for pair in zip((1,) * rank, given, strict=True) for size in pair])
    shape = [m * n for m, n in zip(own, given, strict=True)]
    return write_result("kron", unsafe_view(left * right, tuple(shape)), out, casts=True)


# --- chains ---------------------------------------------------------------------------------------


def _splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to cut the chain i..j of matrices (sizes[i], sizes[i + 1]) for the fewest products."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    cuts = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], cuts[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return cuts


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Product of two or more matrices in the order that costs least.

    The first and the last may be vectors: a row and a column, whose dimension the result lacks.

    Raises:
        RuntimeError: for fewer than two factors, or sizes that do not follow on each other.
    """
    if len(tensors) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " f"{len(tensors)}")
    first, *middle, last = tensors
    matrices = [
        first.unsqueeze(0) if first._array.ndim == 1 else first,
        *middle,
        last.unsqueeze(1) if last._array.ndim == 1 else last,
    ]
    for place, matrix in enumerate(matrices):
        if matrix._array.ndim != 2:
            raise RuntimeError(
                f"multi_dot(): tensor {place} must be 2D but got {tensors[place]._array.ndim}D"
            )
    cuts = _splits([matrices[0]._array.shape[0], *[x._array.shape[1] for x in matrices]])

    def product(i: int, j: int) -> Tensor:
        return matrices[i] if i == j else mm(product(i, cuts[i, j]), product(cuts[i, j] + 1, j))

    made = product(0, len(matrices) - 1)
    shape = first._array.shape[:-1] + last._array.shape[1:]
    return write_result("multi_dot", made.view(shape), out)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of one or more matrices in the order that costs least."""
    if len(matrices) == 1:
        return matrices[0]
    return multi_dot(matrices, out=out)
