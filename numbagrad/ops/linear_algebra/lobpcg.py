"""``lobpcg``: a few eigenpairs of symmetric matrices, from one end of the spectrum.

torch looks for them by iteration (Knyazev, *Toward the optimal preconditioned eigensolver*, 2001),
which pays for sparse matrices. Matrices are dense here, so ``linalg.eigh`` computes all of them,
and the gradients are its gradients, to every order.
"""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .decompositions import cholesky, eigh
from .systems import check_matrices, solve_triangular

__all__ = ["lobpcg"]

_METHODS = (None, "basic", "ortho")


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest or smallest eigenvalues of ``A x = lambda B x``, and their eigenvectors.

    The result is exact, so the start ``X``, the preconditioner ``iK``, ``niter``, ``tol`` and the
    parameters of the iteration change nothing; the sign of an eigenvector is arbitrary.

    Args:
        A: symmetric matrices (..., m, m); of others the symmetric part counts.
        k: how many; the columns of ``X`` unless given, or 1.
        B: symmetric positive definite matrices (..., m, m); the identity unless given.
        largest: False for the smallest eigenvalues.

    Returns:
        The eigenvalues (..., k), the outermost first, and the eigenvectors (..., m, k), with
        ``x.mT @ B @ x`` the identity.

    Raises:
        RuntimeError: for matrices that are not square, of integers, or of complex numbers.
        ValueError: if there are fewer than 3 k rows, or for an unknown method.
        NotImplementedError: for a ``tracker``, which would have no iterations to follow.
    """
    check_matrices("lobpcg", A)
    if tracker is not None:
        raise NotImplementedError(
            "lobpcg(): tracker is not available in numbagrad: the result is computed without "
            "iterations that it could follow; leave it out"
        )
    if A.is_complex():
        raise RuntimeError(f"lobpcg(): expected matrices of real numbers, but got {A.dtype}")
    count = k if k is not None else 1 if X is None else X.shape[-1]
    if count < 1:
        raise RuntimeError(f"lobpcg(): argument 'k' must be positive, but got {count}")
    rows = A.shape[-1]
    if rows < 3 * count:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller "
            f"than 3 x the number of requested eigenpairs (={count})"
        )
    if method not in _METHODS:
        raise ValueError(f"lobpcg: method must be one of {_METHODS}, but got {method!r}")
    symmetric = (A + A.mT) / 2
    factor = None
    if B is not None:
        # With B = L L^T: L^-1 A L^-T y = lambda y, and x = L^-T y.
        factor = cholesky((B + B.mT) / 2)
        symmetric = solve_triangular(factor, symmetric, upper=False)
        symmetric = solve_triangular(factor, symmetric.mT, upper=False)
    values, vectors = eigh(symmetric)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    values, vectors = values[..., :count], vectors[..., :count]
    if factor is not None:
        vectors = solve_triangular(factor.mT, vectors, upper=True)
    return values, vectors
