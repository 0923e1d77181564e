"""Linear algebra of the array API: products in the namespace itself, all else as its extension."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numbagrad as torch

from ..dtype import dtype as DType
from ..tensor import Tensor
from .arguments import Axis, axes_of, promoted

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip

_Eigh = namedtuple("_Eigh", ["eigenvalues", "eigenvectors"])
_Qr = namedtuple("_Qr", ["Q", "R"])
_Slogdet = namedtuple("_Slogdet", ["sign", "logabsdet"])
_Svd = namedtuple("_Svd", ["U", "S", "Vh"])

# --- products, which are functions of the namespace as well ---------------------------------------


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices, of stacks of these, or of vectors."""
    return torch.matmul(*promoted(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The transposed matrices, as a view.

    Raises:
        ValueError: for an array of fewer than two dimensions.
    """
    if x.ndim < 2:
        raise ValueError("matrix_transpose: expected an array of two or more dimensions")
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over the last axes of x1 and the first of x2, or over those given."""
    x1, x2 = promoted(x1, x2)
    return torch.tensordot(x1, x2, dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sums of products of vectors along an axis, counted from the end; x1 is conjugated."""
    x1, x2 = promoted(x1, x2)
    if axis >= 0:
        raise ValueError("vecdot: axis is counted from the end, from -1 down")
    left, right = x1.movedim(axis, -1), x2.movedim(axis, -1)
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(f"vecdot: {left.shape[-1]} elements beside {right.shape[-1]} along axis")
    products = (left.conj() if left.is_complex() else left) * right
    return products.sum(-1, dtype=products.dtype)


# --- the extension --------------------------------------------------------------------------------


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower triangular factors, or the upper ones."""
    made = torch.linalg.cholesky(x, upper=upper)
    return made


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of three along an axis, counted from the end.

    Raises:
        ValueError: for an axis that is not negative, or of another size.
    """
    x1, x2 = promoted(x1, x2)
    for x in (x1, x2):
        if not -x.ndim <= axis < 0 or x.shape[axis] != 3:
            raise ValueError("cross: axis has to be counted from the end, and be of size 3")
    x1, x2 = torch.broadcast_tensors(x1, x2)
    return torch.linalg.cross(x1, x2, dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants."""
    return torch.linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices, as a view."""
    return torch.diagonal(x, offset, -2, -1)


def eigh(x: Tensor, /) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return _Eigh(*torch.linalg.eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of Hermitian matrices."""
    return torch.linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverses."""
    return torch.linalg.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:  # noqa: A002
    """The norms of matrices; of None that by Frobenius."""
    return torch.linalg.matrix_norm(x, "fro" if ord is None else ord, (-2, -1), keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Matrices multiplied ``n`` times; with negative ``n``, their inverses."""
    return torch.linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are larger than ``rtol`` times the largest."""
    return torch.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of all pairs of elements of two vectors."""
    return torch.outer(*promoted(x1, x2))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudoinverses; singular values up to ``rtol`` times the largest count as zero."""
    return torch.linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R, upper triangular."""
    return _Qr(*torch.linalg.qr(x, mode))


def slogdet(x: Tensor, /) -> Any:
    """Signs and logarithms of the sizes of determinants."""
    return _Slogdet(*torch.linalg.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """X with ``x1 @ X = x2``; x2 is a vector if it has one dimension, else it holds matrices."""
    x1, x2 = promoted(x1, x2)
    if x2.ndim == 1:
        return torch.linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    if x2.ndim == x1.ndim - 1 and x2.shape == x1.shape[:-1]:
        # torch takes such an x2 for vectors, the standard for matrices that broadcast.
        x2 = x2.expand(*x1.shape[:-2], *x2.shape[-2:])
    return torch.linalg.solve(x1, x2)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """U, singular values and the adjoint of V."""
    return _Svd(*torch.linalg.svd(x, full_matrices=full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values, descending."""
    return torch.linalg.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sums of the diagonals of matrices; small integers in int64."""
    values = torch.diagonal(x, offset, -2, -1)
    if dtype is None:
        dtype = x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.int64
    return torch.sum(values, -1, dtype=dtype)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    ord: float = 2,  # noqa: A002
) -> Tensor:
    """The norms of vectors, which lie along one or several axes; of None all elements."""
    axes = axes_of(x, axis)
    if not axes:
        # A number is a vector of one: its size, or how many of it are not zero.
        made = (x != 0) if ord == 0 else torch.abs(x)
        return made.to(torch.abs(x).dtype)
    if x.numel() == 0 and ord in (math.inf, -math.inf):
        raise ValueError("vector_norm: no elements have no largest and no smallest one")
    return torch.linalg.vector_norm(x, ord, axes, keepdims)
