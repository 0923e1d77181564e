"""Products whose depth threads share: where pieces write, and how they are added up.

Used by ``matmul``, hence imported only to compile. A piece is a block of the depth, or all of it.
The first one writes C, as the whole does; each of the others fills a matrix of its own. Threads
count the elements of a few rows that are done. Who completes them adds them up while the rest of
the product still runs: in the order of the blocks, so to the bits of a product that is not shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...codegen.addresses import load_element, store_element
from ...codegen.atomics import atomic_store, fetch_add
from ...codegen.intrinsics import subroutine
from ...codegen.vector_emitter import Emitter, TileShape, Values, as_primitive, emitted_function
from .layout import C_ROW, COUNTERS, JOINED_ROWS, PARTIALS, PIECES, C, M, N
from .problem import matrix_at, quotient, smaller, word

#: The number of the piece that is all of the depth.
WHOLE = -1


@subroutine
def block_length(depth, largest):
    """The depth of all blocks but the last, which has what is left; at most the largest."""
    blocks = quotient(depth + largest - 1, largest)
    return quotient(depth + blocks - 1, blocks)


@subroutine
def rows_to_join(row):
    """How many rows, from a row on, are joined together with it."""
    return JOINED_ROWS - (row - quotient(row, JOINED_ROWS) * JOINED_ROWS)


@subroutine
def first_row(args, piece, row, row_end):
    """The row that a piece begins with, of those it has: another one for each piece.

    If all began with the same, the thread that is behind would join all rows.
    """
    if piece <= 0:
        return row
    rows = row_end - row
    start = row + quotient(rows * piece, word(args, PIECES))
    start -= JOINED_ROWS - rows_to_join(start)
    return start if start > row else row


@subroutine
def _partial(args, number, size):
    return word(args, PARTIALS) + number * word(args, M) * word(args, N) * size


@subroutine
def result_at(args, piece, size, batch):
    """Address of the matrix that a piece writes."""
    if piece > 0:
        return _partial(args, piece - 1, size)
    return matrix_at(args, C, size, batch)


@subroutine
def result_row(args, piece):
    """Elements from one row of that matrix to the next."""
    if piece > 0:
        return word(args, N)
    return word(args, C_ROW)


def hand_in_rows(shape: TileShape, finish: Callable[..., None]) -> Any:
    """The subroutine that is called when a piece of some rows is done.

    ``finish(args, batch, row, row_end, column, columns)`` is called for rows that are complete.
    """
    size, add = shape.bytes, add_matrices(shape)

    @subroutine
    def hand_in(args, row, row_end, columns):
        """The rows are of those that are joined at once."""
        group = quotient(row, JOINED_ROWS)
        first, width, pieces = group * JOINED_ROWS, word(args, N), word(args, PIECES)
        last = smaller(word(args, M), first + JOINED_ROWS)
        counter = args + 8 * (word(args, COUNTERS) + group)
        done = (row_end - row) * columns
        if fetch_add(counter, done) + done == (last - first) * width * pieces:
            atomic_store(counter, 0)
            c_row = word(args, C_ROW)
            c = matrix_at(args, C, size, 0) + first * c_row * size
            partial = _partial(args, 0, size) + first * width * size
            add(last - first, width, c, c_row, pieces - 1, partial, word(args, M) * width)
            finish(args, 0, first, last, 0, width)

    return hand_in


def _add_matrices(module: ir.Module, shape: TileShape) -> Any:
    lanes = shape.lanes

    def write(emit: Emitter, rows, columns, c, c_row, count, partial, step):
        whole = emit.whole(columns, lanes)
        rest = emit.builder.sub(columns, whole)

        def vector(mask: Any, index: Any, at: Values) -> Values:
            position, first = at

            def add(_: Any, carried: Values) -> Values:
                total, source = carried
                added = emit.builder.fadd(total, emit.load(source, mask))
                return [added, emit.at(source, step)]

            (total, _) = emit.loop(count, 1, [emit.load(position, mask), first], add, True)
            emit.store(total, position, mask)
            return emit.advance(at, (lanes, lanes), 1)

        def row(index: Any, at: Values) -> Values:
            positions = emit.loop(whole, lanes, at, lambda *x: vector(None, *x))
            emit.loop(rest, lanes, positions, lambda *x: vector(emit.mask(rest), *x))
            return emit.advance(at, (c_row, columns), 1)

        emit.loop(rows, 1, [c, partial], row, True)

    return emitted_function(module, "add_matrices", shape, "iipiipi", write)


def add_matrices(shape: TileShape) -> Any:
    """``(rows, columns, c, c_row, count, partial, step)``: add several matrices to c, in order.

    They are contiguous; ``step`` is the distance from one to the next, and ``count`` is not 0.
    """

    def body(rows, columns, c, c_row, count, partial, step):
        for row in range(rows):
            for column in range(columns):
                total = load_element(c, row * c_row + column, shape.dtype)
                for number in range(count):
                    position = number * step + row * columns + column
                    total = total + load_element(partial, position, shape.dtype)
                store_element(c, row * c_row + column, total, shape.dtype)

    return as_primitive(
        "add_matrices", "iipiipi", lambda module: _add_matrices(module, shape), body
    )
