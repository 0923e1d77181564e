"""Kernels of recurrent layers: all steps of one layer forward, and back.

``executor/families/recurrent.py`` compiles them by name. A step is a product of the hidden states
with the recurrent weights, which are packed once, and a formula on its rows: the pointwise kernel
that is printed for a kind of cell, called as the epilogues of matrix products are. Imported only
to compile.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from ...codegen.intrinsics import address_of_stack, call_kernel, int64, load, store, subroutine
from ...codegen.kernel import Values, element, kernel, variable
from ...codegen.record import Word
from ...codegen.vector_emitter import tile_shape
from .. import layout
from ..dtypes import dtypes
from ..matmul.layout import TILE_ARGUMENTS, TILE_BATCH, TILE_COLUMN, TILE_COLUMNS, TILE_WORDS
from ..matmul.packing import pack_panels
from ..matmul.problem import quotient, smaller, word
from ..matmul.tile import multiply_tiles
from ..packing import Arguments, Elements, OptionalElements
from .layout import (
    ACCUMULATES,
    ARRAY,
    BACK_FIRST_HIDDEN,
    BACK_HIDDEN,
    BACK_WEIGHTS,
    BEGINNING,
    COLUMN,
    COUNT,
    DEPTH,
    EXTRA,
    FIRST_HIDDEN,
    FORMULA,
    HAS_CELL,
    HIDDEN,
    HIDDEN_GRAD,
    LAST_CELL,
    LAST_HIDDEN,
    OF_ELEMENTS,
    OF_PREVIOUS,
    OF_SEQUENCES,
    OPERAND_WORDS,
    OPERANDS,
    PITCH,
    PLAN,
    PREVIOUS,
    PRODUCT,
    REVERSE,
    ROWS,
    ROWS_APART,
    STEPS,
    WEIGHTS,
    WIDTH,
)

#: Words of a formula with up to so many operands.
_MOST_OPERANDS = 18
_FORMULA_WORDS = layout.ARGUMENT_OPERANDS + _MOST_OPERANDS * layout.OPERAND_WORDS

multiply, pack = variable("multiply"), variable("pack")
panel, tallest, size = variable("panel"), variable("tallest"), variable("size")


def values_of(dtype: str, vector_bits: int | None = None) -> Values:
    """The variables of the kernels' text for a dtype, with narrower vectors if asked."""
    kind: Any = getattr(types, dtype)
    shape = tile_shape(kind, vector_bits)
    return {
        "element": kind, "size": shape.bytes, "panel": shape.panel_b, "tallest": shape.heights[0],
        "multiply": multiply_tiles(shape), "pack": pack_panels(shape),
    }  # fmt: skip


_VARIANTS = {dtype: functools.partial(values_of, dtype) for dtype in ("float32", "float64")}


class Matrix(Arguments):
    """Arguments of ``pack_weights``."""

    panels = Elements(element)
    matrix = Elements(element)
    rows = Word()
    columns = Word()
    across = Word()  # elements from one column to the next
    step = Word()  # elements from one row to the next


class Biases(Arguments):
    """Arguments of ``join_biases``."""

    bias = Elements(element)
    input = OptionalElements(element)
    hidden = OptionalElements(element)
    joined = Word()
    gates = Word()


@kernel(variants=_VARIANTS, takes=Matrix)
def pack_weights(args, lo, hi):
    """Panels of a matrix.

    All of it is one unit: what packing writes behind the end of a panel is the beginning of the
    next.
    """
    given = Matrix(args)
    for _ in range(lo, hi):
        pack(given.columns, given.rows, given.panels, given.matrix, given.across, given.step, panel)


@kernel(variants=dtypes("float32 float64"), takes=Biases)
def join_biases(args, lo, hi):
    """The bias of each gate: that of the input, and of the first ``joined`` the sum of both.

    Behind the ``gates`` come the hidden biases that were not joined. A bias that is missing is 0.
    """
    given = Biases(args)
    bias, of_input, of_hidden = given.bias, given.input, given.hidden
    joined, gates = given.joined, given.gates
    for unit in range(lo, hi):
        value = element(0)
        if unit < gates and of_input != 0:
            value = load(of_input, unit, element)
        if of_hidden != 0 and unit < joined:
            value += load(of_hidden, unit, element)
        if of_hidden != 0 and unit >= gates:
            value = load(of_hidden, unit - gates + joined, element)
        store(bias, unit, value, element)


@subroutine
def _set_up(plan, words, tile):
    """The words of the formula that are the same in all steps."""
    store(words, layout.ARGUMENT_DIMENSIONS, 4, int64)
    for position in range(3):
        store(words, layout.ARGUMENT_SIZES + position, 1, int64)
    store(words, layout.ARGUMENT_SIZES + 3, word(plan, WIDTH), int64)
    store(tile, TILE_ARGUMENTS, words, int64)
    store(tile, TILE_BATCH, 0, int64)
    store(tile, TILE_COLUMN, 0, int64)
    store(tile, TILE_COLUMNS, word(plan, WIDTH), int64)


@subroutine
def _size_at(plan, step):
    """How many sequences have an element at a step; 0 for one before the first or behind the last.

    Steps count in the order of the forward.
    """
    steps = word(plan, STEPS)
    if step < 0 or step >= steps:
        return 0
    time = steps - 1 - step if word(plan, REVERSE) != 0 else step
    return word(plan, OPERANDS + OPERAND_WORDS * word(plan, COUNT) + time)


@subroutine
def _first_at(plan, step):
    """The first element of a step."""
    steps = word(plan, STEPS)
    if step < 0:
        return 0
    time = steps - 1 - step if word(plan, REVERSE) != 0 else step
    return word(plan, OPERANDS + OPERAND_WORDS * word(plan, COUNT) + steps + time)


@subroutine
def _call_formula(args, item, words, tile, row, end, first, before):
    """The formula for the sequences ``[row, end)`` of a step whose elements begin at ``first``.

    ``before`` is the first element of the step before, or less than 0 for sequences that begin.
    """
    plan = word(args, PLAN)
    for number in range(word(plan, COUNT)):
        operand = OPERANDS + OPERAND_WORDS * number
        array, pitch = word(args, word(plan, operand + ARRAY)), word(plan, operand + PITCH)
        kind, at = word(plan, operand + ROWS), row
        if kind == OF_ELEMENTS:
            at = first + row
        elif kind == OF_PREVIOUS:
            at = before + row
            if before < 0:
                at = row
                array = word(args, word(plan, operand + BEGINNING))
        elif kind != OF_SEQUENCES:
            at = 0
        position = layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS * number
        start = array + (at * pitch + word(plan, operand + COLUMN)) * item
        store(words, position, start, int64)
        store(words, position + 3, pitch * item, int64)
    call_kernel(word(args, FORMULA), tile, 0, end - row)


@subroutine
def _copy(target, source, count, item):
    for k in range(quotient(count * item, 4)):
        store(target, k, load(source, k, types.int32), types.int32)


@kernel(variants=_VARIANTS)
def run_forward(args, lo, hi):
    """All steps of a layer for the sequences ``[lo, hi)``.

    Args:
        args: address of the words of ``layout.py``. The gates hold what the input
            contributes; the formula leaves there what the backward reads.
        lo, hi: a unit is a sequence. Sequences do not depend on each other.

    At each step there are sequences that had a state before, and such that begin. The hidden states
    of the former are rows of the result.
    """
    plan = word(args, PLAN)
    words, tile = address_of_stack(_FORMULA_WORDS), address_of_stack(TILE_WORDS)
    _set_up(plan, words, tile)
    width, depth, target = word(plan, WIDTH), word(plan, DEPTH), word(args, word(plan, PRODUCT))
    for step in range(word(plan, STEPS)):
        first, before = _first_at(plan, step), _first_at(plan, step - 1)
        end, known = smaller(hi, _size_at(plan, step)), _size_at(plan, step - 1)
        row = lo
        for begins in range(2):
            stop = end if begins == 1 else smaller(end, known)
            if row < stop:
                state = word(args, FIRST_HIDDEN) + row * width * size
                if begins == 0:
                    state = word(args, HIDDEN) + (before + row) * width * size
                position = row if word(plan, ROWS_APART) != 0 else first + row
                multiply(
                    stop - row, depth, width, state, width, 1, tallest * width,
                    word(args, WEIGHTS), panel, panel * width, target + position * depth * size,
                    depth, word(plan, ACCUMULATES) != 0,
                )  # fmt: skip
                _call_formula(
                    args, size, words, tile, row, stop, first, -1 if begins == 1 else before
                )
                row = stop
        row = max(lo, _size_at(plan, step + 1))
        if row < end:  # the sequences that end here
            at, count = (first + row) * width * size, (end - row) * width
            position = row * width * size
            _copy(word(args, LAST_HIDDEN) + position, word(args, HIDDEN) + at, count, size)
            if word(plan, HAS_CELL) != 0:
                _copy(word(args, LAST_CELL) + position, word(args, EXTRA) + at, count, size)


@kernel(variants=_VARIANTS)
def run_backward(args, lo, hi):
    """The gradients of the gates for the sequences ``[lo, hi)``, from the last step to the first.

    The gradients of the last states become those of the first ones. The hidden states before each
    step are written as well: what the gradient of the recurrent weights is a product with.
    """
    plan = word(args, PLAN)
    words, tile = address_of_stack(_FORMULA_WORDS), address_of_stack(TILE_WORDS)
    _set_up(plan, words, tile)
    width, depth, source = word(plan, WIDTH), word(plan, DEPTH), word(args, word(plan, PRODUCT))
    for back in range(word(plan, STEPS)):
        step = word(plan, STEPS) - 1 - back
        first, before = _first_at(plan, step), _first_at(plan, step - 1)
        end, known = smaller(hi, _size_at(plan, step)), _size_at(plan, step - 1)
        row = lo
        for begins in range(2):
            stop = end if begins == 1 else smaller(end, known)
            if row < stop:
                state = word(args, BACK_FIRST_HIDDEN) + row * width * size
                if begins == 0:
                    state = word(args, BACK_HIDDEN) + (before + row) * width * size
                at = (first + row) * width * size
                _copy(word(args, PREVIOUS) + at, state, (stop - row) * width, size)
                _call_formula(
                    args, size, words, tile, row, stop, first, -1 if begins == 1 else before
                )
                multiply(
                    stop - row, width, depth, source + (first + row) * depth * size, depth, 1,
                    tallest * depth, word(args, BACK_WEIGHTS), panel, panel * depth,
                    word(args, HIDDEN_GRAD) + row * width * size, width,
                    word(plan, ACCUMULATES) != 0,
                )  # fmt: skip
                row = stop
