"""Elements by index, and the hand-written kernels of the CPU that run on a GPU as they are."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dtype import name_of
from ..executor.plan.forms import contiguous
from ..executor.plan.operations import Check, Kernel, View
from ..executor.plan.spaces import around
from . import launches
from .array import CudaArray
from .driver import driver
from .driver.source import Source
from .kernels import indexing as texts
from .kernels import lifted
from .launches import Launch, Words, blocks_for

if TYPE_CHECKING:
    from .backend import CudaBackend

_INDEXING = "kernels.indexing.elements"
ADD, COPY = texts.ADD, texts.COPY


@functools.lru_cache(maxsize=256)
def _source(module: str, name: str, count: int, threads: int) -> tuple[Source, bool]:
    """The kernel of a name, and whether its unit of work is an element of the inner dimension."""
    if module == _INDEXING and name.startswith("gather_"):
        return texts.gather_source(int(name.rpartition("_")[2]), threads), True
    if module == _INDEXING and name.startswith("index_select_"):
        return texts.index_select_source(int(name.rpartition("_")[2]), threads), True
    return lifted.source(module, name, count, threads), False


def _launch(module: str, name: str, total: int, given: Sequence[Any]) -> Launch:
    words = Words()
    for word in given:
        if isinstance(word, View):
            words.add_view(word)
        elif isinstance(word, CudaArray):
            words.add(word.address)
        else:
            words.add(word)
    words.add(total)
    threads = driver().threads
    source, by_element = _source(module, name, len(given), threads)
    units = total * int(given[5]) if by_element else total
    return words.launch(source, blocks_for(units, threads))


def run_word_kernel(module: str, name: str, total: int, words: Sequence[Any]) -> None:
    """A hand-written kernel over ``total`` units of work, at once."""
    if total:
        index = next(x.block.device for x in words if isinstance(x, CudaArray))
        launches.run(
            [_launch(module, name, total, words)], lambda memory: memory.address, (), index
        )


def lower_kernel(operation: Kernel) -> list[Launch]:
    """The launch of a ``WordKernel`` of a program."""
    kernel = operation.kernel
    if not operation.total:
        return []
    return [_launch(kernel.module, kernel.name, operation.total, operation.words)]


def lower_check(operation: Check) -> list[Launch]:
    """No launch: of device memory values are checked on the host (``executor/families/checks.py``).

    Raises:
        NotImplementedError: always, as no recorder makes such an operation of device memory.
    """
    raise NotImplementedError(f"a check of {operation.name} in a program on the device 'cuda'")


# --- writes ---------------------------------------------------------------------------------------


def write(
    where: CudaBackend, how: str, output: CudaArray, dim: int, index: CudaArray, source: CudaArray
) -> None:
    """Add (or copy) the entries of a dimension to those at the indices of a vector."""
    target = where.in_order(output)
    source = where.in_order(source)
    outer, size, inner = around(target.shape, dim)
    if index.size * outer * inner:
        order, places = where.sorted(index)
        arrays = target, source, order, places
        kind = name_of(output.dtype)
        _run_write(how, kind, arrays, (outer, size, index.size, inner), index.block.device)
    if target is not output:
        where.copy(output, target)


def write_elements(
    where: CudaBackend, how: str, output: CudaArray, dim: int, index: CudaArray, source: CudaArray
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
        words = Words()
        words.add(flat.address, where.in_order(index).address)
        words.add(index.size, target.shape[dim], count, inner)
        threads = driver().threads
        made = words.launch(texts.places_source(threads), blocks_for(index.size, threads))
        launches.run([made], lambda memory: memory.address, (), index.block.device)
        values = where.in_order(source[key]).reshape(-1)
        write(where, how, target.reshape(-1), 0, flat, values)
    if target is not part:
        where.copy(part, target)


def _run_write(
    how: str, kind: str, arrays: tuple[CudaArray, ...], sizes: tuple[int, ...], device: int
) -> None:
    words = Words()
    words.add(*[x.address for x in arrays], *sizes)
    threads = driver().threads
    source = _write_source(how, kind, threads)
    units = sizes[0] * sizes[2] * sizes[3]
    made = words.launch(source, blocks_for(units, threads))
    launches.run([made], lambda memory: memory.address, (), device)


_write_source = functools.lru_cache(maxsize=64)(texts.write_source)
