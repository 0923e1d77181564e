"""The comparison of a line of elements with the largest ones so far, as LLVM IR with masks.

Used by ``pooling`` for float32 and float64; imported only to compile. Lines of images are often
shorter than a vector, and then a loop that LLVM makes into vectors runs element by element.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..codegen.addresses import load_element, store_element
from ..codegen.vector_emitter import (
    POINTER,
    WORD,
    Emitter,
    TileShape,
    Values,
    as_primitive,
    emitted_function,
)

_LANE = ir.IntType(32)


def _spaced(emit: Emitter, source: Any, count: Any, step: Any, mask: Any, steps: Any) -> Any:
    """``count`` elements, ``step`` apart; ``steps`` has the distance of each from the first."""
    builder, lanes = emit.builder, emit.shape.lanes
    found: list[tuple[Values, ir.Block]] = []
    after = builder.append_basic_block("loaded")

    def branch(distance: int) -> Any:
        chosen, other = builder.append_basic_block("step"), builder.append_basic_block("other")
        builder.cbranch(builder.icmp_signed("==", step, emit.word(distance)), chosen, other)
        builder.position_at_end(chosen)
        return other

    def take(vector: Any, other: Any) -> None:
        found.append(([vector], builder.block))
        builder.branch(after)
        if other is not None:
            builder.position_at_end(other)

    other = branch(1)
    take(emit.load(source, mask), other)
    other = branch(2)
    spanned = builder.sub(emit.times(count, 2), emit.word(1))
    parts = [emit.load(emit.at(source, k), emit.mask(spanned, k)) for k in (0, lanes)]
    take(emit.shuffle(*parts, range(0, 2 * lanes, 2)), other)
    places = builder.gep(source, [steps], source_etype=emit.shape.element)
    # llvmlite takes the result of this instruction for a single pointer; it is one for each lane.
    places.type = ir.VectorType(POINTER, lanes)
    element = "f32" if emit.shape.bytes == 4 else "f64"
    gathered = emit._call(
        f"llvm.masked.gather.v{lanes}{element}.v{lanes}p0", emit.shape.vector,
        [places, ir.Constant(_LANE, emit.shape.bytes), mask, emit.zero()],
    )  # fmt: skip
    take(gathered, None)
    builder.position_at_end(after)
    return emit.joined(found)[0]


def _compare(module: ir.Module, shape: TileShape) -> Any:
    lanes = shape.lanes
    numbers = ir.VectorType(WORD, lanes)
    kind = f"v{lanes}i64"

    def write(emit, count, step, source, place, best, places):
        builder = emit.builder
        iota = ir.Constant(numbers, list(range(lanes)))
        eight = ir.Constant(_LANE, 8)

        def vector(index: Any, at: Values) -> Values:
            source_at, best_at, places_at = at
            left = emit.minimum(builder.sub(count, index), emit.word(lanes))
            mask = emit.mask(left)
            steps = builder.mul(iota, emit.splat(step))
            value = _spaced(emit, source_at, left, step, mask, steps)
            before = emit.load(best_at, mask)
            where = emit._call(
                f"llvm.masked.load.{kind}.p0", numbers,
                [places_at, eight, mask, ir.Constant(numbers, None)],
            )  # fmt: skip
            first = builder.add(place, builder.mul(index, step))
            here = builder.add(emit.splat(first), steps)
            larger = builder.or_(
                builder.fcmp_ordered(">", value, before),
                builder.fcmp_unordered("uno", value, value),
            )
            emit.store(builder.select(larger, value, before), best_at, mask)
            emit._call(
                f"llvm.masked.store.{kind}.p0", ir.VoidType(),
                [builder.select(larger, here, where), places_at, eight, mask],
            )  # fmt: skip
            following = builder.gep(places_at, [emit.word(lanes)], source_etype=WORD)
            return [emit.at(source_at, emit.times(step, lanes)), emit.at(best_at, lanes), following]

        emit.loop(count, lanes, [emit.at(source, place), best, places], vector)

    return emitted_function(module, "compare_line", shape, "iipipp", write)


def compare_line(shape: TileShape) -> Any:
    """``(count, step, source, place, best, places)``: keep what is larger, and where it is.

    Element ``i`` of ``best`` and ``places`` is compared with that at ``place + i * step`` of the
    source. NaN is larger than any number.
    """

    def body(count, step, source, place, best, places):
        for i in range(count):
            value = load_element(source, place + i * step, shape.dtype)
            if value > load_element(best, i, shape.dtype) or value != value:
                store_element(best, i, value, shape.dtype)
                store_element(places, i, place + i * step, "int64")

    return as_primitive("compare_line", "iipipp", lambda m: _compare(m, shape), body)
