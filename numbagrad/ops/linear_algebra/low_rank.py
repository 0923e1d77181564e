"""Approximate decompositions of low rank, by products with random matrices.

Halko, Martinsson and Tropp, *Finding structure with randomness* (arXiv:0909.4061), algorithms 4.4
and 5.1: the columns of ``A`` times a random matrix, multiplied with A and its adjoint a few times
more, span nearly what the first singular vectors span. All is made of public operators, so that
gradients exist.
"""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..creation.random import randn
from .decompositions import svd
from .qr import qr
from .systems import adjoint

__all__ = ["pca_lowrank", "svd_lowrank"]


def _basis(A: Tensor, count: int, steps: int) -> Tensor:
    """Orthonormal columns (..., m, count) that nearly span the first left singular vectors."""
    start = randn(A._array.shape[-1], count, dtype=A.dtype, device=A.device)
    basis: Tensor = qr(A @ start).Q
    for _ in range(steps):
        basis = qr(adjoint(A) @ basis).Q
        basis = qr(A @ basis).Q
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Any:
    """The first ``q`` singular values and vectors of matrices, nearly: U, S and V.

    Args:
        A: matrices (..., m, n).
        q: how many, more than the rank that is looked for; 6 for None.
        niter: how often the random columns are multiplied with A and its adjoint; 2 for None.
        M: what is taken from A first, broadcast to its shape.

    Returns:
        U (..., m, q), S (..., q) descending, V (..., n, q).
    """
    count, steps = 6 if q is None else q, 2 if niter is None else niter
    if M is not None:
        A = A - M
    is_wide = A._array.shape[-2] < A._array.shape[-1]
    matrix = adjoint(A) if is_wide else A
    basis = _basis(matrix, count, steps)
    left, values, right = svd(adjoint(basis) @ matrix, full_matrices=False)
    U, V = basis @ left, adjoint(right)
    return (V, values, U) if is_wide else (U, values, V)


def pca_lowrank(A: Tensor, q: Any = None, center: Any = True, niter: int = 2) -> Any:
    """The first ``q`` principal components of the rows of matrices, nearly: U, S and V.

    Args:
        A: (..., m, n), m samples of n features.
        q: how many, by default 6 or the smaller side.
        center: whether the mean of the rows is taken from them first.
        niter: as for ``svd_lowrank``.

    Returns:
        U (..., m, q), S (..., q), and V (..., n, q) whose columns are the components.

    Raises:
        ValueError: for a negative ``niter``, or a ``q`` beyond the smaller side.
    """
    least = min(A._array.shape[-2:])
    if q is None:
        q = min(6, least)
    elif not 0 <= q <= least:
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
