"""Exponentials of matrices, eigenvalues of general ones, tensors as matrices, and reflections.

NumPy's LAPACK computes eigenvalues, all else is products and systems of equations; gradients are
made of the same, so they exist to every order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import return_types
from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...executor.families import decomposition
from ...executor.memory.arrays import constant_beside
from ...tensor import Tensor, new_tensor
from ...transforms.batching import stacked
from ...transforms.levels import is_transformed
from ..arguments.shapes import dimension
from ..complex.complex_numbers import conj, real
from ..creation.filled import ones
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.tensor_operator import TensorOperator
from ..reductions.scan import cumprod
from ..views.join import cat
from .decompositions import check_phases
from .lapack import by_columns
from .systems import (
    adjoint,
    check_matrices,
    inv,
    is_plain,
    on_diagonal,
    solve,
    solve_triangular,
)

__all__ = ["geqrf", "matrix_exp", "orgqr", "ormqr", "vander"]

Array = np.ndarray[Any, Any]


# --- the exponential ------------------------------------------------------------------------------

#: Coefficients of the Padé approximant of degree 13 of the exponential.
_PADE = tuple([
    math.factorial(26 - k) // (math.factorial(13 - k) * math.factorial(k)) * math.factorial(13)
    / math.factorial(26) for k in range(14)
])  # fmt: skip
#: Up to this norm the approximant has all digits of float64 (Higham, 2005).
_PADE_REACH = 5.371920351148152


def _exponential(array: Array) -> Array:
    """Scaling and squaring (Higham, *The scaling and squaring method revisited*, 2005)."""
    if array.size == 0:
        return array.copy()
    wide = array.astype(np.result_type(array.dtype, np.float64))
    norm = np.abs(wide).sum(-2).max(-1)
    squarings = _squarings(norm)
    scaled = wide * np.exp2(-squarings)[..., None, None]
    eye = np.eye(array.shape[-1])
    two = scaled @ scaled
    four = two @ two
    six = four @ two
    c = _PADE
    odd = scaled @ (
        six @ (c[13] * six + c[11] * four + c[9] * two)
        + c[7] * six + c[5] * four + c[3] * two + c[1] * eye
    )  # fmt: skip
    even = six @ (c[12] * six + c[10] * four + c[8] * two)
    even += c[6] * six + c[4] * four + c[2] * two + c[0] * eye
    made = np.linalg.solve(even - odd, even + odd)
    for number in range(int(squarings.max(initial=0))):
        more = (squarings > number)[..., None, None]
        made = np.where(more, made @ made, made)
    return made.astype(array.dtype)


def _squarings(norm: Array) -> Array:
    """How often to halve matrices of these norms before the approximant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.ceil(np.log2(norm / _PADE_REACH))
    return np.where(np.isfinite(needed), np.maximum(needed, 0), 0).astype(np.int64)


def _exponential_gradient(grad: Tensor, A: Tensor) -> Tensor:
    """The upper right block of the exponential of [[A^H, g], [0, A^H]] (Najfeld, Havel, 1995)."""
    size = A._array.shape[-1]
    turned = adjoint(A)
    above = cat([turned, grad], -1)
    below = cat([turned * 0, turned], -1)
    return matrix_exp(cat([above, below], -2))[..., :size, size:]


_matrix_exp = TensorOperator(
    "linalg_matrix_exp", lambda A: _exponential(A), {"A": _exponential_gradient}, batch=stacked()
)


@method()
@autocasts("unchanged")
def matrix_exp(A: Tensor) -> Tensor:
    """The exponentials of square matrices (..., n, n): ``I + A + A² / 2 + ...``.

    Raises:
        RuntimeError: for what holds no square matrices of floats.
    """
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(
            "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type_name(A.dtype)}"
        )
    if A.dtype.is_half:
        return matrix_exp(A.float()).to(A.dtype)
    check_matrices("linalg.matrix_exp", A)
    return _matrix_exp(A)


# --- eigenvalues ----------------------------------------------------------------------------------


def _eig_forward(A: Array) -> tuple[Array, Array]:
    kind = np.result_type(A.dtype, np.complex64)
    values, vectors = np.linalg.eig(A)
    return values.astype(kind), by_columns(vectors.astype(kind))


def _eig_gradient(grad: Any, result: Tensor, result1: Tensor) -> Tensor:
    """Boeddeker et al., *On the computation of complex-valued gradients* (arXiv:1701.00392).

    Eigenvectors have unit norm; what a change of their phase would do has to be zero.
    """
    values, vectors = result, result1
    across = adjoint(vectors)
    inner: Any = None if grad[0] is None else grad[0].diag_embed()
    if grad[1] is not None:
        overlap = across @ grad[1]
        diagonal = overlap.diagonal(0, -2, -1)
        check_phases("linalg_eig_backward: The eigenvectors", (overlap,), grad[1])
        overlap = overlap - (across @ vectors) * real(diagonal).unsqueeze(-2)
        distances = conj(values.unsqueeze(-2) - values.unsqueeze(-1))
        is_diagonal = on_diagonal(values)
        turned = overlap.masked_fill(is_diagonal, 0) / distances.masked_fill(is_diagonal, 1)
        inner = turned if inner is None else inner + turned
    return solve(across, inner @ across)


_eig = TensorOperator(
    "linalg_eig",
    lambda A: _eig_forward(A),
    {"A": lambda grad, result, result1: real(_eig_gradient(grad, result, result1))},
    batch=stacked(),
)
_complex_eig = TensorOperator(
    "linalg_eig", lambda A: _eig_forward(A), {"A": _eig_gradient}, batch=stacked()
)


@array_function("check")
def _check_finite(array: Array) -> None:
    if not np.isfinite(array).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


@autocasts("float32")
def eig(A: Tensor) -> Any:
    """Eigenvalues and eigenvectors (columns) of square matrices, complex and in any order.

    Gradients are infinite where eigenvalues are equal.

    Raises:
        RuntimeError: for NaN and infinities; in backward, if the phases of the eigenvectors, which
            are arbitrary, have a gradient.
    """
    check_matrices("linalg.eig", A)
    if not is_transformed(A):
        _check_finite(A._array)
    operator = _complex_eig if A._array.dtype.kind == "c" else _eig
    return return_types.linalg_eig(*operator(A))


@autocasts("float32")
def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices, complex and in any order."""
    values: Tensor = eig(A).eigenvalues
    return values


# --- tensors as matrices --------------------------------------------------------------------------


@autocasts("float32")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a map from its last dimensions to its first ``ind``.

    Raises:
        RuntimeError: if the two have different sizes, or ``ind`` is not positive.
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = A._array.shape
    if ind > len(shape) or not shape:
        raise RuntimeError(
            f"tensorinv(): ind={ind} is more than the dimensions of a tensor of shape {list(shape)}"
        )
    first, last = math.prod(shape[:ind]), math.prod(shape[ind:])
    if first != last:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {last} != {first}"
        )
    made = inv(A.reshape(first, last)).reshape(*shape[ind:], *shape[:ind])
    return made


@autocasts("float32")
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with ``tensordot(A, X, X.ndim) = B``; ``dims`` of A are moved to its end first.

    Raises:
        RuntimeError: if A is no square map.
    """
    if dims is not None:
        rank = A._array.ndim
        moved = [dimension(rank, dim) for dim in dims]
        A = A.permute([dim for dim in range(rank) if dim not in moved] + moved)
    count = B._array.ndim
    first, last = B._array.size, math.prod(A._array.shape[count:])
    if first != last:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {last} != {first}"
        )
    made = solve(A.reshape(first, last), B.reshape(first)).reshape(A._array.shape[count:])
    return made


def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Rows of powers of each number (..., n), from the zeroth on: (..., n, N).

    Raises:
        RuntimeError: for an N below 2, and for float16 and bool.
    """
    if x._array.dtype == np.float16 or x._array.dtype.kind == "b":
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{scalar_type_name(x.dtype)}"
        )
    kind = x.long() if x._array.dtype.kind in "iu" else x
    if x._array.ndim == 0:  # as torch has it: a vector of one
        x, kind = x.reshape(1), kind.reshape(1)
    count = x._array.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    first = ones(*x._array.shape, 1, dtype=kind.dtype, device=x.device)
    powers = kind.unsqueeze(-1).expand(*x._array.shape, count - 1)
    return cat([first, cumprod(powers, -1)], -1)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Rows of powers of each number (n), from the highest to the zeroth, or ``increasing``.

    Raises:
        RuntimeError: unless x has one dimension, and for a negative N.
    """
    if x._array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._array.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    half = x._array.dtype == np.float16
    numbers = x.float() if half else x.long() if x._array.dtype.kind == "b" else x
    wide = linalg_vander(numbers, N=max(count, 2))[..., :count]
    wide = wide.half() if half else wide
    return wide.clone() if increasing else wide.flip(-1)


# --- reflections ----------------------------------------------------------------------------------


def _check_reflections(name: str, A: Tensor, tau: Tensor) -> None:
    rows, columns = A._array.shape[-2:] if A._array.ndim > 1 else (0, 0)
    if A._array.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if rows < columns:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if columns < tau._array.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if A._array.ndim - tau._array.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {tau._array.ndim} and input.ndim is equal to {A._array.ndim}"
        )


def _compact(A: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """V and T, for which the product of the reflections is ``I - V T V^H``.

    The reflection vectors are the columns of A below the diagonal, on which ones stand
    (Schreiber, Van Loan, 1989).
    """
    count = tau._array.shape[-1]
    rows = A._array.shape[-2]
    eye = new_tensor(constant_beside(A._array, np.eye(rows, count, dtype=A._array.dtype)))
    V = A[..., :count].tril(-1) + eye
    scale = tau.unsqueeze(-1)
    # T = (I + diag(tau) striu(V^H V))^-1 diag(tau)
    inner = (adjoint(V) @ V).triu(1) * scale
    T = solve_triangular(inner, tau.diag_embed(), upper=True, unitriangular=True)
    return V, T


#: Without a gradient: that follows from what the function is made of.
_multiplied = TensorOperator(
    "linalg_householder_product", lambda A, tau: decomposition.product(A, tau), {}
)


@autocasts("float32")
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of k reflections, as ``geqrf`` returns them.

    Args:
        A: (..., m, n), reflection vectors below the diagonals of the first k columns.
        tau: (..., k), their factors.

    Raises:
        RuntimeError: for shapes that do not fit.
    """
    _check_reflections("torch.linalg.householder_product", A, tau)
    if is_plain(A, tau) and decomposition.is_small(A._array):
        if (tau._array.shape[:-1], tau.dtype) == (A._array.shape[:-2], A.dtype):
            made: Tensor = _multiplied(A, tau)
            return made
    V, T = _compact(A, tau)
    rows, columns = A._array.shape[-2:]
    eye = new_tensor(constant_beside(A._array, np.eye(rows, columns, dtype=A._array.dtype)))
    return eye - V @ (T @ adjoint(V[..., :columns, :]))


@method()
@autocasts("float32")
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """``linalg.householder_product``."""
    return householder_product(input, tau)


@method()
@autocasts("float32")
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """The product of reflections, as ``geqrf`` returns them, times ``other``.

    Args:
        input, tau: the reflections, of m rows.
        other: (..., m, k), or (..., k, m) if they come from the right.
        left: whether the reflections are the left factor.
        transpose: whether to multiply with the adjoint of their product.

    Raises:
        RuntimeError: for shapes that do not fit.
    """
    rank = input._array.ndim
    if rank >= 2 and not tau._array.ndim:
        raise IndexError("torch.ormqr: Dimension specified as -1 but tau has no dimensions")
    if rank < 2 or tau._array.ndim != rank - 1 or other._array.ndim != rank:
        raise RuntimeError(
            "torch.ormqr: input must have at least 2 dimensions, tau one dimension less, other as "
            f"many; got {rank}, {tau._array.ndim} and {other._array.ndim} dimensions"
        )
    if not input._array.dtype == tau._array.dtype == other._array.dtype:
        raise RuntimeError(
            "torch.ormqr: input, tau and other must be of the same dtype, got "
            f"{input.dtype}, {tau.dtype} and {other.dtype}"
        )
    dim = -2 if left else -1
    for name, x, least in (("input", input, 2), ("tau", tau, 1), ("other", other, 2)):
        if x._array.ndim < least:
            raise RuntimeError(f"torch.ormqr: {name} must have at least {least} dimensions")
    if other._array.shape[dim] != input._array.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{dim}] must be equal to input.shape[-2]")
    count = min(other._array.shape[dim], input._array.shape[-1])
    if tau._array.shape[-1] != count:
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{dim}], input.shape[-1]),"
            f" which is {count}, but is {tau._array.shape[-1]}"
        )
    V, T = _compact(input, tau)
    if transpose:
        T = adjoint(T)
    made = other - (V @ (T @ (adjoint(V) @ other)) if left else ((other @ V) @ T) @ adjoint(V))
    return made


def _raw_qr(array: Array) -> tuple[Array, Array]:
    if decomposition.is_small(array):
        return decomposition.reflections(array)
    packed, tau = np.linalg.qr(array + 0.0, "raw")  # see qr.py for the zero
    return packed.swapaxes(-1, -2), tau


_geqrf = TensorOperator("geqrf", lambda input: _raw_qr(input), {}, batch=stacked())


@method()
@autocasts("float32")
def geqrf(input: Tensor) -> Any:
    """The QR decomposition as LAPACK leaves it: R above reflection vectors, and their factors.

    It has no gradient; ``linalg.qr`` has one.
    """
    check_matrices("torch.geqrf", input, square=False)
    return return_types.geqrf(*_geqrf(input))
