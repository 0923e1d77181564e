"""Cholesky factors, eigenvalues of symmetric matrices, singular values, and their gradients."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import return_types
from ...dispatch.policies import autocasts
from ...executor import capture
from ...tensor import Tensor
from ...transforms.batching import stacked
from ...transforms.levels import may_be_checked
from ..arguments.output import write_result
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator
from .lapack import by_columns, cholesky_factors, svd_of
from .systems import Array, check_matrices, eye_like, on_diagonal, solve_triangular, transposed_copy

__all__ = ["cholesky"]


def _symmetric_half(matrix: Tensor) -> Tensor:
    """The mean of a lower triangle and its transpose; what projects on symmetric matrices."""
    lower = matrix.tril()
    return (lower + lower.mT - lower * eye_like(matrix)) * 0.5


def cholesky_gradient(grad: Tensor, result: Tensor) -> Tensor:
    """Iain Murray, *Differentiation of the Cholesky decomposition* (2016)."""
    inverse_factor = solve_triangular(result, eye_like(result), upper=False)
    return inverse_factor.mT @ _symmetric_half(result.mT @ grad) @ inverse_factor


_cholesky = TensorOperator(
    "linalg_cholesky_ex",
    lambda input: cholesky_factors(input),
    {"input": cholesky_gradient},
    batch=stacked(),
)


@method()
@autocasts("float32")
def cholesky(A: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with ``L @ L.mT = A``, or its transpose if ``upper``.

    Raises:
        LinAlgError: if a matrix is not positive definite.
    """
    check_matrices("linalg.cholesky", A)
    made = _cholesky(A.mT if upper else A)  # only that triangle is read
    return write_result("linalg.cholesky", transposed_copy(made) if upper else made, out)


def _eigh_forward(array: Array, UPLO: Any) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(array, UPLO)
    return values, by_columns(vectors)


def _eigh_gradient(grad: Any, result: Tensor, result1: Tensor) -> Tensor:
    """``V (diag(g) + skew(V^T gV) / (λ_j - λ_i)) V^T``; infinite where eigenvalues are equal."""
    values, vectors = result, result1
    inner: Any = None if grad[0] is None else grad[0].diag_embed()
    if grad[1] is not None:
        distances = values.unsqueeze(-2) - values.unsqueeze(-1)
        diagonal = on_diagonal(values)
        overlap = vectors.mT @ grad[1]
        turned = (overlap - overlap.mT) * 0.5 / distances.masked_fill(diagonal, 1.0)
        inner = turned if inner is None else inner + turned
    return vectors @ inner @ vectors.mT


_eigh = TensorOperator(
    "linalg_eigh",
    lambda A, UPLO: _eigh_forward(A, UPLO),
    {"A": _eigh_gradient},
    batch=stacked(),
)


@autocasts("float32")
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors (columns) of symmetric matrices.

    ``UPLO`` says which triangle is read.
    """
    check_matrices("linalg.eigh", A)
    return return_types.linalg_eigh(*_eigh(A, UPLO))


@autocasts("float32")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, ascending."""
    return eigh(A, UPLO).eigenvalues


def _svd_forward(array: Array) -> tuple[Array, Array, Array]:
    u, s, vh = svd_of(array)
    return by_columns(u), s, by_columns(vh)


def _outside(gradient: Tensor, basis: Tensor) -> Tensor:
    """The part of the columns that the columns of an orthonormal basis do not span."""
    return gradient - basis @ (basis.mT @ gradient)


def _svd_gradient(grad: Any, result: Tensor, result1: Tensor, result2: Tensor) -> Tensor:
    """As for ``eigh``, with differences of squared singular values, and what lies outside."""
    u, s, v = result, result1, result2.mT
    of_u, of_s, of_vh = grad
    total = None if of_s is None else u @ of_s.diag_embed() @ v.mT
    columns, rows = s.unsqueeze(-2), s.unsqueeze(-1)
    diagonal = on_diagonal(s)
    distances = (columns * columns - rows * rows).masked_fill(diagonal, 1.0)

    def turned(gradient: Tensor, basis: Tensor) -> Tensor:
        overlap = basis.mT @ gradient
        return (overlap - overlap.mT) / distances

    terms = [] if total is None else [total]
    if of_u is not None:
        terms.append(u @ (turned(of_u, u) * columns) @ v.mT)
        terms.append(_outside(of_u, u) / columns @ v.mT)
    if of_vh is not None:
        terms.append(u @ (rows * turned(of_vh.mT, v)) @ v.mT)
        terms.append(u / columns @ _outside(of_vh.mT, v).mT)
    return functools.reduce(lambda total, term: total + term, terms)


_svd = TensorOperator(
    "linalg_svd", lambda A: _svd_forward(A), {"A": _svd_gradient}, batch=stacked()
)


def _check_beyond(gradients: Array) -> None:
    if gradients.any():
        raise RuntimeError(
            "linalg.svd: the columns of U and rows of Vh that only full matrices have are any "
            "basis of what is left, so there is no gradient through them; pass full_matrices=False"
        )


def _full_svd_gradient(grad: Any, result: Tensor, result1: Tensor, result2: Tensor) -> Tensor:
    """That of the reduced decomposition; what lies beyond is arbitrary and may have none."""
    count = result1._array.shape[-1]
    of_u, of_s, of_vh = grad
    for beyond in (
        None if of_u is None else of_u[..., count:],
        None if of_vh is None else of_vh[..., count:, :],
    ):
        if beyond is not None and may_be_checked(beyond):
            capture.check(_check_beyond, beyond._array)
    reduced = (
        None if of_u is None else of_u[..., :count],
        of_s,
        None if of_vh is None else of_vh[..., :count, :],
    )
    return _svd_gradient(reduced, result[..., :count], result1, result2[..., :count, :])


def _full_svd_forward(array: Array) -> tuple[Array, Array, Array]:
    u, s, vh = svd_of(array, True)
    return by_columns(u), s, by_columns(vh)


_full_svd = TensorOperator(
    "linalg_svd", lambda A: _full_svd_forward(A), {"A": _full_svd_gradient}, batch=stacked()
)


@autocasts("float32")
def svd(A: Tensor, full_matrices: bool = True) -> Any:
    """``U @ S.diag_embed() @ Vh`` with orthonormal columns of U, rows of Vh, and descending S.

    Gradients through U and Vh are infinite where singular values are equal.

    Args:
        A: matrices (..., m, n).
        full_matrices: whether U and Vh are square, or have min(m, n) columns and rows.

    Raises:
        RuntimeError: in backward, if what only full matrices have is differentiated.
    """
    check_matrices("linalg.svd", A, square=False)
    rows, columns = A._array.shape[-2:]
    operator = _full_svd if full_matrices and rows != columns else _svd
    return return_types.linalg_svd(*operator(A))


@autocasts("float32")
def svdvals(A: Tensor) -> Tensor:
    """Singular values, descending."""
    return svd(A, full_matrices=False).S
