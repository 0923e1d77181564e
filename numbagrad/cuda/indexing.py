"""Writes at indices, which are sorted first; reads are in ``hand_written.py``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..dtype import name_of
from ..executor.plan.forms import contiguous
from ..executor.plan.spaces import around
from . import launches
from .array import CudaArray
from .driver import driver
from .kernels import indexing as texts
from .launches import LaunchArgs, blocks_for

if TYPE_CHECKING:
    from .backend import CudaBackend

#: How elements are combined that have one place, and whether that of the target takes part.
How = tuple[str, bool]
ADD, COPY = (texts.ADD, True), (texts.COPY, True)
_NAMES = {"sum": texts.ADD, "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def how_of(reduce: str, own: bool) -> How:
    """How ``scatter_reduce`` combines, by its names."""
    return _NAMES.get(reduce, texts.MEAN), own


# --- writes ---------------------------------------------------------------------------------------


def write(
    where: CudaBackend, how: How, output: CudaArray, dim: int, index: CudaArray, source: CudaArray
) -> None:
    """Combine the entries of a dimension with those at the indices of a vector."""
    target = where.in_order(output)
    source = where.in_order(source)
    outer, size, inner = around(target.shape, dim)
    if index.size * outer * inner:
        order, positions = where.sorted(index)
        arrays = target, source, order, positions
        kind = name_of(output.dtype)
        _run_write(how, kind, arrays, (outer, size, index.size, inner), index.block.device)
    if target is not output:
        where.copy(output, target)


def write_elements(
    where: CudaBackend, how: How, output: CudaArray, dim: int, index: CudaArray, source: CudaArray
) -> None:
    """The same at indices of the shape of the source, which may be smaller than the output."""
    if not output.ndim:
        output, index, source = [x.reshape(1) for x in (output, index, source)]
    key = tuple([slice(n) for n in index.shape])
    part = output[tuple([slice(None) if d == dim else x for d, x in enumerate(key)])]
    target = where.in_order(part)
    if index.size:
        _, count, inner = around(index.shape, dim)
        flat = where.new(contiguous((index.size,), index.dtype), index)
        launch_args = LaunchArgs()
        launch_args.add(flat.address, where.in_order(index).address)
        launch_args.add(index.size, target.shape[dim], count, inner)
        threads = driver().threads
        made = launch_args.launch(texts.positions_source(threads), blocks_for(index.size, threads))
        launches.run([made], lambda memory: memory.address, (), index.block.device)
        values = where.in_order(source[key]).reshape(-1)
        write(where, how, target.reshape(-1), 0, flat, values)
    if target is not part:
        where.copy(part, target)


def _run_write(
    how: How, kind: str, arrays: tuple[CudaArray, ...], sizes: tuple[int, ...], device: int
) -> None:
    launch_args = LaunchArgs()
    launch_args.add(*[x.address for x in arrays], *sizes)
    threads = driver().threads
    source = _write_source(*how, kind, threads)
    units = sizes[0] * sizes[2] * sizes[3]
    made = launch_args.launch(source, blocks_for(units, threads))
    launches.run([made], lambda memory: memory.address, (), device)


_write_source = functools.lru_cache(maxsize=64)(texts.write_source)


def searchsorted(
    where: CudaBackend, rows: CudaArray, values: CudaArray, order: Any, end: str, kind: Any
) -> CudaArray:
    """The places of ``searchsorted``, in arrays of one dtype; ``order`` may be None."""
    made = where.new(contiguous(values.shape, kind), values)
    if values.size:
        rows, values = where.in_order(rows), where.in_order(values)
        order = None if order is None else where.in_order(order)
        size = rows.shape[-1]
        of_row = values.size if rows.ndim == 1 else values.shape[-1]
        launch_args = LaunchArgs()
        launch_args.add(
            *[x.address for x in (made, rows, values)], 0 if order is None else order.address
        )
        launch_args.add(values.size, size, of_row, 0 if rows.ndim == 1 else size)
        threads = driver().threads
        names = name_of(rows.dtype), name_of(kind)
        source = _search_source(names, end == "right", threads)
        launch = launch_args.launch(source, blocks_for(values.size, threads))
        launches.run([launch], lambda memory: memory.address, (), values.block.device)
    return made


_search_source = functools.lru_cache(maxsize=64)(texts.searchsorted_source)
