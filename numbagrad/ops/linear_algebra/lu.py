"""LU decompositions of stacks of matrices, and the systems that they solve.

NumPy does not show LAPACK's decomposition, so it is computed here, in blocks, for all matrices of a
stack at once. Gradients are products and triangular systems, so they exist to every order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import return_types
from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...executor.memory.arrays import constant_beside, filled_like
from ...tensor import Tensor, new_tensor
from ...transforms.batching import stacked
from ...transforms.levels import of_all_samples
from ..arguments.shapes import common_shape
from ..indexing.gather import gather
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.tensor_operator import TensorOperator
from ..views.join import cat
from .lapack import LinAlgError, factors
from .systems import LAPACK_KINDS, adjoint, check_matrices, on_diagonal, solve_triangular
from .systems import adjoint as turned

__all__ = ["lu", "lu_solve", "lu_unpack"]

Array = np.ndarray[Any, Any]


# --- the decomposition ----------------------------------------------------------------------------


#: Fewer are permuted one after another.
_FEW_MATRICES = 16


def _order_after(swaps: list[int], rows: int) -> list[int]:
    order = list(range(rows))
    for k, other in enumerate(swaps):
        order[k], order[other - 1] = order[other - 1], order[k]
    return order


def check_swaps(pivots: Array, rows: int) -> None:
    """Raise torch's error for pivots that are no numbers of rows, counted from 1."""
    if pivots.size and not 1 <= pivots.min() <= pivots.max() <= rows:
        raise RuntimeError(
            f"pivots passed to lu_unpack must be between 1 and LU.size(-2) = {rows} inclusive, but "
            f"are between {pivots.min()} and {pivots.max()}. Did you properly pass the result of "
            "lu_factor?"
        )


def rows_after(pivots: Array, rows: int) -> Array:
    """For swaps one after another, where each row of the result comes from: (..., rows).

    Raises:
        RuntimeError: torch's, for swaps with rows that are not there.
    """
    # As int64: NumPy ends the process if it has no memory for converting what indexes an array.
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1]).astype(np.int64)
    check_swaps(flat, rows)
    if len(flat) < _FEW_MATRICES:
        lists = [_order_after(swaps, rows) for swaps in flat.tolist()]
        return np.array(lists, np.int64).reshape(*pivots.shape[:-1], rows)
    order = np.tile(np.arange(rows), (len(flat), 1))
    stack = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        order[stack, k], order[stack, other] = order[stack, other], order[stack, k].copy()
    return order.reshape(*pivots.shape[:-1], rows)


#: Where each row comes from, and where it goes.
_order = TensorOperator(
    "lu_order", lambda pivots, rows: rows_after(pivots, rows), {}, batch=stacked()
)
_origin = TensorOperator(
    "lu_origin",
    lambda pivots, rows: rows_after(pivots, rows).argsort(-1),
    {},
    batch=stacked(),
)


def _chosen_rows(matrices: Tensor, order: Tensor) -> Tensor:
    """The rows of stacks in another order."""
    shape = common_shape([matrices._array.shape[:-2], order._array.shape[:-1]])
    columns = matrices._array.shape[-1]
    index = order.unsqueeze(-1).expand(*shape, order._array.shape[-1], columns)
    return gather(matrices.expand(*shape, *matrices._array.shape[-2:]), -2, index)


def _unit_lower(packed: Tensor) -> Tensor:
    """L of a square LU."""
    return packed.tril(-1).masked_fill(on_diagonal(packed), 1.0)


def _gradient(grad: Any, result: Tensor, result1: Tensor) -> Tensor:
    """From ``dA = dL U + L dU``, with the parts of rectangular matrices taken off first.

    ``A2 = L2 U`` of tall matrices, and ``A2 = L U2`` of wide ones, are eliminated from what belongs
    to the square.
    """
    of_packed = grad[0]
    rows, columns = result._array.shape[-2:]
    size = min(rows, columns)
    square = result[..., :size, :size]
    lower, upper = _unit_lower(square), square.triu()
    of_square = of_packed[..., :size, :size]
    of_lower, of_upper = of_square.tril(-1), of_square.triu()
    beyond: Tensor | None = None
    if rows > columns:
        low, of_low = result[..., size:, :], of_packed[..., size:, :]
        beyond = solve_triangular(adjoint(upper), of_low, upper=False, left=False)
        of_upper = of_upper - (adjoint(low) @ beyond).triu()
    elif columns > rows:
        right, of_right = result[..., size:], of_packed[..., size:]
        beyond = solve_triangular(adjoint(lower), of_right, upper=True, unitriangular=True)
        of_lower = of_lower - (beyond @ adjoint(right)).tril(-1)
    inner = (adjoint(lower) @ of_lower).tril(-1) + (of_upper @ adjoint(upper)).triu()
    inner = solve_triangular(adjoint(lower), inner, upper=True, unitriangular=True)
    made = solve_triangular(adjoint(upper), inner, upper=False, left=False)
    if beyond is not None:
        made = cat([made, beyond], -2 if rows > columns else -1)
    return _chosen_rows(made, _origin(result1, rows))


_lu_factor = TensorOperator(
    "linalg_lu_factor_ex", lambda A: factors(A), {"A": _gradient}, batch=stacked()
)


def _checked(name: str, A: Tensor, pivot: bool) -> None:
    if A._array.ndim < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(A._array.shape)} instead"
        )
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")
    if A._array.dtype.char not in LAPACK_KINDS:
        raise NotImplementedError(f"\"lu_cpu\" not implemented for '{scalar_type_name(A.dtype)}'")


def _check_pivots(info: Array, name: str) -> None:
    if info.any():
        position = int(info[info > 0].flat[0])
        raise LinAlgError(
            f"{name}: U[{position},{position}] is zero and using it on lu_solve would result in a "
            "division by zero. If you still want to perform the factorization, consider calling "
            "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )


def check_info(check: Any, info: Tensor, *arguments: Any) -> None:
    """``check(array, *arguments)``: of all samples at once, and at each run of a program."""
    array_function("check")(check)(of_all_samples(info)._array, *arguments)


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """``lu_factor``, and for each matrix the place of the first zero pivot, or 0.

    Raises:
        LinAlgError: with ``check_errors``, if there is one.
    """
    _checked("linalg.lu_factor", A, pivot)
    LU, pivots, info = _lu_factor(A)
    if check_errors:
        check_info(_check_pivots, info, "torch.linalg.lu_factor_ex")
    return return_types.linalg_lu_factor_ex(LU, pivots, info)


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U of ``A = P L U`` in one tensor, and the swaps of rows, counted from 1.

    Args:
        A: matrices (..., m, n).

    Returns:
        LU (..., m, n), without the ones on the diagonal of L, and pivots (..., min(m, n)) as int32.

    Raises:
        LinAlgError: if a pivot is zero.
    """
    _checked("linalg.lu_factor", A, pivot)
    LU, pivots, info = _lu_factor(A)
    check_info(_check_pivots, info, "torch.linalg.lu_factor")
    return return_types.linalg_lu_factor(LU, pivots)


def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:
    """``A = P @ L @ U`` with a permutation, a unit lower triangle and an upper triangle."""
    _checked("linalg.lu_factor", A, pivot)
    LU, pivots, _ = _lu_factor(A)
    return return_types.linalg_lu(*_unpacked(LU, pivots))


@method()
@autocasts("float32")
def lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """``linalg.lu_factor`` that raises for no pivot, and tells of zero ones if ``get_infos``."""
    _checked("linalg.lu_factor", input, pivot)
    LU, pivots, info = _lu_factor(input)
    return (LU, pivots, info) if get_infos else (LU, pivots)


def _permutation(pivots: Tensor, rows: int, like: Tensor) -> Tensor:
    eye = new_tensor(constant_beside(like._array, np.eye(rows, dtype=like._array.dtype)))
    return _chosen_rows(eye, _origin(pivots, rows))


def _unpacked(LU: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    rows, columns = LU._array.shape[-2:]
    size = min(rows, columns)
    lower = LU[..., :size].tril(-1)
    eye = new_tensor(constant_beside(LU._array, np.eye(rows, size, dtype=LU._array.dtype)))
    return _permutation(pivots, rows, LU), lower + eye, LU[..., :size, :].triu()


def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U of what ``linalg.lu_factor`` returned; empty what is not asked for.

    Raises:
        RuntimeError: for pivots that are no int32.
    """
    if LU_pivots._array.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    if LU_data._array.ndim >= 2 and LU_pivots._array.shape[-1:] != (
        (min(LU_data._array.shape[-2:]),)
    ):
        raise RuntimeError(
            "lu_unpack(): LU_pivots has as many elements for a matrix as its diagonal, but got "
            f"shape {list(LU_pivots._array.shape)} for matrices {list(LU_data._array.shape)}"
        )
    P, L, U = _unpacked(LU_data, LU_pivots)
    empty = new_tensor(filled_like(LU_data._array, (0,), LU_data._array.dtype, 0))
    if not unpack_data:
        L = U = empty
    return return_types.lu_unpack(P if unpack_pivots else empty, L, U)


# --- systems --------------------------------------------------------------------------------------


def linalg_lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> Tensor:
    """X with ``A @ X = B`` for what ``linalg.lu_factor(A)`` returned.

    Args:
        LU, pivots: the decomposition of square matrices.
        B: (..., n, k).
        left: whether A stands on the left, as in ``A @ X = B``, or on the right.
        adjoint: whether to solve with the adjoint of A.

    Raises:
        RuntimeError: for shapes that do not fit.
    """
    check_matrices("torch.lu_solve", LU)
    if LU._array.dtype != B._array.dtype:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{LU.dtype} and B of type {B.dtype} instead"
        )
    if B._array.ndim < 2:
        raise RuntimeError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    if not left:
        return turned(linalg_lu_solve(LU, pivots, turned(B), adjoint=not adjoint)).clone()
    size = LU._array.shape[-1]
    if pivots._array.dtype != np.int32:
        raise RuntimeError(
            f"linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32, got "
            f"{pivots.dtype}"
        )
    if not pivots._array.ndim:
        raise IndexError("linalg.lu_solve: Dimension specified as -1 but pivots has no dimensions")
    if pivots._array.shape[-1:] != (size,):
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            f"matrix, {size}, but got pivots with shape {list(pivots._array.shape)}"
        )
    if pivots._array.shape != LU._array.shape[:-1]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {list(pivots._array.shape)} instead"
        )
    if B._array.shape[-2] != size:
        rows, columns = B._array.shape[-2:]
        raise RuntimeError(
            "linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B "
            f"({size}x{size} and {rows}x{columns})"
        )
    if adjoint:
        inner = solve_triangular(turned(LU), B, upper=False)
        made = solve_triangular(turned(LU), inner, upper=True, unitriangular=True)
        return _chosen_rows(made, _origin(pivots, size))
    inner = _chosen_rows(B, _order(pivots, size))
    inner = solve_triangular(LU, inner, upper=False, unitriangular=True)
    return solve_triangular(LU, inner, upper=True)


@method()
@autocasts("float32")
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X with ``A @ X = input`` for what ``linalg.lu_factor(A)`` returned."""
    return linalg_lu_solve(LU_data, LU_pivots, input)
