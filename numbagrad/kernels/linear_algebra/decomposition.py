"""Cholesky factors, reflections (QR) and symmetric pivoting (LDL) for stacks of small matrices.

``executor/families/decomposition.py`` compiles these by name. Results have the columns of each
matrix in a row in memory, as LAPACK leaves them; what is read may lie in any order, so that one
launch makes a whole result. Work is the matrices of a stack. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import absolute, int32, load, sqrt, store, subroutine
from ...codegen.kernel import element, kernel, variable
from ...codegen.record import Word
from ..packing import Arguments, Elements
from .elimination import REALS, copied, dot, subtract

#: Variable of kernels: bytes of an element.
item = variable("item")

#: Squares of elements between these neither overflow nor vanish.
_LEAST, _MOST = 1e-15, 1e15


class Factored(Arguments):
    """Steps count elements."""

    factors = Elements(element)  # (stack, n, n): lower triangles, or zeros where there is none
    orders = Elements(int32)  # (stack): that of the first minor that is not positive, or 0
    size = Word()
    source = Word()  # address of matrices, of which the lower triangles are read
    stack = Word()
    row = Word()
    column = Word()


class Reflected(Arguments):
    """Steps count elements."""

    packed = Elements(element)  # (stack, columns, rows): R, and vectors of reflections below it
    scales = Elements(element)  # (stack, min(rows, columns)): factors of the reflections
    rows = Word()
    columns = Word()
    source = Word()
    stack = Word()
    row = Word()
    column = Word()


class Orthogonal(Arguments):
    """Steps count elements."""

    made = Elements(element)  # (stack, width, rows): the first columns of the product
    triangles = Word()  # address of (stack, columns, height), which become R, or 0
    height = Word()
    width = Word()
    rows = Word()
    columns = Word()
    count = Word()  # of reflections
    source = Word()  # address of packed reflections
    stack = Word()
    row = Word()
    column = Word()
    scales = Word()  # address of their factors
    scale_stack = Word()
    scale_column = Word()


class Pivoted(Arguments):
    """Steps count elements."""

    packed = Elements(element)  # (stack, n, n): D in blocks on the diagonal, and L below it
    pivots = Elements(int32)  # (stack, n)
    zeros = Elements(int32)  # (stack): the first zero of D, from 1, or 0
    size = Word()
    source = Word()  # address of matrices, of which the lower triangles are read
    stack = Word()
    row = Word()
    column = Word()


@kernel(variants=REALS, takes=Factored)
def factor(args, lo, hi):
    """Cholesky factors."""
    given = Factored(args)
    n = given.size
    for k in range(lo, hi):
        matrix = given.factors + k * n * n * item
        source = given.source + k * given.stack * item
        order = 0
        for j in range(n):
            for i in range(j):
                store(matrix, j * n + i, element(0), element)
            for i in range(j, n):
                value = load(source, i * given.row + j * given.column, element)
                store(matrix, j * n + i, value, element)
        for j in range(n):
            own = matrix + j * n * item
            square = load(own, j, element)
            if not (square > 0 and square - square == 0):  # neither NaN nor infinite
                order = j + 1
                break
            root = sqrt(square)
            store(own, j, root, element)
            for i in range(j + 1, n):
                store(own, i, load(own, i, element) / root, element)
            for other in range(j + 1, n):
                beside = matrix + other * n * item
                subtract(beside, own, load(own, other, element), other, n, element)
        if order != 0:
            for i in range(n * n):
                store(matrix, i, element(0), element)
        store(given.orders, k, int32(order), int32)


@subroutine
def _length(x, first, end, element):
    """The root of the sum of squares, where these may overflow or vanish."""
    most = element(0)
    for i in range(first, end):
        value = absolute(load(x, i, element))
        if value > most or value != value:
            most = value
    if not most > 0:
        return most
    total = element(0)
    for i in range(first, end):
        value = load(x, i, element) / most
        total += value * value
    return most * sqrt(total)


@subroutine
def _norm(x, first, end, element):
    square = dot(x, x, first, end, element)
    root = sqrt(square)
    if root > element(_LEAST) and root < element(_MOST):
        return root
    return _length(x, first, end, element)


@kernel(variants=REALS, takes=Reflected)
def reflect(args, lo, hi):
    """Triangles R, and the reflections that lead to them, packed as by LAPACK."""
    given = Reflected(args)
    rows, columns = given.rows, given.columns
    count = min(rows, columns)
    for k in range(lo, hi):
        matrix = given.packed + k * rows * columns * item
        source = given.source + k * given.stack * item
        copied(matrix, source, rows, columns, given.row, given.column, element)
        for j in range(count):
            own = matrix + j * rows * item
            head, scale = load(own, j, element), element(0)
            below = _norm(own, j + 1, rows, element)
            if not below == 0:
                # Both parts again, as what is below alone says whether there is a reflection.
                length = _norm(own, j, rows, element)
                made = length if head < 0 else -length
                scale = (made - head) / made
                divisor = head - made
                for i in range(j + 1, rows):
                    store(own, i, load(own, i, element) / divisor, element)
                for other in range(j + 1, columns):
                    beside = matrix + other * rows * item
                    share = load(beside, j, element) + dot(own, beside, j + 1, rows, element)
                    share *= scale
                    store(beside, j, load(beside, j, element) - share, element)
                    subtract(beside, own, share, j + 1, rows, element)
                store(own, j, made, element)
            store(given.scales, k * count + j, scale, element)


@kernel(variants=REALS, takes=Orthogonal)
def multiply_reflections(args, lo, hi):
    """The first columns of products of reflections, and the triangles above their vectors."""
    given = Orthogonal(args)
    rows, columns, width, count = given.rows, given.columns, given.width, given.count
    height = given.height
    for k in range(lo, hi):
        matrix = given.made + k * rows * width * item
        source = given.source + k * given.stack * item
        scales = given.scales + k * given.scale_stack * item
        if given.triangles != 0:
            triangle = given.triangles + k * height * columns * item
            for j in range(columns):
                for i in range(height):
                    value = element(0)
                    if i <= j:
                        value = load(source, i * given.row + j * given.column, element)
                    store(triangle, j * height + i, value, element)
        for j in range(width):
            own = matrix + j * rows * item
            for i in range(rows):
                store(own, i, element(0), element)
            if j >= count:
                store(own, j, element(1), element)
        for step in range(count):
            j = count - 1 - step
            own = matrix + j * rows * item
            scale = load(scales, j * given.scale_column, element)
            for i in range(j + 1, rows):
                value = load(source, i * given.row + j * given.column, element)
                store(own, i, value, element)
            for other in range(j + 1, width):
                beside = matrix + other * rows * item
                share = dot(own, beside, j + 1, rows, element) * scale
                store(beside, j, load(beside, j, element) - share, element)
                subtract(beside, own, share, j + 1, rows, element)
            for i in range(j + 1, rows):
                store(own, i, -scale * load(own, i, element), element)
            store(own, j, 1 - scale, element)


#: The share of a column's largest element that a pivot has to have (Bunch and Kaufman, 1977).
_SHARE = (1 + 17**0.5) / 8


@subroutine
def _largest(x, first, end, step, element):
    """The place of the largest of elements that are ``step`` apart, the first of equal ones."""
    most, place = element(-1), first
    for i in range(first, end):
        value = absolute(load(x, i * step, element))
        if value > most:
            most, place = value, i
    return place


@subroutine
def _exchange(matrix, here, other, n, element):
    """Exchange two rows and the same columns of what is left, of which the lower half is kept."""
    for i in range(other + 1, n):
        value = load(matrix, here * n + i, element)
        store(matrix, here * n + i, load(matrix, other * n + i, element), element)
        store(matrix, other * n + i, value, element)
    for i in range(here + 1, other):
        value = load(matrix, here * n + i, element)
        store(matrix, here * n + i, load(matrix, i * n + other, element), element)
        store(matrix, i * n + other, value, element)
    value = load(matrix, here * n + here, element)
    store(matrix, here * n + here, load(matrix, other * n + other, element), element)
    store(matrix, other * n + other, value, element)


@subroutine
def _pivot_of(packed, k, n, item, element):
    """The row to exchange for a pivot, and its order: 1 or 2, or 0 if the column is zero."""
    own, most, row = absolute(load(packed, k * n + k, element)), element(0), k
    if k + 1 < n:
        row = _largest(packed + k * n * item, k + 1, n, 1, element)
        most = absolute(load(packed, k * n + row, element))
    if not (own > 0 or most > 0):
        return k, 0
    if own >= element(_SHARE) * most:
        return k, 1
    place = _largest(packed + row * item, k, row, n, element)
    others = absolute(load(packed, place * n + row, element))
    if row + 1 < n:
        place = _largest(packed + row * n * item, row + 1, n, 1, element)
        others = max(others, absolute(load(packed, row * n + place, element)))
    if own >= element(_SHARE) * most * (most / others):
        return k, 1
    if absolute(load(packed, row * n + row, element)) >= element(_SHARE) * others:
        return row, 1
    return row, 2


@subroutine
def _eliminate_one(packed, k, n, item, element):
    """Subtract what a pivot of order 1 has in the columns after it, and divide its own."""
    first = packed + k * n * item
    divisor = load(first, k, element)
    for j in range(k + 1, n):
        factor_of = load(first, j, element) / divisor
        subtract(packed + j * n * item, first, factor_of, j, n, element)
    for i in range(k + 1, n):
        store(first, i, load(first, i, element) / divisor, element)


@subroutine
def _eliminate_two(packed, k, n, item, element):
    """The same for a pivot of order 2."""
    first = packed + k * n * item
    second = first + n * item
    across = load(first, k + 1, element)
    one = load(second, k + 1, element) / across
    two = load(first, k, element) / across
    scale = element(1) / (one * two - element(1)) / across
    for j in range(k + 2, n):
        beside = packed + j * n * item
        a, b = load(first, j, element), load(second, j, element)
        of_first = scale * (one * a - b)
        of_second = scale * (two * b - a)
        subtract(beside, first, of_first, j, n, element)
        subtract(beside, second, of_second, j, n, element)
        store(first, j, of_first, element)
        store(second, j, of_second, element)


@kernel(variants=REALS, takes=Pivoted)
def pivot(args, lo, hi):
    """L and D of symmetric matrices, with the pivots of LAPACK's ``sytf2``."""
    given = Pivoted(args)
    n = given.size
    for matrix in range(lo, hi):
        packed = given.packed + matrix * n * n * item
        pivots = given.pivots + matrix * n * 4
        source = given.source + matrix * given.stack * item
        for j in range(n):
            for i in range(n):
                value = element(0)
                if i >= j:
                    value = load(source, i * given.row + j * given.column, element)
                store(packed, j * n + i, value, element)
        zero, k = 0, 0
        while k < n:
            other, order = _pivot_of(packed, k, n, item, element)
            if order == 0:
                if zero == 0:
                    zero = k + 1
                store(pivots, k, int32(k + 1), int32)
                k += 1
                continue
            last = k + order - 1
            if other != last:
                _exchange(packed, last, other, n, element)
                if order == 2:
                    value = load(packed, k * n + last, element)
                    store(packed, k * n + last, load(packed, k * n + other, element), element)
                    store(packed, k * n + other, value, element)
            if order == 1:
                _eliminate_one(packed, k, n, item, element)
                store(pivots, k, int32(other + 1), int32)
            else:
                _eliminate_two(packed, k, n, item, element)
                store(pivots, k, int32(-other - 1), int32)
                store(pivots, last, int32(-other - 1), int32)
            k += order
        store(given.zeros, matrix, int32(zero), int32)
