"""How threads divide a product, for the launcher: compiled when launches first share work."""

from __future__ import annotations

from numba import types

from ...codegen.intrinsics import external, int64, load, store
from ...codegen.kernel import kernel
from .layout import (
    A_COLUMN,
    A_ROW,
    B_COLUMN,
    B_ROW,
    COUNTERS,
    PARTIALS,
    PIECES,
    TERMS,
    WIDTH,
    K,
    M,
    N,
    depth_blocks,
    division,
    equal_width,
    joined_groups,
    least_share,
    possible_pieces,
    unit_columns,
)
from .problem import compiled

_allocate = external("malloc", types.int64, types.int64)

_groups = compiled(joined_groups)
_division = compiled(
    division,
    least_share=compiled(least_share), unit_columns=compiled(unit_columns),
    equal_width=compiled(equal_width),
    possible_pieces=compiled(
        possible_pieces, depth_blocks=compiled(depth_blocks), joined_groups=_groups
    ),
)  # fmt: skip


@kernel("int64(int64, int64, int64, int64, int64)", code="calls")
def divide(args, method, item_size, threads, batch):
    """Write the width of a unit of a packed product, and what it takes to share its depth.

    COUNTERS says where there is room for these. Returns the pieces of the depth, or 0: if there are
    some, PARTIALS is memory that the caller frees.
    """
    rows, columns = load(args, M, int64), load(args, N, int64)
    pieces, width = _division(
        method, rows, columns, load(args, K, int64), 1 + load(args, TERMS, int64), batch,
        load(args, A_COLUMN, int64) > load(args, A_ROW, int64),
        load(args, B_ROW, int64) > load(args, B_COLUMN, int64), item_size, threads,
    )  # fmt: skip
    store(args, WIDTH, width, int64)
    if pieces == 0:
        return 0
    partials = _allocate((pieces - 1) * rows * columns * item_size)
    if partials == 0:
        return 0
    store(args, PARTIALS, partials, int64)
    store(args, PIECES, pieces, int64)
    first = load(args, COUNTERS, int64)
    for group in range(_groups(rows)):
        store(args, first + group, 0, int64)
    return pieces
