"""Rows of elements, copied and cleared, as LLVM IR for any vector width.

Used by ``copies`` for lines of images on their way into scratch memory and out of it; imported only
to compile. Strides and distances count elements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...codegen.addresses import load_element, store_element
from ...codegen.vector_emitter import (
    WORD,
    Emitter,
    TileShape,
    Values,
    as_primitive,
    emitted_function,
)

_FLAG = ir.IntType(1)


def _load_seconds(emit: Emitter, pointer: Any, left: Any) -> Any:
    """Every second element, as many as are left or a vector has lanes."""
    lanes = emit.shape.lanes
    spanned = emit.builder.sub(emit.times(left, 2), emit.word(1))
    parts = [emit.load(emit.at(pointer, k), emit.mask(spanned, k)) for k in (0, lanes)]
    return emit.shuffle(*parts, range(0, 2 * lanes, 2))


def _store_seconds(emit: Emitter, value: Any, pointer: Any, left: Any) -> None:
    """Write every second element, as many as are left or a vector has lanes."""
    lanes = emit.shape.lanes
    spanned = emit.builder.sub(emit.times(left, 2), emit.word(1))
    seconds = ir.Constant(ir.VectorType(_FLAG, lanes), [1, 0] * (lanes // 2))
    for k in (0, lanes):
        spread = emit.shuffle(value, value, [(k + lane) // 2 for lane in range(lanes)])
        mask = emit.builder.and_(seconds, emit.mask(spanned, k))
        emit.store(spread, emit.at(pointer, k), mask)


def _is_nan(emit: Emitter, value: Any) -> Any:
    return emit.builder.fcmp_unordered("uno", value, value)


class _Rows:
    """Loops over rows of elements; ``arguments`` are those of ``copy_rows``."""

    def __init__(self, emit: Emitter, *arguments: Any):
        self.emit = emit
        self.rows, self.columns = arguments[:2]
        self.target, self.target_row, self.target_step = arguments[2:5]
        self.source, self.source_row, self.source_step, self.added = arguments[5:]

    def _loop(self, seen: Any, row: Callable[[Any, Any, Any], Any]) -> Any:
        """Each row: ``row(target, source, seen)`` returns what was seen so far."""

        def step(index: Any, at: Values) -> Values:
            target, source, seen = at
            seen = row(target, source, seen)
            strides = (self.target_row, self.source_row)
            return [*self.emit.advance([target, source], strides, 1), seen]

        return self.emit.loop(self.rows, 1, [self.target, self.source, seen], step)[2]

    def _note(self, seen: Any) -> None:
        """Write 1 behind the added element where NaN was seen."""
        with self.emit.builder.if_then(seen):
            flag = self.emit.builder.gep(self.added, [self.emit.word(1)], source_etype=WORD)
            self.emit.builder.store(self.emit.word(1), flag, align=8)

    def vectors(self, source_step: int, target_step: int) -> None:
        """By vectors, for steps of which one may be 2."""
        emit, builder, lanes = self.emit, self.emit.builder, self.emit.shape.lanes
        number = emit.splat(emit.read(self.added))

        def vector(whole: bool, index: Any, at: Values) -> Values:
            target, source, seen = at
            left = emit.minimum(builder.sub(self.columns, index), emit.word(lanes))
            mask = None if whole else emit.mask(left)
            if source_step == 2:
                value = _load_seconds(emit, source, left)
            else:
                value = emit.load(source, mask)
            value = builder.fadd(value, number)
            if target_step == 2:
                _store_seconds(emit, value, target, left)
            else:
                emit.store(value, target, mask)
            seen = builder.or_(seen, _is_nan(emit, value))
            steps = (target_step * lanes, source_step * lanes)
            return [*emit.advance([target, source], steps, 1), seen]

        whole = emit.whole(self.columns, lanes)
        rest = builder.sub(self.columns, whole)

        def row(target: Any, source: Any, seen: Any) -> Any:
            at = emit.loop(whole, lanes, [target, source, seen], functools.partial(vector, True))

            def last(index: Any, at: Values) -> Values:
                return vector(False, whole, at)

            return emit.loop(rest, lanes, at, last)[2]

        nothing = ir.Constant(ir.VectorType(_FLAG, lanes), None)
        seen = self._loop(nothing, row)
        self._note(emit._call(f"llvm.vector.reduce.or.v{lanes}i1", _FLAG, [seen]))

    def elements(self) -> None:
        """Element by element, for any steps."""
        emit, builder = self.emit, self.emit.builder
        number = emit.read(self.added)

        def element(index: Any, at: Values) -> Values:
            target, source, seen = at
            value = builder.fadd(emit.read(source), number)
            builder.store(value, target, align=emit.shape.bytes)
            steps = (self.target_step, self.source_step)
            seen = builder.or_(seen, _is_nan(emit, value))
            return [*emit.advance([target, source], steps, 1), seen]

        def row(target: Any, source: Any, seen: Any) -> Any:
            return emit.loop(self.columns, 1, [target, source, seen], element)[2]

        self._note(self._loop(ir.Constant(_FLAG, 0), row))


def _copy_rows(module: ir.Module, shape: TileShape) -> Any:
    def write(emit, *arguments):
        rows, builder = _Rows(emit, *arguments), emit.builder

        def steps_are(source_step: int, target_step: int) -> Any:
            return builder.and_(
                builder.icmp_signed("==", rows.source_step, emit.word(source_step)),
                builder.icmp_signed("==", rows.target_step, emit.word(target_step)),
            )

        after = builder.append_basic_block("copied")
        for steps in ((1, 1), (2, 1), (1, 2)):
            chosen, other = builder.append_basic_block("by"), builder.append_basic_block("other")
            builder.cbranch(steps_are(*steps), chosen, other)
            builder.position_at_end(chosen)
            rows.vectors(*steps)
            builder.branch(after)
            builder.position_at_end(other)
        rows.elements()
        builder.branch(after)
        builder.position_at_end(after)

    return emitted_function(module, "window_rows", shape, "iipiipiip", write)


def copy_rows(shape: TileShape) -> Any:
    """``(rows, columns, target, target_row, target_step, source, source_row, source_step, added)``.

    Rows of elements that lie steps apart, copied. ``added`` is the address of an element that is
    added to each; the word behind it becomes 1 where a sum is NaN.
    """

    def body(rows, columns, target, target_row, target_step, source, source_row, source_step,
             added):  # fmt: skip
        number = load_element(added, 0, shape.dtype)
        for row in range(rows):
            for column in range(columns):
                position = source_row * row + column * source_step
                value = load_element(source, position, shape.dtype) + number
                position = row * target_row + column * target_step
                store_element(target, position, value, shape.dtype)
                if value != value:
                    store_element(added, 1, 1, "int64")

    return as_primitive("copy_rows", "iipiipiip", lambda m: _copy_rows(m, shape), body)


def _clear(module: ir.Module, shape: TileShape) -> Any:
    def write(emit, count, target):
        whole = emit.whole(count, shape.lanes)
        rest = emit.builder.sub(count, whole)

        def vector(mask: Any, index: Any, at: Values) -> Values:
            emit.store(emit.zero(), at[0], mask)
            return emit.advance(at, (shape.lanes,), 1)

        at = emit.loop(whole, shape.lanes, [target], functools.partial(vector, None))
        emit.loop(rest, shape.lanes, at, functools.partial(vector, emit.mask(rest)))

    return emitted_function(module, "window_clear", shape, "ip", write)


def clear(shape: TileShape) -> Any:
    """``(count, target)``: so many zeros."""

    def body(count, target):
        for position in range(count):
            store_element(target, position, 0, shape.dtype)

    return as_primitive("clear", "ip", lambda module: _clear(module, shape), body)
