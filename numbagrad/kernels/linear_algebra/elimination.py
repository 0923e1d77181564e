"""Elimination with pivots, and substitution into triangles, for stacks of small matrices.

``executor/families/elimination.py`` compiles these by name; larger matrices are cut into blocks
there, between which are products. Work is the matrices of a stack. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import absolute, int64, load, store
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

_REALS = dtypes("float32 float64")


class Eliminated(Arguments):
    matrices = Elements(element)  # (stack, rows, columns)
    pivots = Elements(int64)  # (stack, min(rows, columns)): rows that are swapped, from 1
    rows = Word()
    columns = Word()
    first = Word()  # columns from here
    end = Word()  # to before here are eliminated


class Substituted(Arguments):
    """Steps count elements."""

    right = Elements(element)  # with right sides in it, which become solutions
    triangle = Word()  # address of triangles
    rows = Word()
    columns = Word()
    offset = Word()  # of the first right side
    right_stack = Word()
    right_row = Word()
    stack = Word()
    row = Word()
    column = Word()
    upper = Word()
    unit = Word()  # whether the diagonal counts as ones


@kernel(variants=_REALS, takes=Eliminated)
def eliminate(args, lo, hi):
    """L and U in the columns from ``first`` to ``end``; whole rows are swapped."""
    given = Eliminated(args)
    matrices, pivots, rows, columns = given.matrices, given.pivots, given.rows, given.columns
    end, count = given.end, min(rows, columns)
    for matrix in range(lo, hi):
        start = matrix * rows * columns
        for k in range(given.first, end):
            greatest, pivot = absolute(load(matrices, start + k * columns + k, element)), k
            for i in range(k + 1, rows):
                value = absolute(load(matrices, start + i * columns + k, element))
                if value > greatest or (value != value and greatest == greatest):
                    greatest, pivot = value, i
            store(pivots, matrix * count + k, pivot + 1, int64)
            own, other = start + k * columns, start + pivot * columns
            if pivot != k:
                for j in range(columns):
                    value = load(matrices, own + j, element)
                    store(matrices, own + j, load(matrices, other + j, element), element)
                    store(matrices, other + j, value, element)
            divisor = load(matrices, own + k, element)
            if divisor == 0:
                continue
            for i in range(k + 1, rows):
                row = start + i * columns
                factor = load(matrices, row + k, element) / divisor
                store(matrices, row + k, factor, element)
                for j in range(k + 1, end):
                    value = load(matrices, row + j, element)
                    value -= factor * load(matrices, own + j, element)
                    store(matrices, row + j, value, element)


@kernel(variants=_REALS, takes=Substituted)
def substitute(args, lo, hi):
    """Change right sides into solutions, row by row."""
    given = Substituted(args)
    right, triangle, rows, columns = given.right, given.triangle, given.rows, given.columns
    right_row, row_step, column_step = given.right_row, given.row, given.column
    upper, unit = given.upper, given.unit
    for matrix in range(lo, hi):
        start, own = given.offset + matrix * given.right_stack, matrix * given.stack
        for step in range(rows):
            row = rows - 1 - step if upper != 0 else step
            target = start + row * right_row
            for known in range(step):
                k = rows - 1 - known if upper != 0 else known
                factor = load(triangle, own + row * row_step + k * column_step, element)
                source = start + k * right_row
                for j in range(columns):
                    value = load(right, target + j, element)
                    value -= factor * load(right, source + j, element)
                    store(right, target + j, value, element)
            if unit == 0:
                divisor = load(triangle, own + row * (row_step + column_step), element)
                for j in range(columns):
                    store(right, target + j, load(right, target + j, element) / divisor, element)
