"""Kernels of distances between rows: of all pairs of one matrix, and gradients of one or two.

``executor/families/distances.py`` compiles them by name. The norm is 1, 2, or 0 for the largest
difference. Rows that coincide have no gradient. Imported only to compile.
"""

from __future__ import annotations

import math

from ...codegen.intrinsics import load, load_apart, store, store_apart
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

_FLOATS = dtypes("float32 float64")


class Pairs(Arguments):
    output = Elements(element)
    columns = Elements(element)  # the matrix, transposed
    rows = Word()
    size = Word()  # of a row
    norm = Word()


class Pull(Arguments):
    output = Elements(element)
    grad = Elements(element)
    rows = Elements(element)  # (batch, count, size)
    others = Elements(element)  # (batch, other_count, size)
    distances = Elements(element)
    count = Word()
    other_count = Word()
    size = Word()
    norm = Word()
    paired = Word()  # 1 for pairs of one matrix, as ``pairs`` has them


@kernel(variants=_FLOATS, takes=Pairs)
def pairs(args, lo, hi):
    """output[i, j] = the norm of row i - row j for i < j, one behind the other; a unit is an i."""
    given = Pairs(args)
    output, columns = given.output, given.columns
    rows, size, norm = given.rows, given.size, given.norm
    for i in range(lo, hi):
        first = i * (2 * rows - i - 1) // 2 - i - 1
        for j in range(i + 1, rows):
            store(output, first + j, element(0), element)
        for k in range(size):
            line = k * rows
            own = load(columns, line + i, element)
            if norm == 2:
                for j in range(i + 1, rows):
                    away = own - load_apart(columns, line + j, element, 1)
                    sum_of = load_apart(output, first + j, element, 2)
                    store_apart(output, first + j, sum_of + away * away, element, 2)
            elif norm == 1:
                for j in range(i + 1, rows):
                    away = abs(own - load_apart(columns, line + j, element, 1))
                    sum_of = load_apart(output, first + j, element, 2)
                    store_apart(output, first + j, sum_of + away, element, 2)
            else:
                for j in range(i + 1, rows):
                    away = abs(own - load_apart(columns, line + j, element, 1))
                    most = load_apart(output, first + j, element, 2)
                    most = away if away > most or away != away else most  # NaN stays
                    store_apart(output, first + j, most, element, 2)
        if norm == 2:
            for j in range(i + 1, rows):
                store(output, first + j, math.sqrt(load(output, first + j, element)), element)


@kernel(variants=_FLOATS, takes=Pull)
def pull(args, lo, hi):
    """output[b, i] = the gradient of row i of matrix b, summed over its distances to others."""
    given = Pull(args)
    output, grad, distances = given.output, given.grad, given.distances
    count, others, size = given.count, given.other_count, given.size
    norm, paired = given.norm, given.paired
    for at in range(lo, hi):
        batch = at // count
        i = at - batch * count
        own = at * size
        for k in range(size):
            store(output, own + k, element(0), element)
        for j in range(others):
            position = at * others + j
            if paired != 0:
                if j == i:
                    continue
                low, high = min(i, j), max(i, j)
                position = low * (2 * count - low - 1) // 2 + high - low - 1
            distance = load(distances, position, element)
            if distance == element(0):
                continue
            share = load(grad, position, element)
            other = (batch * others + j) * size
            if norm == 2:
                share = share / distance
                for k in range(size):
                    away = load_apart(given.rows, own + k, element, 1)
                    away = away - load_apart(given.others, other + k, element, 2)
                    total = load_apart(output, own + k, element, 3) + share * away
                    store_apart(output, own + k, total, element, 3)
            elif norm == 1:
                for k in range(size):
                    away = load_apart(given.rows, own + k, element, 1)
                    away = away - load_apart(given.others, other + k, element, 2)
                    sign = element(1) if away > element(0) else away  # also 0 and NaN
                    sign = element(-1) if away < element(0) else sign
                    total = load_apart(output, own + k, element, 3) + share * sign
                    store_apart(output, own + k, total, element, 3)
            else:
                for k in range(size):
                    away = load_apart(given.rows, own + k, element, 1)
                    away = away - load_apart(given.others, other + k, element, 2)
                    sign = element(1) if away > element(0) else away
                    sign = element(-1) if away < element(0) else sign
                    if abs(away) != distance and away == away:
                        sign = element(0)
                    total = load_apart(output, own + k, element, 3) + share * sign
                    store_apart(output, own + k, total, element, 3)
