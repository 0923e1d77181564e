"""Products of bfloat16 by the instruction that adds two products to a float32 at once.

CPUs with AVX512-BF16 have it (``Target.multiplies_bfloat16``); it does twice the work of a fused
multiply-add of float32. ``pack_pairs`` copies both operands, two neighbours along the depth in a
word, in panels; ``multiply`` sums all of the depth in registers and rounds once, at the store.
Called by ``executor/families/bfloat16_products.py``; imported only to compile.

The instruction takes subnormal numbers for zeros, as torch's products of bfloat16 do on such CPUs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from ...codegen.addresses import load_element, store_element
from ...codegen.intrinsics import bfloat16, float32, int16, int32, load, store
from ...codegen.kernel import kernel, variable
from ...codegen.record import Word
from ...codegen.vector_emitter import (
    POINTER,
    Emitter,
    TileShape,
    Values,
    as_primitive,
    emitted_function,
)
from ..packing import Arguments, Elements
from .layout import PAIR_COLUMNS, PAIR_ROWS
from .packing import joined, transposed
from .problem import quotient, smaller

_LANES = PAIR_COLUMNS // 2
_HEIGHTS = (PAIR_ROWS, 8, 4)
_PAIR, _ELEMENT = ir.IntType(32), ir.IntType(16)
_SHAPE = TileShape(ir.FloatType(), _LANES, (*_HEIGHTS, 1), (1,), True)


class _BFloat(ir.types.Type):
    """LLVM's type of bfloat16, which llvmlite does not have."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash("bfloat")


_FLOATS = ir.VectorType(ir.FloatType(), _LANES)
_PAIRS = ir.VectorType(_PAIR, _LANES)
_HALVES = ir.VectorType(_BFloat(), 2 * _LANES)
_NARROW = ir.VectorType(_ELEMENT, _LANES)

#: Kinds of the arguments of ``multiply_pairs``.
_KINDS = "iiipiippi"


def _called(emit: Emitter, name: str, returned: ir.Type, arguments: Values) -> Any:
    """A call of an intrinsic of LLVM."""
    known = emit.builder.module.globals.get(name)
    if known is None:
        signature = ir.FunctionType(returned, [value.type for value in arguments])
        known = ir.Function(emit.builder.module, signature, name)
    return emit.builder.call(known, arguments)


def _rounded(emit: Emitter, value: Any) -> Any:
    """A vector of float32 as the nearest of bfloat16, of two the even ones; NaN stays NaN."""
    builder = emit.builder

    def each(number: int) -> ir.Constant:
        return ir.Constant(_PAIRS, [number] * _LANES)

    pattern = builder.bitcast(value, _PAIRS)
    odd = builder.and_(builder.lshr(pattern, each(16)), each(1))
    high = builder.lshr(builder.add(pattern, builder.add(odd, each(0x7FFF))), each(16))
    is_number = builder.fcmp_ordered("ord", value, value)
    return builder.trunc(builder.select(is_number, high, each(0x7FC0)), _NARROW)


def _tile(module: ir.Module, height: int, vectors: int, rounds: bool) -> Any:
    """Up to ``height`` rows by so many vectors of C; ``rows`` and ``columns`` of it are there."""

    def write(emit, rows, columns, pairs, a, a_row, a_step, b, c, c_row):
        builder = emit.builder
        last = builder.sub(rows, emit.word(1))
        starts = [emit.at(a, builder.mul(emit.minimum(emit.word(r), last), a_row))
                  for r in range(height)]  # fmt: skip

        def step(index: Any, carried: Values) -> Values:
            offset, b_at, *sums = carried
            positions = [emit.at(b_at, j * _LANES) for j in range(vectors)]
            loaded = [builder.load(position, typ=_PAIRS, align=4) for position in positions]
            multiplied = [builder.bitcast(value, _HALVES) for value in loaded]
            totals: Values = []
            for r in range(height):
                pair = builder.load(emit.at(starts[r], offset), typ=_PAIR, align=2)
                factor = builder.bitcast(emit.splat(pair), _HALVES)
                for vector in multiplied:
                    operands = [sums[len(totals)], factor, vector]
                    name = "llvm.x86.avx512bf16.dpbf16ps.512"
                    totals.append(_called(emit, name, _FLOATS, operands))
            return [builder.add(offset, a_step), emit.at(b_at, PAIR_COLUMNS), *totals]

        zeros = [emit.zero()] * (vectors * height)
        sums = emit.loop(pairs, 1, [emit.word(0), b, *zeros], step, True)[2:]
        masks = [emit.mask(columns, j * _LANES) for j in range(vectors)]
        element = _ELEMENT if rounds else ir.FloatType()
        for r in range(height):
            with builder.if_then(builder.icmp_signed(">", rows, emit.word(r))):
                for j, mask in enumerate(masks):
                    position = builder.add(emit.times(c_row, r), emit.word(j * _LANES))
                    value = sums[vectors * r + j]
                    if rounds:
                        value = _rounded(emit, value)
                    kind = "i16" if rounds else "f32"
                    _called(
                        emit, f"llvm.masked.store.v{_LANES}{kind}.p0", ir.VoidType(),
                        [value, builder.gep(c, [position], source_etype=element),
                         ir.Constant(_PAIR, 2 if rounds else 4), mask],
                    )  # fmt: skip

    name = f"pairs_{height}x{vectors}{'_rounded' if rounds else ''}"
    return emitted_function(module, name, _SHAPE, _KINDS, write)


def _tiles(module: ir.Module, rounds: bool) -> Any:
    """A tile of the least size that has the rows and columns."""

    def write(emit, rows, columns, *others):
        builder = emit.builder
        arguments = [rows, columns, *others]
        narrow = builder.icmp_signed("<=", columns, emit.word(_LANES))
        for height, lower in zip(_HEIGHTS, (*_HEIGHTS[1:], 0), strict=True):
            fits = builder.and_(
                builder.icmp_signed(">", rows, emit.word(lower)),
                builder.icmp_signed("<=", rows, emit.word(height)),
            )
            with builder.if_then(fits), builder.if_else(narrow) as (one, two):
                with one:
                    builder.call(_tile(module, height, 1, rounds), arguments)
                with two:
                    builder.call(_tile(module, height, 2, rounds), arguments)

    name = f"pair_tiles{'_rounded' if rounds else ''}"
    return emitted_function(module, name, _SHAPE, _KINDS, write)


def multiply_pairs(rounds: bool) -> Any:
    """``(rows, columns, pairs, a, a_row, a_step, b, c, c_row)``: up to 12 × 32 elements of C.

    B is a panel; the strides of A are those of pairs.
    """

    def body(rows, columns, pairs, a, a_row, a_step, b, c, c_row):
        kind = "bfloat16" if rounds else "float32"
        for row in range(rows):
            for column in range(columns):
                total = np.float32(0)
                for k in range(2 * pairs):
                    pair, half = divmod(k, 2)
                    first = load_element(a, 2 * (pair * a_step + row * a_row) + half, "bfloat16")
                    second = load_element(b, 2 * (pair * PAIR_COLUMNS + column) + half, "bfloat16")
                    total = first * second + total
                store_element(c, row * c_row + column, total, kind)

    return as_primitive("multiply_pairs", _KINDS, lambda module: _tiles(module, rounds), body)


# ------------------------------------------------------------------------------------------------
# Copies of operands


def _interleave(module: ir.Module) -> Any:
    """Pairs of rows of ``count`` elements beside each other, two of these for each of ``pairs``."""

    def write(emit, count, pairs, target, source, step, width):
        builder = emit.builder
        masks = [(emit.mask(count, j * _LANES), emit.mask(width, j * _LANES)) for j in range(2)]
        none, sixteen = ir.Constant(_NARROW, None), ir.Constant(_PAIRS, [16] * _LANES)

        wide = builder.icmp_signed(">", width, emit.word(_LANES))

        def part(to: Any, at: Any, following: Any, j: int) -> None:
            there, kept = masks[j]
            position = ir.Constant(ir.IntType(64), j * _LANES)
            words = []
            for start in (at, following):
                start = builder.gep(start, [position], source_etype=_ELEMENT)
                name = f"llvm.masked.load.v{_LANES}i16.p0"
                given = [start, ir.Constant(_PAIR, 2), there, none]
                words.append(builder.zext(_called(emit, name, _NARROW, given), _PAIRS))
            pair = builder.or_(words[0], builder.shl(words[1], sixteen))
            emit.store(builder.bitcast(pair, _FLOATS), emit.at(to, j * _LANES), kept)

        def row(index: Any, pointers: Values) -> Values:
            to, at = pointers
            following = builder.gep(at, [step], source_etype=_ELEMENT)
            part(to, at, following, 0)
            with builder.if_then(wide):
                part(to, at, following, 1)
            after = builder.gep(following, [step], source_etype=_ELEMENT)
            return [emit.at(to, width), after]

        emit.loop(pairs, 1, [target, source], row)

    return emitted_function(module, "interleave", _SHAPE, "iippii", write)


def interleave_rows() -> Any:
    """``(count, pairs, target, source, step, width)``: see ``_interleave``; the rest is zero."""

    def body(count, pairs, target, source, step, width):
        for k in range(pairs):
            for i in range(width):
                for half in range(2):
                    value = 0
                    if i < count:
                        value = load_element(source, (2 * k + half) * step + i, "int16")
                    store_element(target, 2 * (k * width + i) + half, value, "int16")

    return as_primitive("interleave_rows", "iippii", _interleave, body)


def _transpose(module: ir.Module) -> Any:
    """Four pairs at a time of up to sixteen arrays that are contiguous along the depth.

    The last array is repeated where there are fewer, up to ``width`` of them, which is 12 or 16.
    """
    square = ir.VectorType(ir.FloatType(), 4)

    def write(emit, count, pairs, target, source, across, pitch, width):
        builder = emit.builder
        starts = builder.alloca(ir.ArrayType(POINTER, _LANES))
        last = builder.sub(count, emit.word(1))
        for r in range(_LANES):
            position = builder.mul(emit.minimum(emit.word(r), last), across)
            start = builder.gep(source, [position], source_etype=_ELEMENT)
            builder.store(start, builder.gep(starts, [emit.word(0), emit.word(r)]))
        kept = emit.mask(width)

        def squares(index: Any, at: Values) -> Values:
            loaded = []
            for r in range(_LANES):
                start = builder.load(builder.gep(starts, [emit.word(0), emit.word(r)]), typ=POINTER)
                loaded.append(builder.load(emit.at(start, index), typ=square, align=2))
            vectors = [joined(emit, loaded[r::4]) for r in range(4)]
            positions = emit.steps(at[0], pitch, 5)
            for vector, position in zip(transposed(emit, vectors), positions, strict=False):
                emit.store(vector, position, kept)
            return positions[4:]

        emit.loop(pairs, 4, [target], squares)

    return emitted_function(module, "transpose_pairs", _SHAPE, "iippiii", write)


def transpose_pairs() -> Any:
    """``(count, pairs, target, source, across, pitch, width)``: see ``_transpose``.

    The number of pairs is a multiple of four, and ``pitch`` the distance of their runs.
    """

    def body(count, pairs, target, source, across, pitch, width):
        for k in range(pairs):
            for i in range(width):
                for half in range(2):
                    at = min(i, count - 1) * across + 2 * k + half
                    value = load_element(source, at, "int16")
                    store_element(target, 2 * (k * pitch + i) + half, value, "int16")

    return as_primitive("transpose_pairs", "iippiii", _transpose, body)


_interleave_rows, _transpose_pairs = interleave_rows(), transpose_pairs()


class Packed(Arguments):
    """Arguments of ``pack_pairs``."""

    target = Elements(int32)  # (batch, panels, pairs, width)
    source = Elements(bfloat16)
    count = Word()  # of rows of A, or columns of B
    depth = Word()
    across = Word()  # the stride from one of these to the next, in elements
    step = Word()  # the stride along the depth
    batch_step = Word()
    width = Word()  # of a panel


@kernel(takes=Packed)
def pack_pairs(args, lo, hi):
    """Panels of an operand: pairs of neighbours along the depth; a unit is a panel.

    What is behind an odd depth is zero. What is missing in the last panel is anything: it takes no
    part in what is stored.
    """
    given = Packed(args)
    count, depth, across, step = given.count, given.depth, given.across, given.step
    width = given.width
    panels, pairs = quotient(count + width - 1, width), quotient(depth + 1, 2)
    for unit in range(lo, hi):
        batch = quotient(unit, panels)
        first = (unit - batch * panels) * width
        some = smaller(width, count - first)
        source = given.source + (batch * given.batch_step + first * across) * 2
        target = given.target + unit * pairs * width * 4
        done = 0
        if across == 1:
            done = quotient(depth, 2)
            _interleave_rows(some, done, target, source, step, width)
        elif step == 1:
            done = quotient(depth, 8) * 4
            for i in range(0, some, _LANES):
                _transpose_pairs(smaller(some - i, _LANES), done, target + i * 4,
                                 source + i * across * 2, across, width,
                                 smaller(width, _LANES))  # fmt: skip
        for k in range(done, pairs):
            at, to = source + k * step * 4, target + k * width * 4
            for i in range(some):
                store(to, 2 * i, load(at, i * across, int16), int16)
                if 2 * k + 1 < depth:
                    store(to, 2 * i + 1, load(at, i * across + step, int16), int16)
                else:
                    store(to, 2 * i + 1, 0, int16)
            for i in range(some, width):
                store(to, i, 0, int32)


class Multiplied(Arguments):
    """Arguments of ``multiply``."""

    c = Elements(variable("element"))  # contiguous
    a = Elements(int32)
    b = Elements(int32)
    rows = Word()
    columns = Word()
    pairs = Word()
    a_row = Word()  # pairs from one row to the next: 1 in panels, more where A is read in place
    a_step = Word()  # and along the depth
    a_batch = Word()  # pairs from one matrix of a batch to the next, or 0
    b_batch = Word()
    block = Word()  # panels of B that stay in the second-level cache


multiply_tile, size = variable("multiply_tile"), variable("size")


@kernel(
    takes=Multiplied,
    variants={
        "bfloat16": lambda: {
            "element": bfloat16, "size": 2, "multiply_tile": multiply_pairs(True)
        },
        "float32": lambda: {
            "element": float32, "size": 4, "multiply_tile": multiply_pairs(False)
        },
    },
)  # fmt: skip
def multiply(args, lo, hi):
    """C = A @ B of packed operands; a unit is twelve rows by a block of columns of one matrix.

    A may also lie as it was given, with its rows contiguous and an even depth.
    """
    given = Multiplied(args)
    rows, columns, pairs, block = given.rows, given.columns, given.pairs, given.block
    row_panels = quotient(rows + PAIR_ROWS - 1, PAIR_ROWS)
    panels = quotient(columns + PAIR_COLUMNS - 1, PAIR_COLUMNS)
    blocks = quotient(panels + block - 1, block)
    a_row, a_step = given.a_row, given.a_step
    further = pairs if a_row == 1 else a_row  # from a panel to the next, for each row
    for unit in range(lo, hi):
        of_columns = quotient(unit, row_panels)
        row_panel = unit - of_columns * row_panels
        batch = quotient(of_columns, blocks)
        first = (of_columns - batch * blocks) * block
        row = row_panel * PAIR_ROWS
        a = given.a + (batch * given.a_batch + row * further) * 4
        b = given.b + (batch * given.b_batch) * 4
        for panel in range(first, smaller(panels, first + block)):
            column = panel * PAIR_COLUMNS
            c = given.c + ((batch * rows + row) * columns + column) * size
            multiply_tile(
                smaller(PAIR_ROWS, rows - row), smaller(PAIR_COLUMNS, columns - column), pairs, a,
                a_row, a_step, b + column * pairs * 4, c, columns,
            )  # fmt: skip
