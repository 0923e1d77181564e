"""Elements by index, and the hand-written kernels of the CPU that run on a GPU as they are."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dtype import name_of
from ..executor.plan.forms import contiguous
from ..executor.plan.operations import Check, Kernel, View
from . import launches
from .array import CudaArray
from .driver import driver
from .driver.source import Source
from .kernels import indexing as texts
from .kernels import lifted
from .launches import Launch, Words, blocks_for

if TYPE_CHECKING:
    from .backend import CudaBackend

_INDEXING = "kernels.indexing"


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
    """No launch: of device memory values are checked on the host (``executor/checks.py``).

    Raises:
        NotImplementedError: always, as no recorder makes such an operation of device memory.
    """
    raise NotImplementedError(f"a check of {operation.name} in a program on the device 'cuda'")


# --- by the definitions of ``executor/indexing.py`` ----------------------------------------------


def _around(shape: Sequence[int], dim: int) -> tuple[int, int]:
    return math.prod(shape[:dim]), math.prod(shape[dim + 1 :])


def gather(where: CudaBackend, array: CudaArray, dim: int, index: CudaArray) -> CudaArray:
    """The element at each index along a dimension."""
    if not array.ndim:
        return gather(where, array.reshape(1), dim, index.reshape(1)).reshape(index.shape)
    key: list[Any] = [slice(size) for size in index.shape]
    key[dim] = slice(None)
    made = where._new(contiguous(index.shape, array.dtype), array.block.device)
    words = _words(where, array[tuple(key)], dim, index, index.shape[dim])
    outer, inner = _around(index.shape, dim)
    name = f"gather_{array.itemsize}"
    run_word_kernel(_INDEXING, name, outer * index.shape[dim], (made, *words, inner))
    return made


def index_select(where: CudaBackend, array: CudaArray, dim: int, index: CudaArray) -> CudaArray:
    """The entries of a dimension at the indices of a vector."""
    if not array.ndim:
        array = array.reshape(1)
    shape = (*array.shape[:dim], index.size, *array.shape[dim + 1 :])
    made = where._new(contiguous(shape, array.dtype), array.block.device)
    words = _words(where, array, dim, index, index.size)
    outer, inner = _around(shape, dim)
    name = f"index_select_{array.itemsize}"
    run_word_kernel(_INDEXING, name, outer * index.size, (made, *words, inner))
    return made


def _words(
    where: CudaBackend, array: CudaArray, dim: int, index: CudaArray, count: int
) -> tuple[Any, ...]:
    return where.in_order(array), where.in_order(index), array.shape[dim], count


def scatter_add(
    where: CudaBackend, output: CudaArray, dim: int, index: CudaArray, source: CudaArray
) -> None:
    """Add elements at indices along a dimension, in their order."""
    if not output.ndim:
        output, index, source = [x.reshape(1) for x in (output, index, source)]
    key = [slice(size) for size in index.shape]
    part = output[tuple([slice(None) if d == dim else x for d, x in enumerate(key)])]
    _add(where, "scatter_add", part, dim, index, source[tuple(key)], index.shape[dim])


def index_add(
    where: CudaBackend, output: CudaArray, dim: int, index: CudaArray, source: CudaArray
) -> None:
    """Add the entries of a dimension to those at the indices of a vector, in their order."""
    _add(where, "index_add", output, dim, index, source, index.size)


def _add(
    where: CudaBackend, name: str, output: CudaArray, dim: int, index: CudaArray,
    source: CudaArray, count: int,
) -> None:  # fmt: skip
    dense = where.in_order(output)
    size = dense.shape[dim]
    words = (where.in_order(source), where.in_order(index), size, count)
    outer, inner = _around(dense.shape, dim)
    name = f"{name}_{name_of(output.dtype)}"
    run_word_kernel(_INDEXING, name, outer * inner, (dense, *words, inner))
    if dense is not output:
        where.copy(output, dense)
