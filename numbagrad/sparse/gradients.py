"""Sparse gradients: of tables that rows were looked up in, and what is added to dense memory."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..autograd.tensor_interface import bump_version
from ..executor.memory.arrays import values_on_host
from ..ops.indexing.index_arrays import embedded_rows
from ..ops.operators.tensor_operator import TensorOperator
from ..ops.writing.inplace import copy_
from ..tensor import Tensor, new_tensor
from ..tensor.sparse_array import Places, could_not_run
from ..transforms.tangents import multilinear
from . import places as of
from .arithmetic import add
from .conversion import coalesce, is_sparse, to_dense
from .operators import take, values_of, with_values

__all__ = [
    "accumulate_into", "accumulate_square_into", "add_into", "divide_by_root_into",
    "embedding_of_rows", "nesterov_into", "of_rows", "write_into",
]  # fmt: skip


def of_rows(
    grad: Any, shape: tuple[int, ...], indices: Tensor, padding: int, scaled: bool
) -> Tensor:
    """The gradient of a table of that shape: that of each row that was looked up, at its index.

    Raises:
        RuntimeError: if it is ``scaled`` by how often a row was looked up.
    """
    if scaled:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )
    found = values_on_host(indices._array, "embedding() with a sparse gradient").reshape(-1)
    rows = grad.reshape(-1, shape[1])
    if padding >= 0:
        kept = np.flatnonzero(found != padding)
        found, rows = found[kept], take(rows, kept)
    return with_values(rows, Places(found.astype(np.int64)[None], shape[:1]))


#: ``embedding`` whose gradient is sparse.
embedding_of_rows = TensorOperator(
    "embedding",
    lambda weight, indices, padding, scaled: embedded_rows(weight, indices),
    {
        "weight": lambda grad, weight_shape, indices, padding, scaled: of_rows(
            grad, weight_shape, indices, padding, scaled
        ),
        "indices": None,  # type: ignore[dict-item]
    },
    tangent=multilinear,
    takes_half=True,
)


@no_grad()
def write_into(output: Any, made: Any) -> None:
    """Let a Tensor be what was made, of the same layout or dense."""
    if is_sparse(output):
        if not is_sparse(made) or made._array.shape != output._array.shape:
            raise could_not_run(output._array)
        output._array = made._array
        bump_version(output)
    else:
        copy_(output, made if not is_sparse(made) else to_dense(made))


@no_grad()
def add_into(output: Any, input: Any, other: Any, factor: Any = 1) -> Tensor | None:
    """``output = input + factor * other``; returned if the output is sparse and the sum dense."""
    if is_sparse(output):
        if is_sparse(other):
            made: Any = add(input, other, alpha=factor)
            most = prod(made._array.places.sizes)  # more places than there are, if they add up
            write_into(output, coalesce(made) if made._array.places.count > most else made)
            return None
        return add(other if factor == 1 else other * factor, input)
    if output is not input or not is_sparse(other):
        write_into(output, add(input, other, alpha=factor))
        return None
    places, values = other._array.places, values_of(other)
    if values.dtype is not output.dtype:
        values = values.to(output.dtype)
    if factor != 1:
        values = values * factor
    rank = len(places.sizes)
    if output._array.shape != other._array.shape or not output.is_contiguous():
        write_into(output, add(input, other, alpha=factor))
        return None
    lines = output.detach().view(-1, *output._array.shape[rank:])
    lines.index_add_(0, new_tensor(of.flat(places)), values)
    return None


@no_grad()
def accumulate_into(output: Any, buffer: Any, grad: Any, decay: Any, rate: Any) -> None:
    """``decay * buffer + rate * grad``: a momentum, which is sparse as its gradients are."""
    if not is_sparse(buffer):
        raise could_not_run(grad._array, "accumulate")
    write_into(output, coalesce(add(buffer * decay, grad, alpha=rate)))


@no_grad()
def nesterov_into(
    output: Any, parameter: Any, grad: Any, buffer: Any, momentum: Any, rate: Any
) -> None:
    """``parameter + rate * (grad + momentum * buffer)``."""
    add_into(output, parameter, add(grad, buffer, alpha=momentum), rate)


@no_grad()
def accumulate_square_into(output: Any, total: Any, grad: Any, decay: Any, rate: Any) -> None:
    """``total + grad ** 2`` where there is a gradient.

    Raises:
        SparseRead: where the total decays, which torch refuses as well.
    """
    if decay != 1 or not is_sparse(grad):
        raise could_not_run(grad._array, "addcmul")
    grad = coalesce(grad)
    add_into(output, total, with_values(values_of(grad).square(), grad._array.places), rate)


@no_grad()
def divide_by_root_into(
    output: Any, parameter: Any, grad: Any, square: Any, eps: Any, decay: Any, rate: Any
) -> None:
    """``parameter + rate * grad / (sqrt(square) + eps)`` where there is a gradient."""
    if decay != 1 or not is_sparse(grad) or is_sparse(square):
        raise could_not_run(grad._array, "addcdiv")
    grad = coalesce(grad)
    places = grad._array.places
    rank = len(places.sizes)
    squares = take(square.reshape(-1, *square._array.shape[rank:]), of.flat(places))
    step = values_of(grad) / (squares.sqrt() + eps)
    add_into(output, parameter, with_values(step, places), rate)
