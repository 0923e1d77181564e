"""Products of sparse matrices: with dense matrices and vectors, and with sparse ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.products.matmul import mm as dense_mm
from ..tensor import Tensor
from ..tensor.sparse_array import Places, could_not_run
from . import places as of
from .conversion import coalesce, is_sparse, to_sparse_csr
from .operators import product, take, values_of, with_values

__all__ = [
    "addmm", "addmv", "bmm", "hspmm", "linear", "matmul", "mm", "mv", "reversed_matmul", "smm",
    "spmm", "sspaddmm",
]  # fmt: skip


def _check(input: Any, mat2: Any) -> None:
    one, two = input._array, mat2._array
    if one.ndim != 2 or two.ndim != 2:
        raise RuntimeError(f"mm: expected two matrices, got {one.ndim}-D and {two.ndim}-D tensors")
    if one.shape[1] != two.shape[0]:
        sizes = " and ".join(["x".join(map(str, x.shape)) for x in (one, two)])
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes})")
    if one.dtype != two.dtype:
        raise RuntimeError(
            f"expected mat1 and mat2 to have the same dtype, but got: {input.dtype} != {mat2.dtype}"
        )
    for tensor in (input, mat2):
        if is_sparse(tensor) and len(tensor._array.places.sizes) != 2:
            raise RuntimeError("mm: a sparse matrix must have two sparse dimensions")


def mm(input: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """A product of two matrices, sparse or dense; that of two sparse ones is sparse.

    Raises:
        RuntimeError: for what are no matrices, or not of sizes and a dtype that fit together.
        NotImplementedError: for another ``reduce`` than the sum.
    """
    if reduce not in (None, "sum"):
        raise NotImplementedError("sparse.mm: numbagrad has the sum alone as a reduction")
    if not (is_sparse(input) or is_sparse(mat2)):
        dense: Tensor = dense_mm(input, mat2)
        return dense
    _check(input, mat2)
    if not is_sparse(mat2):
        return product(values_of(input), mat2, input._array.places)
    if not is_sparse(input):
        # (A S)^T = S^T A^T
        return product(values_of(mat2), input.t(), mat2._array.places, True).t()
    return _product_of_sparse(input, mat2)


def _product_of_sparse(input: Any, mat2: Any) -> Tensor:
    """All pairs of a place in a column and one in the row of its number, added up."""
    one, two = input._array.places, mat2._array.places
    first, second = of.joined(one.indices[1], two.indices[0])
    index = np.stack([one.indices[0][first], two.indices[1][second]])
    values = take(values_of(input), first) * take(values_of(mat2), second)
    made = coalesce(with_values(values, Places(index, (one.sizes[0], two.sizes[1]))))
    both = one.compressed is not None and two.compressed is not None
    return to_sparse_csr(made) if both else made


def mv(input: Any, vec: Any) -> Tensor:
    """A sparse matrix times a vector."""
    if is_sparse(vec) or vec.ndim != 1:
        raise could_not_run((vec if is_sparse(vec) else input)._array, "mv")
    return mm(input, vec.unsqueeze(1)).squeeze(1)


def matmul(input: Any, other: Any) -> Tensor:
    """``input @ other``, one of them sparse."""
    ranks = input._array.ndim, other._array.ndim
    if ranks == (2, 2):
        return mm(input, other)
    if ranks == (2, 1) and is_sparse(input):
        return mv(input, other)
    if ranks == (3, 3):
        return bmm(input, other)
    if ranks == (1, 2) and is_sparse(other) and not is_sparse(input):
        return mm(input.unsqueeze(0), other).squeeze(0)
    raise could_not_run((input if is_sparse(input) else other)._array, "matmul")


def reversed_matmul(self: Any, other: Any) -> Tensor:
    """``other @ self``."""
    return matmul(other, self)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``, with a sparse matrix."""
    made = mm(mat1, mat2)
    if alpha != 1:
        made = made * alpha
    if beta == 0:
        return made
    if is_sparse(input) and not is_sparse(made):
        there: Any = input._array
        raise could_not_run(there, "addmm")
    return (input if beta == 1 else input * beta) + made


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """``mm`` of two matrices, sparse or dense."""
    return mm(input, mat2)


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse matrix with a dense one, as a sparse matrix."""
    if not is_sparse(input) or is_sparse(mat):
        raise RuntimeError("smm: expected a sparse matrix and a dense one")
    made: Tensor = mm(input, mat).to_sparse()
    return made


def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``, sparse, where ``mat2`` alone is dense."""
    if not is_sparse(input):
        raise RuntimeError("sspaddmm: expected the matrix that is added to to be sparse")
    return input * beta + smm(mat1, mat2) * alpha


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix with a dense one, of which rows of zeros have no values."""
    made: Tensor = mm(mat1, mat2).to_sparse(1)
    return made


def addmv(input: Any, mat: Tensor, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``, with a sparse matrix."""
    return beta * input + alpha * mv(mat, vec)


def bmm(input: Any, mat2: Any) -> Tensor:
    """Products of sparse matrices with dense ones, one for each entry of a batch.

    Raises:
        RuntimeError: for a second operand that is sparse, and for sizes that do not fit.
    """
    if is_sparse(mat2):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    shape, other = input._array.shape, mat2._array.shape
    if len(shape) != 3 or len(other) != 3 or shape[0] != other[0] or shape[2] != other[1]:
        raise RuntimeError(f"bmm: sizes {list(shape)} and {list(other)} do not fit together")
    places = input._array.places
    if len(places.sizes) != 3:
        raise RuntimeError("bmm: a sparse stack of matrices must have three sparse dimensions")

    def on_diagonal() -> Places:
        batch, row, column = places.indices
        index = np.stack([batch * shape[1] + row, batch * shape[2] + column])
        return Places(index, (shape[0] * shape[1], shape[0] * shape[2]), places.coalesced)

    made = product(
        values_of(input), mat2.reshape(-1, other[2]), places.keep("on_diagonal", on_diagonal)
    )
    return made.reshape(shape[0], shape[1], other[2])


def linear(input: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``, of which the input or the weight is sparse."""
    made = matmul(input, weight.t())
    return made if bias is None else made + bias
