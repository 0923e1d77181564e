"""Cholesky factors, eigenvalues of symmetric matrices, singular values, and their gradients."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import return_types
from ...backend import on_host
from ...dispatch.policies import autocasts
from ...tensor import Tensor
from ...transforms.batching import stacked
from ...transforms.levels import may_be_checked
from ..complex.lazy_conj import conjugate
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.tensor_operator import TensorOperator
from .lapack import by_columns, cholesky_factors, svd_of
from .systems import (
    Array,
    adjoint,
    check_matrices,
    eye_like,
    is_plain,
    on_diagonal,
    solve_triangular,
)

__all__ = ["cholesky"]


def _symmetric_half(matrix: Tensor) -> Tensor:
    """The mean of a lower triangle and its adjoint; what projects on Hermitian matrices."""
    lower = matrix.tril()
    return (lower + adjoint(lower.tril(-1))) * 0.5


def cholesky_gradient(grad: Tensor, result: Tensor) -> Tensor:
    """Iain Murray, *Differentiation of the Cholesky decomposition* (2016)."""
    inverse_factor = solve_triangular(result, eye_like(result), upper=False)
    half = _symmetric_half(adjoint(result) @ grad)
    return adjoint(inverse_factor) @ half @ inverse_factor


_cholesky = TensorOperator(
    "linalg_cholesky_ex",
    lambda input: cholesky_factors(input),
    {"input": cholesky_gradient},
    batch=stacked(),
)


@method()
@autocasts("float32")
def cholesky(A: Tensor, upper: bool = False) -> Tensor:
    """The lower triangular L with ``L @ L.mH = A``, or its adjoint if ``upper``.

    Raises:
        LinAlgError: if a matrix is not positive definite.
    """
    check_matrices("linalg.cholesky", A)
    made = _cholesky(adjoint(A) if upper else A)  # only that triangle is read
    return adjoint(made).clone() if upper else made


def _eigh_forward(array: Array, UPLO: Any) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(array, UPLO)
    return values, by_columns(vectors)


def _eigh_gradient(grad: Any, result: Tensor, result1: Tensor) -> Tensor:
    """``V (diag(g) + skew(V^H gV) / (λ_j - λ_i)) V^H``; infinite where eigenvalues are equal.

    Complex eigenvectors have arbitrary phases, which therefore may have no gradient.
    """
    values, vectors = result, result1
    inner: Any = None
    if grad[0] is not None:
        inner = grad[0].diag_embed().to(vectors.dtype)
    if grad[1] is not None:
        distances = values.unsqueeze(-2) - values.unsqueeze(-1)
        diagonal = on_diagonal(values)
        overlap = adjoint(vectors) @ grad[1]
        check_phases("linalg_eigh_backward: The eigenvectors", (overlap,), grad[1])
        turned = _skewed(overlap, diagonal) * 0.5 / distances.masked_fill(diagonal, 1.0)
        inner = turned if inner is None else inner + turned
    return vectors @ inner @ adjoint(vectors)


def _skewed(overlap: Tensor, diagonal: Tensor) -> Tensor:
    """A matrix less its adjoint, with zeros on the diagonal."""
    made = overlap - adjoint(overlap)
    return made if made._array.dtype.kind != "c" else made.masked_fill(diagonal, 0)


def check_phases(subject: str, overlaps: tuple[Tensor, ...], *gradients: Tensor) -> None:
    """Raise if a gradient reaches the phases of complex vectors, which no decomposition fixes.

    Args:
        subject: the function and its vectors, for the error.
        overlaps: products of the adjoints of vectors with their gradients; the imaginary parts of
            their diagonals are, in sum, what a turn of the phases would change.
        gradients: what the size of these is compared with.
    """
    if overlaps[0]._array.dtype.kind != "c" or not may_be_checked(*overlaps, *gradients):
        return
    turns = sum(np.diagonal(on_host(o._array), 0, -2, -1).imag for o in overlaps)
    size = max(np.abs(on_host(g._array)).max(initial=0) for g in gradients)
    _check_turns(turns, size, subject)


@array_function("check")
def _check_turns(turns: Any, size: Any, subject: str) -> None:
    if not (np.abs(turns) <= 1e-2 * np.maximum(size, 1)).all():  # nor of NaN, as torch says
        raise RuntimeError(
            f"{subject} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined."
        )


_eigh = TensorOperator(
    "linalg_eigh",
    lambda A, UPLO: _eigh_forward(A, UPLO),
    {"A": _eigh_gradient},
    batch=stacked(),
)


@autocasts("float32")
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending, real) and eigenvectors (columns) of Hermitian matrices.

    ``UPLO`` says which triangle is read.
    """
    check_matrices("linalg.eigh", A)
    return return_types.linalg_eigh(*_eigh(A, UPLO))


_eigvalsh = TensorOperator("linalg_eigvalsh", lambda A, UPLO: np.linalg.eigvalsh(A, UPLO), {})


@autocasts("float32")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian matrices, ascending."""
    if is_plain(A):
        check_matrices("linalg.eigh", A)
        values: Tensor = _eigvalsh(A, UPLO)
        return values
    return eigh(A, UPLO).eigenvalues


def _svd_forward(array: Array) -> tuple[Array, Array, Array]:
    u, s, vh = svd_of(array)
    return by_columns(u), s, by_columns(vh)


def _outside(gradient: Tensor, basis: Tensor) -> Tensor:
    """The part of the columns that the columns of an orthonormal basis do not span."""
    return gradient - basis @ (adjoint(basis) @ gradient)


def _check_pairs(u: Tensor, of_u: Tensor | None, v: Tensor, of_v: Tensor | None) -> None:
    """Raise if a gradient reaches the phases that the vectors of a pair have in common."""
    if u._array.dtype.kind == "c":
        pairs = [(x, g) for x, g in ((u, of_u), (v, of_v)) if g is not None]
        if pairs:
            overlaps = tuple([adjoint(x) @ g for x, g in pairs])
            subject = "svd_backward: The singular vectors"
            check_phases(subject, overlaps, *[g for _, g in pairs])


def _svd_gradient(grad: Any, result: Tensor, result1: Tensor, result2: Tensor) -> Tensor:
    """As for ``eigh``, with differences of squared singular values, and what lies outside.

    Complex vectors of a pair may be turned by one phase together, and by none alone.
    """
    u, s, v = result, result1, adjoint(result2)
    of_u, of_s, of_vh = grad
    total = None if of_s is None else (u * of_s.unsqueeze(-2)) @ result2
    of_v = None if of_vh is None else adjoint(of_vh)
    columns, rows = s.unsqueeze(-2), s.unsqueeze(-1)
    diagonal = on_diagonal(s)
    distances = (columns * columns - rows * rows).masked_fill(diagonal, 1.0)

    def turned(gradient: Tensor, basis: Tensor) -> Tensor:
        return _skewed(adjoint(basis) @ gradient, diagonal) / distances

    _check_pairs(u, of_u, v, of_v)
    terms = [] if total is None else [total]
    if of_u is not None:
        terms.append(u @ (turned(of_u, u) * columns) @ result2)
        terms.append(_outside(of_u, u) / columns @ result2)
    if of_v is not None:
        terms.append(u @ (rows * turned(of_v, v)) @ result2)
        terms.append(u / columns @ adjoint(_outside(of_v, v)))
    if of_u is not None and of_v is not None and u._array.dtype.kind == "c":
        turns = (conjugate(u) * of_u).sum(-2).imag * 1j
        terms.append((u * (turns / s).unsqueeze(-2)) @ result2)
    return functools.reduce(lambda total, term: total + term, terms)


_svd = TensorOperator(
    "linalg_svd", lambda A: _svd_forward(A), {"A": _svd_gradient}, batch=stacked()
)


@array_function("check")
def _check_beyond(gradients: Array) -> None:
    if gradients.any():
        raise RuntimeError(
            "linalg.svd: the columns of U and rows of Vh that only full matrices have are any "
            "basis of what is left, so there is no gradient through them; pass full_matrices=False"
        )


def _full_svd_gradient(grad: Any, result: Tensor, result1: Tensor, result2: Tensor) -> Tensor:
    """The gradient of the reduced decomposition; the rest is arbitrary and may have none."""
    count = result1._array.shape[-1]
    of_u, of_s, of_vh = grad
    for beyond in (
        None if of_u is None else of_u[..., count:],
        None if of_vh is None else of_vh[..., count:, :],
    ):
        if beyond is not None and may_be_checked(beyond):
            _check_beyond(beyond._array)
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


_svdvals = TensorOperator("linalg_svdvals", lambda A: svd_of(A, vectors=False), {})


@autocasts("float32")
def svdvals(A: Tensor) -> Tensor:
    """Singular values, descending."""
    if is_plain(A):
        check_matrices("linalg.svd", A, square=False)
        values: Tensor = _svdvals(A)
        return values
    return svd(A, full_matrices=False).S
