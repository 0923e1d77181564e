"""Forwards of decompositions with pivots, by the kernels of ``kernels/pivots.py``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..executor.families.checks import check_inside
from ..executor.plan.forms import contiguous
from ..executor.plan.result_forms import product
from ..ops.linear_algebra.lu import check_swaps
from ..tensor import Tensor, new_tensor
from . import launches
from .array import CudaArray
from .driver import driver
from .kernels import pivots as texts
from .launches import LaunchArgs, blocks_for

if TYPE_CHECKING:
    from .backend import CudaBackend

_factor_source = functools.lru_cache(maxsize=16)(texts.factor_source)
_solve_source = functools.lru_cache(maxsize=16)(texts.solve_source)
_swaps_source = functools.lru_cache(maxsize=4)(texts.swaps_source)


def _run(source: Any, blocks: int, *words: Any) -> None:
    """A launch whose arguments are arrays without gaps and ints."""
    launch_args = LaunchArgs()
    launch_args.add(*[x.address if isinstance(x, CudaArray) else x for x in words])
    device = next(x.block.device for x in words if isinstance(x, CudaArray))
    launches.run([launch_args.launch(source, blocks)], lambda x: x.address, (), device)


def rows_after(where: CudaBackend, pivots: CudaArray, rows: int, backwards: bool) -> CudaArray:
    """See ``ops/linear_algebra/lu.py``; ``backwards`` for where each row goes."""
    *leading, count = pivots.shape
    made = where.new(contiguous((*leading, rows), np.dtype(np.int64)), pivots)
    if made.size:
        own = where.in_order(pivots)
        if count:
            from_zero = (_tensor(own).long() - 1)._array
            check_inside("lu_unpack(): a pivot", from_zero, rows, check_swaps, pivots, rows)
        threads, matrices = driver().threads, made.size // rows
        source = _swaps_source(backwards, threads)
        _run(source, blocks_for(matrices, threads), made, own, matrices, rows, count)
    return made


def _kind(array: CudaArray, hermitian: bool) -> tuple[str, bool, bool]:
    """The dtype of the parts of elements, whether they have two, and whether that matters."""
    is_complex = array.dtype.kind == "c"
    kind = "float64" if array.dtype.itemsize == (16 if is_complex else 8) else "float32"
    return kind, is_complex, is_complex and hermitian


def _tensor(array: Any) -> Tensor:
    return new_tensor(array)


def _by_columns(array: CudaArray, shape: tuple[int, ...]) -> Any:
    """A new array of the elements of stacks of matrices, which broadcast, with columns in a row."""
    turned = _tensor(array).mT
    return turned.new_empty((*shape, *turned.shape[-2:])).copy_(turned)._array


def ldl_factor(where: CudaBackend, A: CudaArray, hermitian: bool) -> tuple[CudaArray, ...]:
    """L and D by columns, the swaps, and the first zeros of D: a block for each matrix."""
    *leading, n, _ = A.shape
    made = _by_columns(A, tuple(leading))
    kind = np.dtype(np.int32)
    pivots, info = [where.new(contiguous(x, kind), A) for x in ((*leading, n), tuple(leading))]
    if info.size:
        sizes = driver().threads, driver().lanes
        source = _factor_source(*_kind(A, hermitian), *sizes)
        _run(source, blocks_for(info.size, 1), made, pivots, info, info.size, n)
    return made.swapaxes(-1, -2), pivots, info


def ldl_solve(
    where: CudaBackend, LD: CudaArray, pivots: CudaArray, B: CudaArray, hermitian: bool
) -> CudaArray:
    """The solutions by columns: a warp for each right side."""
    leading = product(LD, B).shape[:-2]
    n, columns = B.shape[-2:]
    made, factor = [_by_columns(x, leading) for x in (B, LD)]
    swaps = _tensor(pivots).int().expand(*leading, n).contiguous()._array
    if made.size:
        source = _solve_source(*_kind(LD, hermitian), driver().lanes)
        units = made.size // n
        _run(source, blocks_for(units, 1), factor, swaps, made, units, columns, n)
    return made.swapaxes(-1, -2)
