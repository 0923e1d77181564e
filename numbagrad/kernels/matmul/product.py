"""``matmul``: the kernels of the matrix product C = A @ B, one for each method and dtype.

Start reading here. The executor compiles them by name (``matmul_tiles_float32``); the launcher
chooses by shapes and strides alone (``layout.method_of``). Imported only to compile.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from ...codegen.intrinsics import int64, store
from ...codegen.kernel import Values, kernel, specialised, variable
from ..packing import Product
from .blocks import build_dots, build_row, build_tiles
from .joining import WHOLE
from .layout import DOTS, PACKS, PIECES, ROW, TILES, UNIT_ROWS, WIDTH, M, N
from .problem import quotient, smaller, word
from .scratch import acquire, aligned, release

#: The methods: their number in ``layout``, and what builds their subroutine for a dtype.
METHODS = {"tiles": (TILES, build_tiles), "dots": (DOTS, build_dots), "row": (ROW, build_row)}

#: The subroutine of a method that computes a rectangle of C (``blocks.Rectangles``).
rectangle = variable("rectangle")

#: Bytes that it wants for what it packs.
scratch_bytes = variable("scratch_bytes")


def values_of(method: str, dtype: str, vector_bits: int | None = None) -> Values:
    """The variables of the text of ``matmul`` for a method and dtype, narrower vectors if asked."""
    number, build = METHODS[method]
    element: Any = getattr(types, dtype)
    return {"method": number, "element": element, **build(element, vector_bits)._asdict()}


@kernel(
    code="calls",
    takes=Product(),
    variants={
        f"{method}_{dtype}": functools.partial(values_of, method, dtype)
        for method in METHODS
        for dtype in ("float32", "float64")
    },
)
def matmul(args, lo, hi):
    """C = A @ B, or the part of C that the units of work ``[lo, hi)`` make up.

    Args:
        args: address of the words that ``layout.py`` describes: addresses of A (m × k), B (k × n)
            and C, their sizes and strides in elements, those of a batch, and what is packed.
        lo, hi: a unit is four rows of C by some columns; ``layout.matmul_units`` says how many
            there are. A range of them is a few rectangles of C, which ``rectangle`` computes.

    The blocking, from the registers out, of the method ``tiles``:

    * A tile of C (up to 12 rows by two vectors) stays in registers while a column of A, broadcast
      straight from its strides, multiplies vectors of B: ``tile.multiply_tiles``.
    * A panel of A (the height of a tile by a block of the depth, 2 kB a row) stays in the
      first-level cache while it passes over a block of B (that depth by 32 vectors of columns),
      which comes from the second-level cache: ``blocks._Blocks``.
    * A block of B, or panels of A, are copied into the order in which tiles read them where their
      strides would cost more than the copy: ``packing``, by ``layout.packs_a`` and ``packs_b``.
    * Blocks of the depth are summed one after another, in order, by the depth alone. So every
      element goes through the same operations wherever its tile lies, and on any number of threads.

    ``dots`` is for operands that are contiguous along the depth: tiles of dot products, which need
    no packing. ``row`` is a single row of A times a matrix with contiguous rows.

    In programs C may be added to, be a sum of several products, and be read by an epilogue: a
    pointwise kernel that is called for each tile of C when it is complete, and still in the cache.

    The gradients of a product are products: dA = dC @ B', dB = A' @ dC, with the transposes as
    strides (``numbagrad/ops/products/matmul.py``).

    Call it with arrays, or step through it with ``py_func``::

        from numbagrad.kernels.matmul.product import matmul

        tiles = matmul["tiles_float32"]
        tiles(a, b, c)                                  # machine code
        args = tiles.pack(a, b, c)
        tiles.py_func(args, 0, args.units)              # the same, line by line

    A first call with an empty range reserves the memory for what is packed; it sets PACKS to 0
    where there is none.
    """
    rows, columns, width = word(args, M), word(args, N), word(args, WIDTH)
    groups = quotient(rows + (UNIT_ROWS - 1), UNIT_ROWS)
    blocks = quotient(columns + width - 1, width)
    buffer = 0
    if scratch_bytes != 0 and word(args, PACKS) != 0:
        buffer = acquire(scratch_bytes, lo < hi)
        if buffer == 0:
            store(args, PACKS, 0, int64)
            return
    pieces, units = word(args, PIECES), groups * blocks
    if pieces != 0 and hi - lo == pieces * units:  # nobody shares
        pieces, hi = 0, units
    while lo < hi:
        piece, first, end = WHOLE, lo, hi
        if pieces != 0:
            piece = quotient(lo, units)
            first = lo - piece * units
            end = smaller(hi - piece * units, units)
        block = quotient(first, groups)
        group = first - block * groups
        batch = quotient(block, blocks)
        block -= batch * blocks
        # Whole blocks of columns where the range covers them, else some rows of one block.
        span = 1
        group_end = smaller(groups, group + end - first)
        if group == 0 and group_end == groups:
            span = smaller(quotient(end - first, groups), blocks - block)
        rectangle(
            args, piece, batch, group * UNIT_ROWS, smaller(rows, group_end * UNIT_ROWS),
            block * width, smaller(columns, (block + span) * width), aligned(buffer),
        )  # fmt: skip
        lo += span * (group_end - group)
    if buffer != 0:
        release(buffer)


def function_of(method: str, dtype: str, vector_bits: int | None = None) -> Any:
    """The Python function of a kernel, for narrower vectors than the host's if asked."""
    return specialised(matmul.py_func, values_of(method, dtype, vector_bits))
