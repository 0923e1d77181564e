"""The launcher that writes elements of one ndarray into another at the places that an index names.

``executor/families/writing.py`` installs it as a builtin for each kind of write. It does the
ordinary case, contiguous arrays apart from each other and indices in range, and returns None for
all others, which are left to Python. Imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import int64, load, subroutine
from .copying import in_range, is_index, is_plain, nothing, product, rank_of, size_of
from .launch import is_captured, run_range, type_number
from .layout import TYPES
from .object_heads import ArrayHead
from .objects import long_as_long, new_reference
from .write_layout import WriteArguments, WriteTable

NULL = 0


@subroutine
def is_apart(array, other, array_bytes, other_bytes):
    """Whether two arrays of so many bytes have no memory in common."""
    start, other_start = ArrayHead(array).data, ArrayHead(other).data
    return start + array_bytes <= other_start or other_start + other_bytes <= start


@subroutine
def fits(output, dim, index, source, rank, of_rows):
    """Whether each index has an element, or entry, of the source, and a place in the output."""
    if rank_of(source) != rank:
        return False
    if of_rows != 0:
        if rank_of(index) != 1 or size_of(index, 0) != size_of(source, dim):
            return False
    else:
        if rank_of(index) != rank:
            return False
        for d in range(rank):
            if size_of(index, d) != size_of(source, d):
                return False
    for d in range(rank):
        if d != dim and size_of(source, d) != size_of(output, d):
            return False
    return True


def write_at(self, arguments, given):
    """``builtin(output, dim, index, source) -> True``: None where nothing was written."""
    table = WriteTable(ArrayHead(self).data)
    runtime = table.runtime
    output, index = load(arguments, 0, int64), load(arguments, 2, int64)
    source = load(arguments, 3, int64)
    if not (is_plain(runtime, output) and is_plain(runtime, source)) or is_captured(runtime):
        return nothing(runtime)
    code = type_number(output)
    if code != type_number(source) or code >= TYPES or not is_index(runtime, index):
        return nothing(runtime)
    kernel = table.kernels[code]
    dim, rank = long_as_long(load(arguments, 1, int64)), rank_of(output)
    if dim < 0:
        dim += rank
    if kernel == NULL or dim < 0 or dim >= rank:
        return nothing(runtime)
    if not fits(output, dim, index, source, rank, table.of_rows):
        return nothing(runtime)
    size, count = size_of(output, dim), size_of(source, dim)
    outer, inner = product(output, 0, dim), product(output, dim + 1, rank)
    indices = product(index, 0, rank_of(index))
    item = runtime.item_sizes[code]
    whole = outer * size * inner * item
    if not in_range(index, indices, size):
        return nothing(runtime)
    if not is_apart(output, source, whole, outer * count * inner * item):
        return nothing(runtime)
    if not is_apart(output, index, whole, indices * 8):
        return nothing(runtime)
    frame = WriteArguments()
    frame.output = ArrayHead(output).data
    frame.source = ArrayHead(source).data
    frame.index = ArrayHead(index).data
    frame.size = size
    frame.count = count
    frame.inner = inner
    frame.step = 1
    run_range(runtime, kernel, frame, outer * inner, max(table.grain // max(count, 1), 1))
    return new_reference(runtime.true)
