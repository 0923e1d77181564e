"""Systems with triangular and Cholesky factors, decompositions with torch's older arguments, and
those that tell of failures by a number instead of an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import return_types
from ...dispatch.policies import autocasts
from ...executor.memory.arrays import constant_beside
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks, stacked
from ..arguments.shapes import common_shape
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator
from ..pointwise.selection import where
from ..views.expand import sum_to_size
from .decompositions import cholesky_gradient
from .decompositions import svd as linalg_svd
from .lapack import (
    LinAlgError,
    by_columns,
    each_factor,
    factors,
    inverses,
    substituted,
)
from .lu import check_info
from .qr import qr as linalg_qr
from .systems import (
    adjoint,
    check_matrices,
    inverse_gradient,
    solve,
    solve_triangular,
)

__all__ = ["cholesky_inverse", "cholesky_solve", "qr", "svd", "triangular_solve"]

Array = np.ndarray[Any, Any]


# --- failures as numbers --------------------------------------------------------------------------


_cholesky_ex = TensorOperator(
    "linalg_cholesky_ex",
    lambda input: each_factor(input),
    {"input": lambda grad, result: cholesky_gradient(grad[0], result)},
    batch=stacked(),
)


def _check_minors(info: Array) -> None:
    if info.any():
        raise LinAlgError(
            "linalg.cholesky_ex: The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {int(info[info > 0].flat[0])} is not "
            "positive-definite)."
        )


@autocasts("float32")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """``linalg.cholesky``, and for each matrix 0 or the order of the first minor not positive.

    The factor of such a matrix is zero.

    Raises:
        LinAlgError: with ``check_errors``, if there is one.
    """
    check_matrices("linalg.cholesky_ex", A)
    made, info = _cholesky_ex(adjoint(A) if upper else A)  # only that triangle is read
    if check_errors:
        check_info(_check_minors, info)
    return return_types.linalg_cholesky_ex(adjoint(made) if upper else made, info)


def _inverse_forward(input: Array) -> tuple[Array, Array]:
    made, zeros = inverses(input)
    if zeros.any():
        made = np.where(zeros[..., None, None] != 0, 0, made)
        return by_columns(made), zeros
    return made, zeros


_inv_ex = TensorOperator(
    "linalg_inv_ex",
    lambda input: _inverse_forward(input),
    {"input": lambda grad, result: inverse_gradient(grad[0], result)},
    batch=stacked(),
)


def _check_pivots(info: Array, name: str) -> None:
    if info.any():
        position = int(info[info > 0].flat[0])
        raise LinAlgError(
            f"{name}: The diagonal element {position} is zero, the inversion could not be "
            "completed because the input matrix is singular."
            if name == "linalg.inv_ex"
            else f"{name}: The solver failed because the input matrix is singular."
        )


@autocasts("float32")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """Inverses, and for each matrix 0 or the place of the first zero pivot; zeros are its inverse.

    Raises:
        LinAlgError: with ``check_errors``, if a matrix is singular.
    """
    check_matrices("linalg.inv", A)
    made, info = _inv_ex(A)
    if check_errors:
        check_info(_check_pivots, info, "linalg.inv_ex")
    return return_types.linalg_inv_ex(made, info)


#: For each matrix 0 or the place of the first zero pivot.
_pivots = TensorOperator("lu_info", lambda A: factors(A)[2], {}, batch=stacked())


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """``linalg.solve``, and for each matrix 0 or the place of the first zero pivot.

    The solution of singular equations is zero.

    Raises:
        LinAlgError: with ``check_errors``, if a matrix is singular.
    """
    check_matrices("linalg.solve", A)
    info = _pivots(A.detach())
    if check_errors:
        check_info(_check_pivots, info, "torch.linalg.solve_ex")
    singular = info != 0
    eye = new_tensor(constant_beside(A._array, np.eye(A._array.shape[-1], dtype=A._array.dtype)))
    made = solve(where(singular[..., None, None], eye, A), B, left=left)
    is_vector = B._array.ndim == 1 or B._array.shape == A._array.shape[:-1]
    hidden = singular[..., None] if is_vector else singular[..., None, None]
    return return_types.linalg_solve_ex(made.masked_fill(hidden, 0), info)


# --- factors --------------------------------------------------------------------------------------


def _by_factor(B: Array, L: Array, upper: bool) -> Array:
    """X with ``A @ X = B``, A being the product of the factor and its adjoint."""
    turned = np.swapaxes(L, -1, -2).conj()
    first, second = (turned, L) if upper else (L, turned)
    inner = substituted(first, B, False)
    return substituted(second, inner, True)


def _inverse_by_factor(L: Array, upper: bool) -> Array:
    zeros = np.argwhere(np.diagonal(L, axis1=-2, axis2=-1) == 0)
    if len(zeros):
        *sample, dim = zeros[0]
        stack = L.shape[:-2]
        place = f"(Batch element {np.ravel_multi_index(sample, stack)}): " if stack else ""
        raise LinAlgError(
            f"cholesky_inverse: {place}The diagonal element {dim + 1} is zero, the inversion "
            "could not be completed because the input matrix is singular."
        )
    return _by_factor(np.eye(L.shape[-1], dtype=L.dtype), L, upper)


def _of_factor(common: Tensor, L: Tensor, upper: bool) -> Tensor:
    """The gradient of a factor; ``common`` is minus that of its product with its adjoint, doubled.

    As in torch that of all elements of the product, also of those beyond the triangle: these are
    zeros, whatever stands there, but have a gradient.
    """
    factor = L - (L.tril(-1) if upper else L.triu(1)).detach()
    made = factor @ common if upper else common @ factor
    return sum_to_size(-made, L._array.shape)


def _doubled(matrix: Tensor) -> Tensor:
    return matrix + adjoint(matrix)


def _samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Any:
    *tensors, upper = arguments
    return operator(*aligned_stacks(tensors, mapped[: len(tensors)]), upper)


_cholesky_solve = TensorOperator(
    "cholesky_solve",
    lambda B, L, upper: _by_factor(B, L, upper),
    {
        "B": lambda shared, B_shape: sum_to_size(shared, B_shape),
        "L": lambda shared, L, upper, result: _of_factor(
            _doubled(shared @ adjoint(result)), L, upper
        ),
    },
    shared=lambda grad, L, upper: _cholesky_solve(grad, L, upper),
    batch=_samples,
)
_cholesky_inverse = TensorOperator(
    "cholesky_inverse",
    lambda L, upper: _inverse_by_factor(L, upper),
    {"L": lambda grad, L, upper, result: _of_factor(result @ _doubled(grad) @ result, L, upper)},
    batch=_samples,
)


@method()
@autocasts("float32")
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with ``L @ L.mH @ X = B``, or ``L.mH @ L @ X = B`` if the factor is the upper one.

    Raises:
        RuntimeError: for shapes that do not fit.
    """
    check_matrices("cholesky_solve", L)
    if B._array.ndim < 2:
        raise RuntimeError(
            f"b should have at least 2 dimensions, but has {B._array.ndim} dimensions instead"
        )
    rows, columns = B._array.shape[-2:]
    size = L._array.shape[-1]
    if rows != size:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {size} by {size} but "
            f"each b matrix is {rows} by {columns}"
        )
    common_shape([B._array.shape[:-2], L._array.shape[:-2]])
    return _cholesky_solve(B, L, bool(upper))


@method()
@autocasts("float32")
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of ``L @ L.mH``, or of ``L.mH @ L`` if the factor is the upper one."""
    check_matrices("cholesky_inverse", L)
    return _cholesky_inverse(L, bool(upper))


@method()
@autocasts("float32")
def triangular_solve(
    b: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """X with ``A @ X = b`` for one triangle of A, or of its transpose; and a copy of A."""
    if b._array.ndim < 2 or A._array.ndim < 2:
        raise RuntimeError(
            "torch.triangular_solve: Expected b and A to have at least 2 dimensions, but they have "
            f"{b._array.ndim} and {A._array.ndim} dimensions instead"
        )
    if b._array.dtype != A._array.dtype:
        raise RuntimeError(
            "torch.triangular_solve: Expected b and A to have the same dtype, but found b of type "
            f"{b.dtype} and A of type {A.dtype} instead."
        )
    turned = A.mT if transpose else A
    made = solve_triangular(turned, b, upper=upper != transpose, unitriangular=unitriangular)
    return return_types.triangular_solve(made, A.clone())


@method()
@autocasts("float32")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """``U @ S.diag_embed() @ V.mH``; with ``some`` the reduced decomposition.

    Without ``compute_uv`` zeros stand for U and V.
    """
    if compute_uv:
        u, s, vh = linalg_svd(input, full_matrices=not some)
        return return_types.svd(u, s, adjoint(vh))
    shape = input._array.shape
    s = linalg_svd(input, full_matrices=False).S
    u, v = (input.new_zeros((*shape[:-2], size, size)) for size in shape[-2:])
    return return_types.svd(u, s, v)


@method()
@autocasts("float32")
def qr(input: Tensor, some: bool = True) -> Any:
    """``linalg.qr``, reduced with ``some``, else complete."""
    return return_types.qr(*linalg_qr(input, "reduced" if some else "complete"))
