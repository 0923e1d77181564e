"""Forwards for a GPU in the place of an operator's own, by the operator's name.

Either our kernels, or a function of CuPy where the CPU's forward is written for ndarrays alone.
``library.py`` has those whose forward CuPy's arrays take as it is.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..executor.plan.forms import contiguous, stacked, with_sizes
from ..ops.linear_algebra.lapack import by_columns
from ..ops.reductions import counting
from . import composed, indexing, philox, pivoted
from .array import CudaArray
from .driver import driver

if TYPE_CHECKING:
    from .backend import CudaBackend

# --- by kernels of ours: arrays of the device -----------------------------------------------------


def _repeated(where: CudaBackend, value: Any, like: CudaArray, shape: tuple[int, ...]) -> CudaArray:
    """A number, or an array of one element, in every element of an array of a shape."""
    steps = (0,) * len(shape)
    if isinstance(value, CudaArray):
        return value.reshape(()).view_of(shape, steps)
    one = where.new(contiguous((), like.dtype), like)
    where.fill(one, value.item() if isinstance(value, np.ndarray) else value)
    return one.view_of(shape, steps)


def _scatter(
    where: CudaBackend, input: CudaArray, dim: int, index: CudaArray, values: Any
) -> CudaArray:
    made = where.copied(input)
    if not isinstance(values, CudaArray) or (values.ndim == 0 and index.ndim):
        values = _repeated(where, values, input, index.shape)
    where.by_parts(indexing.write_elements, indexing.COPY, made, dim, index, values)
    return made


def _index_copy(
    where: CudaBackend, input: CudaArray, dim: int, index: CudaArray, source: CudaArray
) -> CudaArray:
    made = where.copied(input)
    flat = made if made.ndim else made.reshape(1)
    where.index_copy(flat, dim, index.reshape(-1), source if source.ndim else source.reshape(1))
    return made


def _index_fill(
    where: CudaBackend, input: CudaArray, dim: int, index: CudaArray, value: Any
) -> CudaArray:
    sizes = input.shape or (1,)
    shape = with_sizes(sizes, dim, index.size)
    return _index_copy(where, input, dim, index, _repeated(where, value, input, shape))


def _scatter_reduce(
    where: CudaBackend, input: CudaArray, dim: int, index: CudaArray, src: CudaArray, how: Any
) -> CudaArray:
    made = where.copied(input)
    combined = indexing.how_of(*how[:2])
    where.by_parts(indexing.write_elements, combined, made, dim, index, src)
    return made


#: Called with the backend and the arguments of the operator.
OWN: dict[str, Callable[..., Any]] = {
    "adaptive_max_pool": composed.adaptive_max_pool,
    "block_diag": composed.block_diag,
    "cholesky_inverse": composed.cholesky_inverse,
    "cholesky_solve": composed.cholesky_solve,
    "col2im": composed.col2im,
    "im2col": composed.im2col,
    "fractional_max_pool": composed.fractional_max_pool,
    "index_copy": _index_copy,
    "index_fill": _index_fill,
    "index_reduce": _scatter_reduce,
    "linalg_ldl_factor_ex": pivoted.ldl_factor,
    "linalg_ldl_solve": pivoted.ldl_solve,
    "linalg_matrix_exp": composed.matrix_exp,
    "lu_order": functools.partial(pivoted.rows_after, backwards=False),
    "lu_origin": functools.partial(pivoted.rows_after, backwards=True),
    "masked_scatter": composed.masked_scatter,
    "masked_scatter_backward": composed.masked_scatter_backward,
    "median": composed.median(False),
    "multilabel_margin_loss": composed.right_and_wrong,
    "multinomial": lambda where, input, generator, *how: philox.multinomial(
        where, generator, input, *how
    ),
    "nanmedian": composed.median(True),
    "quantile": composed.ranks,
    "scatter": _scatter,
    "scatter_reduce": _scatter_reduce,
    "unfold_backward": composed.unfold_backward,
}


def _positions_in(
    where: CudaBackend, sequence: Any, values: Any, order: Any, end: str, kind: Any
) -> CudaArray:
    """``searchsorted``: both in the dtype that NumPy promotes them to."""
    if not isinstance(values, CudaArray):
        values = where.constant(np.asarray(values))
    wide = np.result_type(*[np.float32 if x.dtype.kind == "V" else x.dtype
                            for x in (sequence, values)])  # fmt: skip
    rows, wanted = [x if x.dtype == wide else where.converted(x, wide) for x in (sequence, values)]
    return indexing.searchsorted(where, rows, wanted, order, end, kind)


def _is_in(
    where: CudaBackend, own: Any, others: Any, assume_unique: bool, invert: bool
) -> CudaArray:
    made: CudaArray = where.namespace.isin(own, others, assume_unique, invert)
    return made


def _occurrences(where: CudaBackend, array: CudaArray, weights: Any, minlength: int) -> CudaArray:
    """``bincount``: counts by CuPy, weights in the order of elements; the extremes are read."""
    if array.size:
        extremes = [where.namespace.min(array), where.namespace.max(array)]
        counting.check_extremes(*[int(where.to_host(x)) for x in extremes])
    if weights is None or not array.size:
        made: CudaArray = where.namespace.bincount(array, minlength=minlength)
        return made
    summed: CudaArray = composed.weights_of_each(where, array, weights, minlength)
    return summed


def _argwhere(where: CudaBackend, array: CudaArray) -> Any:
    return where.namespace.argwhere(array)


#: Replacements of functions of ndarrays that operators call, by module and name.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "numbagrad.nn.functional.embedding._rows_of_identity": composed.rows_of_identity,
    "numbagrad.nn.functional.embedding._sizes_of_bags": composed.bag_sizes,
    "numbagrad.nn.functional.embedding._with_end": composed.bag_ends,
    "numbagrad.ops.indexing.bags.bag_of_each": composed.bag_of_each,
    "numbagrad.ops.indexing.mask_read._rows_where": _argwhere,
    "numbagrad.ops.reductions.counting._counted": composed.counted,
    "numbagrad.ops.reductions.counting._is_in": _is_in,
    "numbagrad.ops.reductions.counting._occurrences": _occurrences,
    "numbagrad.ops.reductions.extremum._median_positions": composed.median_positions,
    "numbagrad.ops.reductions.sorting._mode_positions": composed.mode_positions,
    "numbagrad.ops.reductions.sorting._positions_in": _positions_in,
    "numbagrad.ops.reductions.sorting._unique": composed.unique,
    "numbagrad.ops.reductions.sorting._unique_consecutive": composed.unique_consecutive,
    "numbagrad.random_filling.multinomial": philox.multinomial,
}


def function_of(where: CudaBackend, function: Any) -> Callable[..., Any] | None:
    """The function for the device in the place of one of ndarrays; None for the host's."""
    name = f"{function.__module__}.{getattr(function, '__qualname__', '')}"
    own = _FUNCTIONS.get(name)
    return None if own is None else functools.partial(own, where)


# --- by functions of CuPy -------------------------------------------------------------------------


def _rolled(array: Any, shifts: Any, dims: Any) -> Any:
    return np.roll(array, shifts if dims else shifts[0], dims or None).copy("C")


def _of_scipy(name: str) -> Callable[..., Any]:
    """A function of ``cupyx.scipy.special``, computed in float64."""

    def forward(*arrays: Any) -> Any:
        wide = [x.astype(np.float64) for x in arrays]
        return driver().of_scipy("special", name)(*wide).astype(arrays[-1].dtype)

    return forward


def _pinv(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """The pseudoinverse, of what lies above the tolerances."""
    if not A.size:
        return A.swapaxes(-1, -2)
    if hermitian:
        values, left = np.linalg.eigh(A)
        right = left.conj().swapaxes(-1, -2)
    else:
        left, values, right = np.linalg.svd(A, full_matrices=False)
    sizes = abs(values)
    kept = sizes > np.maximum(atol, sizes.max(-1) * rtol)[..., None]
    inverses = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(A.dtype)
    return right.conj().swapaxes(-1, -2) @ (inverses[..., None] * left.conj().swapaxes(-1, -2))


def _solve_triangular(A: Any, B: Any, upper: bool, unit: bool) -> Any:
    triangle = np.triu(A, int(unit)) if upper else np.tril(A, -int(unit))
    if unit:
        triangle = triangle + np.tril(np.triu(np.ones_like(A)))  # an identity of the device
    return np.linalg.solve(*stacked(triangle, B))


def _lu_factors(A: Any) -> Any:
    """L and U by columns, swaps of rows from 1, and the first zero pivots, by a call a matrix."""
    leading, (rows, columns) = A.shape[:-2], A.shape[-2:]
    count = min(rows, columns)
    if not A.size:
        return A, np.empty((*leading, count), np.int32), np.zeros(leading, np.int32)
    factor = driver().of_scipy("linalg", "lu_factor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zero pivots, which the result tells of
        found = [factor(x, check_finite=False) for x in A.reshape(-1, rows, columns)]
    packed = np.stack([x for x, _ in found]).reshape(A.shape)
    pivots = np.stack([x for _, x in found]).reshape((*leading, count)).astype(np.int32) + 1
    zero = packed.diagonal(0, -2, -1) == 0
    first = np.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(np.int32)
    return by_columns(packed), pivots, first


def _expm1(x: Any) -> Any:
    """``expm1`` of complex numbers, by parts, so that nothing is lost near zero."""
    half = np.sin(x.imag / 2)
    made = np.exp(x) - 1
    finite = np.isfinite(x.real) & np.isfinite(x.imag)
    real = np.expm1(x.real) * np.cos(x.imag) - 2 * half * half
    made.real = np.where(finite, np.where(x == 0, 0, real), made.real)
    made.imag = np.where(x == 0, x.imag, made.imag)
    return made.astype(x.dtype)


#: Called with arrays of the library and the other arguments of the operator.
OF_LIBRARY: dict[str, Callable[..., Any]] = {
    "complex_acos": lambda x: np.arccos(x),
    "complex_acosh": lambda x: np.arccosh(x),
    "complex_asinh": lambda x: np.arcsinh(x),
    "complex_atanh": lambda x: np.arctanh(x),
    "complex_cosh": lambda x: np.cosh(x),
    "complex_exp": lambda x: np.exp(x),
    "complex_expm1": _expm1,
    "complex_sinh": lambda x: np.sinh(x),
    "complex_tanh": lambda x: np.tanh(x),
    "frexp": lambda input: tuple(np.frexp(input)),
    "gcd": np.gcd,
    "igamma": _of_scipy("gammainc"),
    "igammac": _of_scipy("gammaincc"),
    "lcm": lambda input, other: np.lcm(input, other).astype(input.dtype),
    "linalg_det": lambda A: np.linalg.det(A),
    "linalg_lu_factor_ex": _lu_factors,
    "linalg_pinv": _pinv,
    "linalg_solve_triangular": _solve_triangular,
    "lu_info": lambda A: _lu_factors(A)[2],
    "linalg_slogdet": lambda A: tuple(np.linalg.slogdet(A)),
    "roll": _rolled,
    "special_zeta": _of_scipy("zeta"),
    "trace": lambda input: input.trace(dtype=input.dtype if input.dtype.kind in "fc" else np.int64),
    "tril": lambda input, diagonal: np.tril(input, diagonal),
    "triu": lambda input, diagonal: np.triu(input, diagonal),
}
