"""Copies of operands of the matrix product in the order in which its micro-kernels read them.

Used by ``matmul`` where the strides of an operand would cost more than the copy; imported only to
compile. Panels of A and of B have the same form: ``depth`` runs of ``width`` elements.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ...codegen.addresses import load_element, store_element
from ...codegen.vector_emitter import (
    POINTER,
    Emitter,
    TileShape,
    Values,
    as_primitive,
    emitted_function,
)


def transposed(emit: Emitter, vectors: Values) -> Values:
    """Transpose the squares that lie beside each other in as many vectors as a square has rows.

    A square fills 16 bytes of each vector: what CPUs interleave in one instruction, and what LLVM
    takes the least time to find. Its halves are interleaved, level by level.
    """
    side, lanes = len(vectors), emit.shape.lanes
    half = side // 2
    low = [s + lane for s in range(0, lanes, side) for i in range(half) for lane in (i, lanes + i)]
    high = [lane + half for lane in low]
    for _ in range(side.bit_length() - 1):
        vectors = [
            emit.shuffle(vectors[i], vectors[i + half], order)
            for i in range(half)
            for order in (low, high)
        ]
    return vectors


def joined(emit: Emitter, parts: Values) -> Any:
    """One vector of the elements of several, in order."""
    while len(parts) > 1:
        lanes = range(2 * parts[0].type.count)
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [emit.shuffle(first, second, lanes) for first, second in pairs]
    return parts[0]


def _transpose_runs(module: ir.Module, shape: TileShape) -> Any:
    """Write up to ``lanes`` arrays that are contiguous along the depth beside each other.

    The depth is a multiple of ``shape.side``. Whole vectors are written; the last array is repeated
    where there are fewer.
    """
    lanes, side = shape.lanes, shape.side

    def write(emit, count, depth, target, source, across, width):
        builder = emit.builder
        # A table of the arrays: LLVM would look for a pattern in so many pointers, at some length.
        starts = builder.alloca(ir.ArrayType(POINTER, lanes))
        last = builder.sub(count, emit.word(1))

        def add_start(index: Any, at: Values) -> Values:
            position = builder.gep(starts, [emit.word(0), index])
            builder.store(at[0], position)
            following = builder.icmp_signed("<", index, last)
            return [emit.at(at[0], builder.select(following, across, emit.word(0)))]

        emit.loop(emit.word(lanes), 1, [source], add_start, True)

        def squares(index: Any, at: Values) -> Values:
            loaded = []
            for r in range(lanes):
                position = builder.gep(starts, [emit.word(0), emit.word(r)])
                start = builder.load(position, typ=POINTER)
                loaded.append(emit.load(emit.at(start, index), None, side))
            vectors = [joined(emit, loaded[r::side]) for r in range(side)]
            positions = emit.steps(at[0], width, side + 1)
            for vector, position in zip(transposed(emit, vectors), positions, strict=False):
                emit.store(vector, position)
            return positions[side:]

        emit.loop(depth, side, [target], squares)

    return emitted_function(module, "transpose", shape, "iippii", write)


def _pack(module: ir.Module, shape: TileShape) -> Any:
    """Pack ``count`` arrays of ``depth`` elements into panels of ``width`` arrays.

    A panel is at most two vectors wide; the target needs room for ``shape.slack`` more runs.
    """
    lanes = shape.lanes

    def write(emit, count, depth, target, source, across, step, width):
        builder = emit.builder
        one = emit.word(1)

        def copy(size: Any, to: Any, start: Any) -> None:
            """Contiguous runs. Whole vectors are written: the next run overwrites any excess."""
            masks = [emit.mask(size), emit.mask(size, lanes)]

            def run(index: Any, at: Values) -> Values:
                to, start = at
                for j, mask in enumerate(masks):
                    emit.store(emit.load(emit.at(start, j * lanes), mask), emit.at(to, j * lanes))
                return emit.advance(at, (width, step), 1)

            emit.loop(depth, 1, [to, start], run, True)

        def transpose(size: Any, to: Any, start: Any) -> Any:
            """As much of the depth as is whole squares; returns how much that is."""
            whole = emit.whole(depth, shape.side)

            def part(index: Any, at: Values) -> Values:
                arguments = [builder.sub(size, index), whole, *at, across, width]
                builder.call(_transpose_runs(module, shape), arguments)
                return emit.advance(at, (1, across), lanes)

            emit.loop(size, lanes, [to, start], part, True)
            return whole

        def by_element(size: Any, to: Any, start: Any, done: Any) -> None:
            to, start = emit.advance([to, start], [builder.mul(x, done) for x in (width, step)], 1)

            def element(index: Any, at: Values) -> Values:
                to, start = at
                builder.store(emit.read(start), to, align=shape.bytes)
                return emit.advance(at, (1, across), 1)

            def run(index: Any, at: Values) -> Values:
                emit.loop(size, 1, at, element, True)
                return emit.advance(at, (width, step), 1)

            emit.loop(builder.sub(depth, done), 1, [to, start], run)

        def panel(index: Any, at: Values) -> Values:
            to, start = at
            size = emit.minimum(width, builder.sub(count, index))
            with builder.if_else(builder.icmp_signed("==", across, one)) as (copying, otherwise):
                with copying:
                    copy(size, to, start)
                with otherwise:
                    before = builder.block
                    with builder.if_then(builder.icmp_signed("==", step, one)):
                        whole = transpose(size, to, start)
                        after = builder.block
                    (done,) = emit.joined([([emit.word(0)], before), ([whole], after)])
                    by_element(size, to, start, done)
            panel_size, panel_stride = builder.mul(width, depth), builder.mul(width, across)
            return [emit.at(to, panel_size), emit.at(start, panel_stride)]

        emit.loop(count, width, [target, source], panel, True)

    return emitted_function(module, "pack", shape, "iippiii", write)


def _pack_rows(module: ir.Module, shape: TileShape) -> Any:
    """Pack rows of A into panels of the tallest tile each, ``shape.panel_a`` wide.

    Where rows lie beside each other, all that a line of the cache has of them is read at once: the
    lines of a large matrix are pages apart.
    """
    tallest, lanes = shape.heights[0], shape.lanes

    def write(emit, rows, depth, target, source, across, step):
        builder = emit.builder
        width = emit.word(shape.panel_a)
        panel_size = builder.mul(width, depth)

        def left_of(index: Any) -> Any:
            return emit.minimum(emit.word(tallest), builder.sub(rows, index))

        def run(index: Any, at: Values) -> Values:
            def panel(index: Any, at: Values) -> Values:
                to, start = at
                size = left_of(index)
                for offset in range(0, shape.panel_a, lanes):
                    vector = emit.load(emit.at(start, offset), emit.mask(size, offset))
                    emit.store(vector, emit.at(to, offset), emit.mask(width, offset))
                return [emit.at(to, panel_size), emit.at(start, tallest)]

            emit.loop(rows, tallest, at, panel, True)
            return emit.advance(at, (width, step), 1)

        def apart(index: Any, at: Values) -> Values:
            arguments = [left_of(index), depth, *at, across, step, width]
            builder.call(_pack(module, shape), arguments)
            return emit.advance(at, (panel_size, emit.times(across, tallest)), 1)

        at = [target, source]
        with builder.if_else(builder.icmp_signed("==", across, emit.word(1))) as (beside, not_):
            with beside:
                emit.loop(depth, 1, at, run, True)
            with not_:
                emit.loop(rows, tallest, at, apart, True)

    return emitted_function(module, "pack_rows", shape, "iippii", write)


def pack_rows(shape: TileShape) -> Any:
    """``(rows, depth, target, source, across, step)``: see ``_pack_rows``."""

    def body(rows, depth, target, source, across, step):
        for row in range(rows):
            panel, position = divmod(row, shape.heights[0])
            for k in range(depth):
                value = load_element(source, row * across + k * step, shape.dtype)
                store_element(
                    target, (panel * depth + k) * shape.panel_a + position, value, shape.dtype
                )

    return as_primitive("pack_rows", "iippii", lambda module: _pack_rows(module, shape), body)


def pack_panels(shape: TileShape) -> Any:
    """``(count, depth, target, source, across, step, width)``: see ``_pack``.

    Panels of B have ``width`` columns, panels of A ``width`` rows; ``across`` is the stride from
    one to the next, ``step`` the stride along the depth.
    """

    def body(count, depth, target, source, across, step, width):
        for number in range(count):
            panel, position = divmod(number, width)
            for k in range(depth):
                value = load_element(source, number * across + k * step, shape.dtype)
                store_element(target, (panel * depth + k) * width + position, value, shape.dtype)

    return as_primitive("pack_panels", "iippiii", lambda module: _pack(module, shape), body)
