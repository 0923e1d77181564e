"""Launchers that copy elements into a new ndarray: by an index array, and one array after another.

``executor/families/copying.py`` installs them as builtins; those that index run the kernels of
``kernels/indexing/reads.py``. Each does the ordinary case, contiguous arrays and indices in range,
and returns None for all others, which are left to Python. Imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import (
    address_of_stack,
    copy_memory,
    int64,
    load,
    store,
    subroutine,
)
from ..kernels.layout import MAX_DIMENSIONS
from .allocation import new_output
from .array_launch_layout import ALL_IN_A_ROW, ReadArguments, ReadTable
from .launch import is_captured, is_contiguous, run_range, type_number
from .layout import FOREIGN, Runtime
from .object_heads import ArrayHead, ObjectHead
from .objects import list_get_item, list_size, long_as_long, new_reference

NULL = 0
OBJECTS = 17  # NumPy's number of arrays of objects, which no kernel may copy
#: Many blocks of so few elements are not copied one by one.
MOST_BLOCKS, LEAST_OF_BLOCKS = 64, 16
INT64 = (7, 9)  # NumPy's numbers for C's long and long long


@subroutine
def nothing(runtime):
    """None: Python has to do it."""
    return new_reference(runtime.none)


@subroutine
def is_plain(runtime, array):
    """Whether it is a contiguous ndarray of a type that kernels know."""
    if ObjectHead(array).type != runtime.array_type:
        return False
    code = type_number(array)
    return is_contiguous(array) and code != FOREIGN and code != OBJECTS


@subroutine
def rank_of(array):
    return int64(ArrayHead(array).dimensions)


@subroutine
def size_of(array, d):
    return load(ArrayHead(array).shape, d, int64)


@subroutine
def product(array, first, last):
    """Number of elements along the dimensions from ``first`` to before ``last``."""
    count = 1
    for d in range(first, last):
        count *= size_of(array, d)
    return count


# --- by an index ----------------------------------------------------------------------------------


@subroutine
def in_range(index, count, size):
    """Whether ``count`` indices are all in [0, size)."""
    values, last = ArrayHead(index).data, size - 1
    beyond = 0  # negative once an index is, or what is left above one
    whole = count & -4
    for k in range(0, whole, 4):
        a, b = load(values, k, int64), load(values, k + 1, int64)
        c, d = load(values, k + 2, int64), load(values, k + 3, int64)
        beyond |= (a | (last - a)) | (b | (last - b)) | (c | (last - c)) | (d | (last - d))
    for k in range(whole, count):
        at = load(values, k, int64)
        beyond |= at | (last - at)
    return beyond >= 0


@subroutine
def kernel_for(table, array):
    """Address of the kernel for the elements of an array, or 0 if it is not there yet."""
    size = table.runtime.item_sizes[type_number(array)]
    position = 0
    while 1 << position < size:
        position += 1
    return table.kernels[position]


@subroutine
def read(table, array, index, sizes, rank, outer, size, inner, count):
    """A new array of these sizes, filled by the kernel over rows (outer, count)."""
    runtime = table.runtime
    kernel = kernel_for(table, array)
    if kernel == NULL:
        return nothing(runtime)
    output = new_output(runtime, rank, sizes, type_number(array), NULL)
    if output == NULL:
        return NULL
    frame = ReadArguments()
    frame.output = ArrayHead(output).data
    frame.array = ArrayHead(array).data
    frame.index = ArrayHead(index).data
    frame.size = size
    frame.count = count
    frame.inner = inner
    total = outer * count
    grain = max(table.grain // max(inner, 1), 1)
    run_range(runtime, kernel, frame, total, grain)
    return output


@subroutine
def is_index(runtime, index):
    code = type_number(index)
    return is_plain(runtime, index) and (code == INT64[0] or code == INT64[1])


def inside(self, arguments, given):
    """``builtin(index, size) -> bool``: whether all indices are in [0, size)."""
    runtime = Runtime(ArrayHead(self).data)
    index = load(arguments, 0, int64)
    if not is_index(runtime, index):
        return nothing(runtime)
    count = product(index, 0, rank_of(index))
    answer = runtime.false
    if in_range(index, count, long_as_long(load(arguments, 1, int64))):
        answer = runtime.true
    return new_reference(answer)


@subroutine
def can_read(runtime, array, index):
    """Whether this is the ordinary case; a program has its reads as launches of the kernels."""
    return is_plain(runtime, array) and is_index(runtime, index) and not is_captured(runtime)


def read_rows(self, arguments, given):
    """``builtin(array, dim, index) -> ndarray``: a dimension at the indices of an array.

    The dimensions of the index stand in the place of that dimension.
    """
    table = ReadTable(ArrayHead(self).data)
    runtime = table.runtime
    array = load(arguments, 0, int64)
    index = load(arguments, 2, int64)
    if not can_read(runtime, array, index):
        return nothing(runtime)
    dim = long_as_long(load(arguments, 1, int64))
    rank, added = rank_of(array), rank_of(index)
    before = dim
    if dim == ALL_IN_A_ROW:
        before = 0
        dim = rank - 1
    if dim < 0 or dim >= rank or rank + added > MAX_DIMENSIONS:
        return nothing(runtime)
    size = product(array, before, dim + 1)
    count = product(index, 0, added)
    if not in_range(index, count, size):
        return nothing(runtime)
    sizes = address_of_stack(MAX_DIMENSIONS)
    position = 0
    for d in range(before):
        store(sizes, position, size_of(array, d), int64)
        position += 1
    for d in range(added):
        store(sizes, position, size_of(index, d), int64)
        position += 1
    for d in range(dim + 1, rank):
        store(sizes, position, size_of(array, d), int64)
        position += 1
    outer, inner = product(array, 0, before), product(array, dim + 1, rank)
    return read(table, array, index, sizes, position, outer, size, inner, count)


def read_elements(self, arguments, given):
    """``builtin(array, dim, index) -> ndarray``: one element along ``dim`` for each index."""
    table = ReadTable(ArrayHead(self).data)
    runtime = table.runtime
    array = load(arguments, 0, int64)
    index = load(arguments, 2, int64)
    if not can_read(runtime, array, index):
        return nothing(runtime)
    dim = long_as_long(load(arguments, 1, int64))
    rank = rank_of(array)
    if dim < 0 or dim >= rank or rank_of(index) != rank:
        return nothing(runtime)
    for d in range(rank):
        if d != dim and size_of(index, d) != size_of(array, d):
            return nothing(runtime)
    size = size_of(array, dim)
    if not in_range(index, product(index, 0, rank), size):
        return nothing(runtime)
    outer, inner = product(array, 0, dim), product(array, dim + 1, rank)
    sizes = ArrayHead(index).shape
    return read(table, array, index, sizes, rank, outer, size, inner, size_of(index, dim))


# --- one after another ----------------------------------------------------------------------------


@subroutine
def fits(runtime, first, array, dim, stacking):
    """Whether an array can stand behind the first."""
    if not is_plain(runtime, array) or type_number(array) != type_number(first):
        return False
    rank = rank_of(first)
    if rank_of(array) != rank:
        return False
    for d in range(rank):
        if size_of(array, d) != size_of(first, d) and (d != dim or stacking):
            return False
    return True


@subroutine
def copy_blocks(arrays, output, dim, outer, item_size):
    """Fill the output with a block of each array in turn."""
    target = ArrayHead(output).data
    for k in range(outer):
        for n in range(list_size(arrays)):
            array = list_get_item(arrays, n)
            block = product(array, dim, rank_of(array)) * item_size
            copy_memory(target, ArrayHead(array).data + k * block, block)
            target += block


def join(self, arguments, given):
    """``builtin(arrays, dim, stacking) -> ndarray``: the arrays of a list along a dimension.

    With ``stacking`` that is a new dimension.
    """
    runtime = Runtime(ArrayHead(self).data)
    arrays = load(arguments, 0, int64)
    stacking = long_as_long(load(arguments, 2, int64))
    count = list_size(arrays)
    if count == 0:
        return nothing(runtime)
    first = list_get_item(arrays, 0)
    rank = rank_of(first) if is_plain(runtime, first) else -1
    made_rank = rank + stacking
    dim = long_as_long(load(arguments, 1, int64))
    if dim < 0:
        dim += made_rank
    if rank < 0 or dim < 0 or dim >= made_rank or made_rank > MAX_DIMENSIONS:
        return nothing(runtime)
    along = 0
    for n in range(count):
        array = list_get_item(arrays, n)
        if not fits(runtime, first, array, dim, stacking != 0):
            return nothing(runtime)
        along += 1 if stacking else size_of(array, dim)
    outer = product(first, 0, dim)
    if outer > MOST_BLOCKS and product(first, dim, rank) < LEAST_OF_BLOCKS:
        return nothing(runtime)  # NumPy writes elements apart from each other faster
    sizes = address_of_stack(MAX_DIMENSIONS)
    for d in range(made_rank):
        if d == dim:
            store(sizes, d, along, int64)
        else:
            store(sizes, d, size_of(first, d - (stacking if d > dim else 0)), int64)
    code = type_number(first)
    output = new_output(runtime, made_rank, sizes, code, NULL)
    if output != NULL:
        item_size = runtime.item_sizes[code]
        copy_blocks(arrays, output, dim, outer, item_size)
    return output
