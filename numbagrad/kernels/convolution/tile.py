"""Micro-kernels of products that read windows where they lie, as LLVM IR for any vector width.

Used by ``product`` and ``weights``; imported only to compile. A window is a table of distances:
each element of a kernel is that many elements behind the position. Vectors run along positions, and
whole ones are read, also behind the last position. Strides and distances count elements, and no
size is 0.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir

from ...codegen.addresses import fused_multiply_add, load_element, store_element
from ...codegen.vector_emitter import (
    WORD,
    Emitter,
    TileShape,
    Values,
    as_primitive,
    emitted_function,
)
from ..matmul.tile import _fold, _write


def _tile_widths(shape: TileShape) -> dict[int, int]:
    """Heights of tiles of sums, and how many vectors wide each is: what fits the registers."""
    if shape.heights[0] == 12:
        return {12: 2, 8: 2, 6: 4, 4: 4, 2: 8, 1: 8}
    return {6: 2, 4: 2, 2: 4, 1: 4}


def _distance(emit: Emitter, table: Any, index: int = 0) -> Any:
    """An entry of a table of distances."""
    position = emit.builder.gep(table, [emit.word(index)], source_etype=WORD)
    return emit.builder.load(position, align=8, typ=WORD)


def _sums_tile(module: ir.Module, shape: TileShape, height: int, vectors: int) -> Any:
    """Sums for ``height`` rows of weights at so many vectors of positions."""

    def write(emit, depth, a, a_row, b, table, c, c_row, accumulate):
        builder, lanes = emit.builder, shape.lanes
        offsets = [0, a_row, emit.times(a_row, 2)][:height]
        bases = emit.steps(a, emit.times(a_row, 3), -(-height // 3))

        def step(index: Any, carried: Values) -> Values:
            *a_at, entry = carried[: len(bases) + 1]
            sums = carried[len(bases) + 1 :]
            window = emit.at(b, _distance(emit, entry))
            loaded = [emit.load(emit.at(window, j * lanes)) for j in range(vectors)]
            totals: Values = []
            for r in range(height):
                factor = emit.splat(emit.read(emit.at(a_at[r // 3], offsets[r % 3])))
                for vector in loaded:
                    totals.append(emit.multiply_add(factor, vector, sums[len(totals)]))
            following = [emit.apart(emit.at(base, 1)) for base in a_at]
            after = builder.gep(entry, [emit.word(1)], source_etype=WORD)
            return [*following, after, *totals]

        zeros = [emit.zero()] * (height * vectors)
        sums = emit.loop(depth, 1, [*bases, table, *zeros], step, True)[len(bases) + 1 :]
        positions = [
            emit.at(start, j * lanes)
            for start in emit.steps(c, c_row, height)
            for j in range(vectors)
        ]
        before = builder.block
        with builder.if_then(accumulate):
            added = [
                builder.fadd(emit.load(position), value)
                for value, position in zip(sums, positions, strict=True)
            ]
            adding = builder.block
        sums = emit.joined([(sums, before), (added, adding)])
        for value, position in zip(sums, positions, strict=True):
            emit.store(value, position)

    return emitted_function(module, f"window_sums_{height}x{vectors}", shape, "ipipppib", write)


def _sums(module: ir.Module, shape: TileShape) -> Any:
    """Sums for any number of rows and whole vectors of positions, by rows of tiles."""

    def write(emit, rows, columns, depth, a, a_row, b, table, c, c_row, accumulate):
        builder, lanes = emit.builder, shape.lanes

        def row_of_tiles(height: int, vectors: int, index: Any, pointers: Values) -> Values:
            a, c = pointers

            def tile(count: int, index: Any, at: Values) -> Values:
                b_at, c_at = at
                arguments = [depth, a, a_row, b_at, table, c_at, c_row, accumulate]
                builder.call(_sums_tile(module, shape, height, count), arguments)
                return emit.advance(at, (count * lanes, count * lanes), 1)

            whole = emit.whole(columns, vectors * lanes)
            at = emit.loop(whole, vectors * lanes, [b, c], functools.partial(tile, vectors))
            rest = builder.sub(columns, whole)
            emit.loop(rest, lanes, at, functools.partial(tile, 1))
            return emit.advance(pointers, (a_row, c_row), height)

        pointers, left = [a, c], rows
        for height, vectors in _tile_widths(shape).items():
            covered = emit.whole(left, height)
            by_tiles = functools.partial(row_of_tiles, height, vectors)
            pointers = emit.loop(covered, height, pointers, by_tiles)
            left = builder.sub(left, covered)

    return emitted_function(module, "window_sums", shape, "iiipipppib", write)


def multiply_windows(shape: TileShape) -> Any:
    """``(rows, columns, depth, a, a_row, b, table, c, c_row, accumulate)``.

    ``c[r, q] = sum over k of a[r, k] * b[q + table[k]]``, or that added to c. The columns are a
    whole number of vectors.
    """

    def body(rows, columns, depth, a, a_row, b, table, c, c_row, accumulate):
        distances = [load_element(table, k, "int64") for k in range(depth)]
        for row in range(rows):
            for column in range(columns):
                total = np.dtype(shape.dtype).type(0)
                for k in range(depth):
                    first = load_element(a, row * a_row + k, shape.dtype)
                    second = load_element(b, column + distances[k], shape.dtype)
                    total = _added(shape, first, second, total)
                _write_element(shape, c, row * c_row + column, total, accumulate)

    return as_primitive("multiply_windows", "iiipipppib", lambda m: _sums(m, shape), body)


# ------------------------------------------------------------------------------------------------
# Dot products of rows of positions with windows


def _dot_widths(shape: TileShape) -> dict[int, int]:
    """Heights of tiles of dot products, and how many elements of a kernel wide each is."""
    return {6: 4, 4: 4, 2: 8, 1: 8} if shape.heights[0] == 12 else {2: 4, 1: 4}


def _dot_tile(module: ir.Module, shape: TileShape, height: int, width: int) -> Any:
    """Dot products of ``height`` rows with windows at so many distances, over several images."""

    def write(emit, count, images, a, a_row, a_image, b, b_image, table, c, c_row, accumulate):
        lanes = shape.lanes
        distances = [_distance(emit, table, j) for j in range(width)]

        def image(index: Any, carried: Values) -> Values:
            a_at, b_at, *sums = carried
            a_rows = emit.steps(a_at, a_row, height)
            windows = [emit.at(b_at, distance) for distance in distances]

            def step(index: Any, sums: Values) -> Values:
                columns = [emit.load(emit.at(window, index)) for window in windows]
                totals: Values = []
                for row in a_rows:
                    vector = emit.load(emit.at(row, index))
                    for column in columns:
                        totals.append(emit.multiply_add(vector, column, sums[len(totals)]))
                return totals

            sums = emit.loop(count, lanes, sums, step, True)
            return [emit.at(a_at, a_image), emit.at(b_at, b_image), *sums]

        zeros = [emit.zero()] * (height * width)
        sums = emit.loop(images, 1, [a, b, *zeros], image, True)[2:]
        group = max(1, lanes // width)  # rows whose products fit in one vector
        rows = []
        for r in range(0, height, group):
            count = min(group, height - r)
            products = _fold(emit, sums[r * width :][: count * width], lanes)
            for i in range(count):
                numbers = range(i * width, (i + 1) * width)
                rows.append([emit.shuffle(products, products, numbers)])
        _write(emit, rows, [None], c, c_row, accumulate)

    return emitted_function(module, f"window_dots_{height}x{width}", shape, "iipiipippib", write)


def _dots(module: ir.Module, shape: TileShape) -> Any:
    """Dot products of any number of rows with any number of distances, by rows of tiles."""

    def write(emit, rows, columns, count, images, a, a_row, a_image, b, b_image, table, c, c_row,
              accumulate):  # fmt: skip
        builder = emit.builder

        def row_of_tiles(height: int, widest: int, index: Any, pointers: Values) -> Values:
            a, c = pointers

            def tile(width: int, index: Any, at: Values) -> Values:
                entry, c_at = at
                arguments = [count, images, a, a_row, a_image, b, b_image, entry, c_at, c_row,
                             accumulate]  # fmt: skip
                builder.call(_dot_tile(module, shape, height, width), arguments)
                after = builder.gep(entry, [emit.word(width)], source_etype=WORD)
                return [after, emit.at(c_at, width)]

            whole = emit.whole(columns, widest)
            at = emit.loop(whole, widest, [table, c], functools.partial(tile, widest))
            emit.loop(builder.sub(columns, whole), 1, at, functools.partial(tile, 1))
            return emit.advance(pointers, (a_row, c_row), height)

        pointers, left = [a, c], rows
        for height, widest in _dot_widths(shape).items():
            covered = emit.whole(left, height)
            by_tiles = functools.partial(row_of_tiles, height, min(widest, shape.lanes))
            pointers = emit.loop(covered, height, pointers, by_tiles)
            left = builder.sub(left, covered)

    return emitted_function(module, "window_dots", shape, "iiiipiipippib", write)


def multiply_window_dots(shape: TileShape) -> Any:
    """``(rows, columns, count, images, a, a_row, a_image, b, b_image, table, c, c_row,
    accumulate)``.

    ``c[r, k] = sum over images i and q < count of a[i, r, q] * b[i, q + table[k]]``, or that added
    to c. The count is a whole number of vectors.
    """

    def body(rows, columns, count, images, a, a_row, a_image, b, b_image, table, c, c_row,
             accumulate):  # fmt: skip
        for row in range(rows):
            for column in range(columns):
                distance = load_element(table, column, "int64")
                total = np.dtype(shape.dtype).type(0)
                for i in range(images):
                    for q in range(count):
                        first = load_element(a, i * a_image + row * a_row + q, shape.dtype)
                        second = load_element(b, i * b_image + q + distance, shape.dtype)
                        total = _added(shape, first, second, total)
                _write_element(shape, c, row * c_row + column, total, accumulate)

    return as_primitive("multiply_window_dots", "iiiipiipippib", lambda m: _dots(m, shape), body)


def _added(shape: TileShape, first: Any, second: Any, total: Any) -> Any:
    return fused_multiply_add(first, second, total) if shape.fused else first * second + total


def _write_element(shape: TileShape, c: int, position: int, total: Any, accumulate: bool) -> None:
    if accumulate:
        total = load_element(c, position, shape.dtype) + total
    store_element(c, position, total, shape.dtype)
