"""The search for the largest elements of a line of windows, by vectors of windows.

Used by ``pooling``; imported only to compile. A vector of windows goes through the places of the
kernel with its largest elements in registers, by masks: lines of images are often shorter than a
vector, and padding is what a mask leaves out. What has no vectors is searched window by window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...codegen.intrinsics import int64, load, store, subroutine
from ...codegen.vector_emitter import (
    POINTER,
    WORD,
    Emitter,
    TileShape,
    Values,
    as_primitive,
    emitted_function,
)

_LANE = ir.IntType(32)
_FLAG = ir.IntType(1)

#: Parameters of a search, in the letters of ``emitted_function``; ``plain_search`` names them.
_KINDS = "ipiiiiiiiiiip"


class _Search:
    """The loops of a search, for windows that are a known distance apart, or any."""

    def __init__(self, emit: Emitter, stride: int | None, *arguments: Any):
        self.emit, self.known = emit, stride
        self.count, self.base, self.row, self.layers, self.layer_step = arguments[:5]
        self.lines, self.line_step, self.columns, self.column_step = arguments[5:9]
        self.x, self.stride, self.width, self.positions = arguments[9:]
        lanes = emit.shape.lanes
        self.wide = ir.VectorType(WORD, lanes)
        numbers = ir.Constant(self.wide, list(range(lanes)))
        self.steps = emit.builder.mul(numbers, emit.splat(self.stride))

    def _inside(self, x: Any, offset: int) -> Any:
        """Lanes whose element, so far behind ``x`` in all, lies on the line."""
        emit, builder, most = self.emit, self.emit.builder, 2 * self.emit.shape.lanes
        before = emit.minimum(builder.sub(emit.word(0), x), emit.word(most))
        negative = builder.icmp_signed("<", x, emit.word(0))
        before = builder.select(negative, before, emit.word(0))
        end = builder.sub(self.width, x)
        none = builder.icmp_signed("<", end, emit.word(0))
        end = builder.select(none, emit.word(0), emit.minimum(end, emit.word(most)))
        return builder.and_(emit.mask(end, offset), builder.not_(emit.mask(before, offset)))

    def _elements(self, line: Any, x: Any) -> tuple[Any, Any]:
        """The element of each window at a place of the kernel, and whether there is one."""
        emit, builder, lanes = self.emit, self.emit.builder, self.emit.shape.lanes
        start = emit.at(emit.at(self.base, line), x)
        if self.known == 1:
            inside = self._inside(x, 0)
            return emit.load(start, inside), inside
        if self.known == 2:
            masks = [self._inside(x, k) for k in (0, lanes)]
            parts = [emit.load(emit.at(start, k), masks[k > 0]) for k in (0, lanes)]
            seconds = range(0, 2 * lanes, 2)
            return emit.shuffle(*parts, seconds), emit.shuffle(*masks, seconds)
        columns = builder.add(emit.splat(x), self.steps)
        inside = builder.and_(
            builder.icmp_signed(">=", columns, ir.Constant(self.wide, None)),
            builder.icmp_signed("<", columns, emit.splat(self.width)),
        )
        positions = builder.gep(start, [self.steps], source_etype=emit.shape.element)
        # llvmlite takes the result of this instruction for a single pointer, not one for each lane.
        positions.type = ir.VectorType(POINTER, lanes)
        element = "f32" if emit.shape.bytes == 4 else "f64"
        width = ir.Constant(_LANE, emit.shape.bytes)
        name = f"llvm.masked.gather.v{lanes}{element}.v{lanes}p0"
        found = emit._call(name, emit.shape.vector, [positions, width, inside, emit.zero()])
        return found, inside

    def _position(self, line: Any, x: Any, state: Values) -> Values:
        """Keep what is larger, and where it is."""
        emit, builder = self.emit, self.emit.builder
        best, where, seen = state
        value, inside = self._elements(line, x)
        larger = builder.fcmp_ordered(">", value, best)
        larger = builder.or_(larger, builder.fcmp_unordered("uno", value, value))
        larger = builder.and_(builder.or_(larger, builder.not_(seen)), inside)
        here = builder.add(emit.splat(builder.add(line, x)), self.steps)
        best, where = builder.select(larger, value, best), builder.select(larger, here, where)
        return [best, where, builder.or_(seen, inside)]

    def _windows(self, x: Any) -> Any:
        """Where the largest elements of a vector of windows are."""
        emit = self.emit

        def column(line: Any) -> Callable[[Any, Values], Values]:
            def step(index: Any, at: Values) -> Values:
                return [
                    emit.builder.add(at[0], self.column_step),
                    *self._position(line, *at[:1], at[1:]),
                ]

            return step

        def line(index: Any, at: Values) -> Values:
            state = emit.loop(self.columns, 1, [x, *at[1:]], column(at[0]))[1:]
            return [emit.builder.add(at[0], self.line_step), *state]

        def layer(index: Any, at: Values) -> Values:
            state = emit.loop(self.lines, 1, at, line)[1:]
            return [emit.builder.add(at[0], self.layer_step), *state]

        nothing = ir.Constant(ir.VectorType(_FLAG, emit.shape.lanes), None)
        state = [emit.zero(), ir.Constant(self.wide, None), nothing]
        return emit.loop(self.layers, 1, [self.row, *state], layer)[2]

    def write(self) -> None:
        """All windows of the line."""
        emit, builder, lanes = self.emit, self.emit.builder, self.emit.shape.lanes
        eight = ir.Constant(_LANE, 8)

        def vector(index: Any, at: Values) -> Values:
            where = self._windows(builder.add(self.x, builder.mul(index, self.stride)))
            mask = emit.mask(emit.minimum(builder.sub(self.count, index), emit.word(lanes)))
            name = f"llvm.masked.store.v{lanes}i64.p0"
            emit._call(name, ir.VoidType(), [where, at[0], eight, mask])
            return [builder.gep(at[0], [emit.word(lanes)], source_etype=WORD)]

        emit.loop(self.count, lanes, [self.positions], vector)


def _search(module: ir.Module, shape: TileShape) -> Any:
    def write(emit, *arguments):
        builder, stride = emit.builder, arguments[10]
        after = builder.append_basic_block("searched")
        for known in (1, 2):
            chosen, other = builder.append_basic_block("by"), builder.append_basic_block("other")
            builder.cbranch(builder.icmp_signed("==", stride, emit.word(known)), chosen, other)
            builder.position_at_end(chosen)
            _Search(emit, known, *arguments).write()
            builder.branch(after)
            builder.position_at_end(other)
        _Search(emit, None, *arguments).write()
        builder.branch(after)
        builder.position_at_end(after)

    return emitted_function(module, "search_line", shape, _KINDS, write)


def plain_search(element: Any) -> Callable[..., None]:
    """``positions[o]`` of ``count`` windows of a line: where the largest element of each is.

    Windows begin at ``x`` in a line so wide, and are a stride apart; the kernel has ``columns`` in
    each of ``lines`` of each of ``layers``, of which the first line begins at element ``row`` of
    the plane ``base``. NaN is larger than any number, and the last one is taken.
    """

    def search(count, base, row, layers, layer_step, lines, line_step, columns, column_step, x,
               stride, width, positions):  # fmt: skip
        for o in range(count):
            best, position = load(base, row, element), -1
            for i in range(layers):
                for j in range(lines):
                    line = row + i * layer_step + j * line_step
                    for k in range(columns):
                        column = x + o * stride + k * column_step
                        if 0 <= column < width:
                            value = load(base, line + column, element)
                            if position < 0 or value > best or value != value:
                                best, position = value, line + column
            store(positions, o, position, int64)

    return search


def search_line(shape: TileShape, element: Any) -> Any:
    """``plain_search`` by vectors."""
    return as_primitive(
        "search_line", _KINDS, lambda module: _search(module, shape), plain_search(element)
    )


def search_windows(element: Any) -> Any:
    """``plain_search`` window by window, for elements that have no vectors here."""
    return subroutine(plain_search(element))
