"""Elimination with pivots, and substitution into triangles, for stacks of small matrices.

``executor/families/elimination.py`` compiles these by name; larger matrices are cut into blocks
there, between which are products. Results have the columns of each matrix in a row in memory, as
LAPACK leaves them; what is read may lie in any order, so that one launch makes a whole result. Work
is the matrices of a stack. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import absolute, external, float64, int32, int64, load, store, subroutine
from ...codegen.kernel import element, kernel, variable
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

#: Variable of kernels: bytes of an element.
item = variable("item")

REALS = {
    name: {**values, "item": values["element"].bitwidth // 8}
    for name, values in dtypes("float32 float64").items()
}

_log = external("log", float64, float64)


class Eliminated(Arguments):
    """Steps count elements."""

    matrices = Elements(element)  # (stack, columns, rows): L and U
    pivots = Elements(int32)  # (stack, min(rows, columns)): rows that are swapped, from 1
    zeros = Elements(int32)  # (stack): the first zero pivot, from 1, or 0
    rows = Word()
    columns = Word()
    first = Word()  # columns from here
    end = Word()  # to before here are eliminated
    source = Word()  # address of matrices that are copied before the first column
    stack = Word()
    row = Word()
    column = Word()


class Measured(Arguments):
    """Steps count elements."""

    determinants = Elements(element)  # (stack): or their signs
    logarithms = Word()  # address of those of the sizes (stack), or 0
    matrices = Elements(element)  # (stack, n, n): L and U
    pivots = Elements(int32)
    zeros = Elements(int32)
    size = Word()
    source = Word()
    stack = Word()
    row = Word()
    column = Word()


class Solved(Arguments):
    """Steps count elements."""

    solutions = Elements(element)  # (stack, columns, n)
    matrices = Elements(element)  # (stack, n, n): L and U
    pivots = Elements(int32)
    zeros = Elements(int32)
    size = Word()
    columns = Word()
    source = Word()
    stack = Word()
    row = Word()
    column = Word()
    right = Word()  # address of right sides, or 0 for unit vectors
    right_stack = Word()
    right_row = Word()
    right_column = Word()


class Substituted(Arguments):
    """Steps count elements."""

    solutions = Word()  # address, with the rows of each column in a row
    solution_stack = Word()
    solution_column = Word()
    rows = Word()
    columns = Word()
    right = Word()  # address of right sides that are copied, or 0 if they are the solutions
    right_stack = Word()
    right_row = Word()
    right_column = Word()
    triangle = Word()
    stack = Word()
    row = Word()
    column = Word()
    upper = Word()
    unit = Word()  # whether the diagonal counts as ones


@subroutine
def copied(target, source, rows, columns, row, column, element):
    """Copy a matrix so that its columns lie in a row."""
    for j in range(columns):
        for i in range(rows):
            value = load(source, i * row + j * column, element)
            store(target, j * rows + i, value, element)


@subroutine
def subtract(target, source, factor, first, end, element):
    """Subtract a multiple of a column from another one, from one row to another."""
    for i in range(first, end):
        value = load(target, i, element) - factor * load(source, i, element)
        store(target, i, value, element)


@subroutine(fastmath=("contract", "reassoc"))
def dot(one, other, first, end, element):
    """The sum of the products of two columns, from one row to another."""
    total = element(0)
    for i in range(first, end):
        total += load(one, i, element) * load(other, i, element)
    return total


@subroutine
def _swap(matrix, one, other, columns, pitch, element):
    """Swap two rows."""
    for j in range(columns):
        value = load(matrix, j * pitch + one, element)
        store(matrix, j * pitch + one, load(matrix, j * pitch + other, element), element)
        store(matrix, j * pitch + other, value, element)


@subroutine
def _eliminate(matrix, pivots, rows, columns, first, end, item, element):
    """Change columns of a matrix into those of L and U; the first zero pivot, from 1, or 0.

    Whole rows are swapped. A pivot is the largest element, the first of equal ones, or a NaN.
    """
    zero = 0
    for k in range(first, end):
        own = matrix + k * rows * item
        greatest, pivot = absolute(load(own, k, element)), k
        for i in range(k + 1, rows):
            value = absolute(load(own, i, element))
            if value > greatest or (value != value and greatest == greatest):
                greatest, pivot = value, i
        store(pivots, k, int32(pivot + 1), int32)
        if pivot != k:
            _swap(matrix, k, pivot, columns, rows, element)
        divisor = load(own, k, element)
        if divisor == 0:
            if zero == 0:
                zero = k + 1
            continue
        for i in range(k + 1, rows):
            store(own, i, load(own, i, element) / divisor, element)
        for j in range(k + 1, end):
            other = matrix + j * rows * item
            subtract(other, own, load(other, k, element), k + 1, rows, element)
    return zero


@subroutine
def _substitute_columns(x, triangle, rows, column, upper, unit, item, element):
    """Change a right side into a solution; the triangle has its columns in a row."""
    for step in range(rows):
        k = rows - 1 - step if upper != 0 else step
        own = triangle + k * column * item
        value = load(x, k, element)
        if unit == 0:
            value /= load(own, k, element)
            store(x, k, value, element)
        if upper != 0:
            subtract(x, own, value, 0, k, element)
        else:
            subtract(x, own, value, k + 1, rows, element)


@subroutine
def _substitute_rows(x, triangle, rows, row, upper, unit, item, element):
    """The same where the triangle has its rows in a row."""
    for step in range(rows):
        k = rows - 1 - step if upper != 0 else step
        own = triangle + k * row * item
        value = load(x, k, element)
        if upper != 0:
            value -= dot(x, own, k + 1, rows, element)
        else:
            value -= dot(x, own, 0, k, element)
        if unit == 0:
            value /= load(own, k, element)
        store(x, k, value, element)


@kernel(variants=REALS, takes=Eliminated)
def eliminate(args, lo, hi):
    """L and U in the columns from ``first`` to ``end``; whole rows are swapped."""
    given = Eliminated(args)
    rows, columns, first = given.rows, given.columns, given.first
    count = min(rows, columns)
    for k in range(lo, hi):
        matrix = given.matrices + k * rows * columns * item
        if first == 0:
            source = given.source + k * given.stack * item
            copied(matrix, source, rows, columns, given.row, given.column, element)
            store(given.zeros, k, int32(0), int32)
        pivots = given.pivots + k * count * 4
        zero = _eliminate(matrix, pivots, rows, columns, first, given.end, item, element)
        if load(given.zeros, k, int32) == 0:
            store(given.zeros, k, int32(zero), int32)


@kernel(variants=REALS, takes=Measured)
def measure(args, lo, hi):
    """Determinants, or their signs and the logarithms of their sizes."""
    given = Measured(args)
    n = given.size
    for k in range(lo, hi):
        matrix = given.matrices + k * n * n * item
        source = given.source + k * given.stack * item
        copied(matrix, source, n, n, given.row, given.column, element)
        pivots = given.pivots + k * n * 4
        zero = _eliminate(matrix, pivots, n, n, 0, n, item, element)
        store(given.zeros, k, int32(zero), int32)
        determinant, logarithm = element(1), float64(0)
        for i in range(n):
            value = load(matrix, i * n + i, element)
            if load(pivots, i, int32) != i + 1:
                determinant = -determinant
            if given.logarithms != 0:
                logarithm += _log(float64(absolute(value)))
                value = element(1) if value > 0 else element(-1) if value < 0 else value
            determinant *= value
        store(given.determinants, k, determinant, element)
        if given.logarithms != 0:
            store(given.logarithms, k, element(logarithm), element)


@kernel(variants=REALS, takes=Solved)
def solve(args, lo, hi):
    """Solutions of equations, or inverses."""
    given = Solved(args)
    n, columns = given.size, given.columns
    for k in range(lo, hi):
        matrix = given.matrices + k * n * n * item
        source = given.source + k * given.stack * item
        copied(matrix, source, n, n, given.row, given.column, element)
        pivots = given.pivots + k * n * 4
        zero = _eliminate(matrix, pivots, n, n, 0, n, item, element)
        store(given.zeros, k, int32(zero), int32)
        for j in range(columns):
            x = given.solutions + (k * columns + j) * n * item
            if given.right == 0:
                for i in range(n):
                    store(x, i, element(1) if i == j else element(0), element)
            else:
                right = given.right + (k * given.right_stack + j * given.right_column) * item
                for i in range(n):
                    store(x, i, load(right, i * given.right_row, element), element)
            for i in range(n):
                pivot = int64(load(pivots, i, int32)) - 1
                if pivot != i:
                    value = load(x, i, element)
                    store(x, i, load(x, pivot, element), element)
                    store(x, pivot, value, element)
            _substitute_columns(x, matrix, n, n, 0, 1, item, element)
            _substitute_columns(x, matrix, n, n, 1, 0, item, element)


@kernel(variants=REALS, takes=Substituted)
def substitute(args, lo, hi):
    """Solutions of triangular systems."""
    given = Substituted(args)
    rows, columns = given.rows, given.columns
    row, column = given.row, given.column
    upper, unit = given.upper, given.unit
    for k in range(lo, hi):
        triangle = given.triangle + k * given.stack * item
        for j in range(columns):
            x = given.solutions + (k * given.solution_stack + j * given.solution_column) * item
            if given.right != 0:
                right = given.right + (k * given.right_stack + j * given.right_column) * item
                for i in range(rows):
                    store(x, i, load(right, i * given.right_row, element), element)
            if row == 1:
                _substitute_columns(x, triangle, rows, column, upper, unit, item, element)
            else:
                _substitute_rows(x, triangle, rows, row, upper, unit, item, element)
