"""Views and indexed copies of ndarrays, as native launchers where Python would be slow.

Called by the views of ``ops/`` (expand, parts, strided) and by ``ops/indexing/items.py``,
``ops/indexing/gather.py`` and ``ops/indexing/scatter.py``; runs what ``kernels/indexing/`` holds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import foreign
from ...dtype import from_numpy, name_of
from ...native.array_launch_layout import VIEW_DIMENSIONS, ViewTable
from ...native.c_structures import numpy_function
from .. import capture
from ..builtin import at_hand, make_launcher
from ..hand_written import HandWrittenKernel
from ..memory.arrays import scalar
from ..mode import NATIVE
from ..plan.forms import with_sizes
from ..plan.spaces import around
from .complex_parts import from_parts, parts_of_array
from .writing import tell, writers

Array = np.ndarray[Any, Any]

_ndarray = np.ndarray
_NEW_FROM_DESCRIPTOR_SLOT = 94  # places in NumPy's C API table, fixed by its ABI
_SET_BASE_SLOT = 282


@functools.lru_cache(maxsize=1)
def _native_view() -> Callable[..., Array]:
    table = ViewTable()
    table.new_from_descriptor = numpy_function(_NEW_FROM_DESCRIPTOR_SLOT)
    table.set_base = numpy_function(_SET_BASE_SLOT)
    table.array_type = id(np.ndarray)
    return make_launcher("strided_view", table, "strided_view", "array_launch")


class _View:
    """Calls the launcher, which is found at the first call."""

    __slots__ = ("launch",)

    def __init__(self) -> None:
        self.launch: Callable[..., Array] = self._find

    def _find(self, array: Array, shape: Any, strides: Any, offset: int) -> Array:
        if not at_hand("strided_view", "array_launch"):
            return view_at(array, shape, strides, offset)
        self.launch = _native_view()
        return self.launch(array, shape, strides, offset)


_view = _View()


def strided_view(
    array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> Array:
    """A view of the memory around ``array``; strides and offset (from its first element) in bytes.

    The caller answers for all elements lying in memory that ``array`` keeps alive.
    """
    if array.__class__ is not _ndarray and (where := foreign(array)) is not None:
        return where.view(array, shape, strides, offset)
    if not NATIVE or len(shape) > VIEW_DIMENSIONS:
        return view_at(array, shape, strides, offset)
    return _view.launch(array, shape, strides, offset)


class _Interface:
    """An object that NumPy makes an array of, without a compiler."""

    def __init__(self, base: Array, description: dict[str, Any]):
        self.base = base
        self.__array_interface__ = description


def view_at(
    array: Array, shape: Any, strides: Any, offset: int, dtype: np.dtype[Any] | None = None
) -> Array:
    """A view of the memory of an array, ``offset`` bytes from its first element."""
    if (where := foreign(array)) is not None:
        made = where.view(array, shape, strides, offset)
        return made if dtype is None or dtype == array.dtype else made.view(dtype)
    description = {
        "version": 3, "shape": shape, "strides": strides,
        "typestr": (array.dtype if dtype is None else dtype).str,
        "data": (array.ctypes.data + offset, not array.flags.writeable),
    }  # fmt: skip
    return np.asarray(_Interface(array, description))


# --- elements chosen by indices -------------------------------------------------------------------

_GRAIN = 32768  # elements that are worth a thread of their own


@functools.cache
def _kernel(name: str) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.indexing.reads", name)


@functools.cache
def _writing(name: str) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.indexing.writes", name, updates=1)


@functools.cache
def _of_bags(name: str, kind: np.dtype[Any], writes: int) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.indexing.bags", f"{name}_bags_{name_of(kind)}", writes=writes)


def _grain(work: int) -> int:
    """Rows that are worth a thread, for rows of ``work`` elements."""
    return max(_GRAIN // max(work, 1), 1)


def gather(array: Array, dim: int, index: Array) -> Array:
    """``array`` at the indices of int64 ``index``, each along ``dim``; all in range."""
    if (where := foreign(array)) is not None:
        return where.gather(array, dim, index)
    if not (array.ndim and index.ndim):
        return gather(np.atleast_1d(array), dim, np.atleast_1d(index)).reshape(index.shape)
    if array.dtype.kind == "c":
        return from_parts(gather(parts_of_array(array), dim, _for_parts(index)))
    array, index = np.ascontiguousarray(_cut(array, dim, index)), np.ascontiguousarray(index)
    output = np.empty(index.shape, array.dtype)
    _, size, inner = around(array.shape, dim)
    outer, count, _ = around(index.shape, dim)
    from_numpy(array.dtype)  # raises for objects, whose addresses no kernel may copy
    kernel = _kernel(f"gather_{array.itemsize}")
    kernel(outer * count, _grain(inner), output, array, index, size, count, inner)
    return output


def _for_parts(index: Array) -> Array:
    """Indices of complex elements, for both of their parts."""
    return np.broadcast_to(index[..., None], (*index.shape, 2))


def _cut(array: Array, dim: int, index: Array) -> Array:
    """``array`` down to the sizes of ``index`` in all dimensions but ``dim``."""
    if array.shape == index.shape:
        return array
    key = [slice(size) for size in index.shape]
    if key:
        key[dim] = slice(None)
    return array[tuple(key)]


def index_select(array: Array, dim: int, index: Array) -> Array:
    """The entries of one dimension at the indices of a vector of int64; all in range."""
    if (where := foreign(array)) is not None:
        return where.index_select(array, dim, index)
    if array.dtype.kind == "c":
        return from_parts(index_select(parts_of_array(array), dim, index))
    array, index = np.ascontiguousarray(array), np.ascontiguousarray(index)
    outer, size, inner = around(array.shape, dim)
    output = np.empty(with_sizes(array.shape, dim, index.size), array.dtype)
    from_numpy(array.dtype)
    kernel = _kernel(f"index_select_{array.itemsize}")
    count = index.size
    kernel(outer * count, _grain(inner), output, array, index, size, count, inner)
    return output


def sum_bags(table: Array, index: Array, starts: Array, padding: int) -> Array:
    """Sums of the rows of a table of floats at the indices of each bag; all in range.

    Bag b has the indices from ``starts[b]`` to ``starts[b + 1]``; ``padding`` counts for nothing.
    """
    output = np.empty((starts.size - 1, table.shape[1]), table.dtype)
    _run_on_bags("sum", (output,), table, index, starts, padding)
    return output


def max_bags(table: Array, index: Array, starts: Array, padding: int) -> tuple[Array, Array]:
    """Maxima of the same rows, and the rows that they come from: 0 and -1 where there are none."""
    shape = starts.size - 1, table.shape[1]
    made = np.empty(shape, table.dtype), np.empty(shape, np.int64)
    _run_on_bags("max", made, table, index, starts, padding)
    return made


def _run_on_bags(
    name: str, made: tuple[Array, ...], table: Array, index: Array, starts: Array, padding: int
) -> None:
    table, width = np.ascontiguousarray(table), table.shape[1]
    index, starts = np.ascontiguousarray(index), np.ascontiguousarray(starts)
    bags = starts.size - 1
    grain = _grain(index.size // max(bags, 1) * width)
    kernel = _of_bags(name, table.dtype, len(made))
    kernel(bags, grain, *made, table, index, starts, width, padding)


def scatter_add(output: Array, dim: int, index: Array, source: Array) -> None:
    """Add ``source`` to ``output`` at the indices of ``index`` along ``dim``, in their order."""
    if (where := foreign(output)) is not None:
        capture.write(where.scatter_add, output, dim, index, source)
        return
    if writers["scatter_add"](output, dim, index, source):
        return
    if not (output.ndim and index.ndim):
        output, index, source = np.atleast_1d(output, index, source)
    if source.shape != index.shape:
        source = source[tuple([slice(size) for size in index.shape])]
    if output.dtype.kind == "b":
        capture.write(_add_at, output, _positions(output.shape, dim, index), source)
        return
    if output.dtype.kind == "c":
        scatter_add(parts_of_array(output), dim, _for_parts(index), parts_of_array(source))
        return
    part = _cut(output, dim, index)
    dense = np.ascontiguousarray(part)
    index, source = np.ascontiguousarray(index), np.ascontiguousarray(source)
    outer, count, inner = around(index.shape, dim)
    size = dense.shape[dim] if dense.ndim else 1
    kernel = _writing(f"scatter_sum_{name_of(output.dtype)}")
    kernel(outer * inner, _grain(count), dense, source, index, size, count, inner, 1)
    tell("scatter_add", output.dtype, kernel)
    if dense is not part:
        part[...] = dense


def index_add(output: Array, dim: int, index: Array, source: Array) -> None:
    """Add the entries of one dimension of ``source`` to those of ``output`` at the indices."""
    if (where := foreign(output)) is not None:
        capture.write(where.index_add, output, dim, index, source)
        return
    if writers["index_add"](output, dim, index, source):
        return
    if output.dtype.kind == "b":
        capture.write(_add_at, output, (*(slice(None),) * dim, index), source)
        return
    if output.dtype.kind == "c":
        index_add(parts_of_array(output), dim, index, parts_of_array(source))
        return
    dense = np.ascontiguousarray(output)
    index, source = np.ascontiguousarray(index), np.ascontiguousarray(source)
    outer, size, inner = around(dense.shape, dim)
    kernel = _writing(f"scatter_rows_sum_{name_of(output.dtype)}")
    count = index.size
    kernel(outer * inner, _grain(count), dense, source, index, size, count, inner, 1)
    tell("index_add", output.dtype, kernel)
    if dense is not output:
        output[...] = dense.reshape(output.shape)


def scatter(output: Array, dim: int, index: Array, source: Any) -> None:
    """Write ``source``, or a number, to ``output`` at the indices of ``index`` along ``dim``.

    Of several elements for one place the last is written.
    """
    if not (output.ndim and index.ndim):
        output, index = np.atleast_1d(output, index)
        source = np.atleast_1d(source) if isinstance(source, np.ndarray) else source
    if isinstance(source, np.ndarray) and source.ndim and source.shape != index.shape:
        source = source[tuple([slice(size) for size in index.shape])]
    part = _cut(output, dim, index)
    _write_at("scatter", output, part, dim, index, source)


def scatter_rows(output: Array, dim: int, index: Array, source: Any) -> None:
    """Write the entries of one dimension of ``source``, or a number, to those at the indices."""
    _write_at("scatter_rows", output, output, dim, index, source)


def _write_at(name: str, output: Array, part: Array, dim: int, index: Array, source: Any) -> None:
    """Run a kernel that writes a part of an array at indices."""
    if isinstance(source, np.ndarray) and writers[name](part, dim, index, source):
        return
    if output.dtype.kind == "c":  # parts are indexed as one element of two numbers
        _write_parts(name, part, dim, index, source)
        return
    dense = np.ascontiguousarray(part)
    if not isinstance(source, np.ndarray):
        source = scalar(source, output.dtype)
    step = int(source.ndim > 0)
    from_numpy(output.dtype)  # raises for objects, whose addresses no kernel may copy
    index, source = np.ascontiguousarray(index), np.ascontiguousarray(source)
    outer, size, inner = around(dense.shape, dim)
    count = around(index.shape, dim)[1] if name == "scatter" else index.size
    kernel = _writing(f"{name}_{output.itemsize}")
    kernel(outer * inner, _grain(count), dense, source, index, size, count, inner, step)
    tell(name, output.dtype, kernel)
    if dense is not part:
        part[...] = dense


def _write_parts(name: str, output: Array, dim: int, index: Array, source: Any) -> None:
    source = np.asarray(source, output.dtype)
    spread = _for_parts(index) if name == "scatter" else index
    whole = list(output.shape)
    if name == "scatter":
        whole = list(index.shape)
    else:
        whole[dim] = index.size
    parts = parts_of_array(np.broadcast_to(source, whole).copy())
    target = parts_of_array(output)
    _write_at(name, target, target, dim, spread, parts)


def reduce(output: Array, dim: int, index: Array, source: Array, how: str) -> None:
    """Reduce ``source`` into ``output`` by "prod", "amax" or "amin" at the indices along ``dim``.

    An index that is repeated along all other dimensions chooses rows.
    """
    if source.shape != index.shape:
        source = source[tuple([slice(size) for size in index.shape])]
    part = _cut(output, dim, index)
    if output.dtype.kind == "b":
        part, source = part.view(np.uint8), source.view(np.uint8)
    dense, source = np.ascontiguousarray(part), np.ascontiguousarray(source)
    outer, count, inner = around(index.shape, dim)
    size = dense.shape[dim]
    rows = rows_of(index, dim)
    name = "scatter" if rows is None else "scatter_rows"
    index = np.ascontiguousarray(index if rows is None else rows)
    kernel = _writing(f"{name}_{how}_{name_of(dense.dtype)}")
    kernel(outer * inner, _grain(count), dense, source, index, size, count, inner, 1)
    if dense is not part:
        part[...] = dense


def rows_of(index: Array, dim: int) -> Array | None:
    """The vector that an array of indices repeats along all dimensions but one, if it does."""
    steps = [s for d, s in enumerate(index.strides) if d != dim]
    if index.ndim == 1 or any(steps) or not index.size:
        return None
    return index[tuple([slice(None) if d == dim else 0 for d in range(index.ndim)])]


def _positions(shape: tuple[int, ...], dim: int, index: Array) -> tuple[Array, ...]:
    """The index arrays that mean ``index`` along ``dim``."""
    positions = list(np.ogrid[tuple([slice(size) for size in index.shape])]) if shape else []
    if positions:
        positions[dim] = index
    return tuple(positions)


def _add_at(output: Array, key: Any, source: Array) -> None:
    if output.dtype.kind == "V":  # bfloat16, of which NumPy makes no sums
        sums = half.readable(output)
        _add_at(sums, key, half.readable(source))
        half.copy_into(output, sums)
        return
    add = np.logical_or if output.dtype.kind == "b" else np.add
    if output.ndim == 0:
        output[...] = add.reduce(np.append(source.ravel(), output))
    else:
        add.at(output, key, source)
