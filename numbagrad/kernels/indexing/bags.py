"""Sums and maxima of the rows of a table in bags of indices: the forward of ``embedding_bag``.

``executor/families/indexing.py`` compiles it by name. Imported only to compile.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from ...codegen.intrinsics import int64, load, load_apart, select, store_apart
from ...codegen.kernel import Values, element, kernel, real, variable
from ...codegen.record import Word
from ...codegen.vector_emitter import tile_shape
from ..dtypes import dtypes
from ..packing import Arguments, Elements
from .row_sums import sum_rows


class Bags(Arguments):
    """Arguments of ``sum_bags``."""

    output = Elements(element)  # (bags, width)
    table = Elements(element)
    index = Elements(int64)
    starts = Elements(int64)  # where bags begin in index, and the end of the last
    width = Word()  # of a row
    padding = Word()  # the index that counts for nothing, or a negative number


class LargestOfBags(Arguments):
    """Arguments of ``max_bags``."""

    output = Elements(element)  # (bags, width)
    positions = Elements(int64)  # the row of the table that each of these comes from, or -1
    table = Elements(element)
    index = Elements(int64)
    starts = Elements(int64)
    width = Word()
    padding = Word()


def values_of(dtype: str) -> Values:
    """The variables of ``sum_bags`` for a dtype."""
    kind: Any = getattr(types, dtype)
    shape = tile_shape(kind)
    return {"element": kind, "size": shape.bytes, "add_rows": sum_rows(shape)}


add_rows, size = variable("add_rows"), variable("size")


@kernel(
    takes=Bags,
    variants={dtype: functools.partial(values_of, dtype) for dtype in ("float32", "float64")},
)
def sum_bags(args, lo, hi):
    """output[b] = the sum of table[index[k]] for k in [starts[b], starts[b + 1]), over bags b."""
    given = Bags(args)
    output, table, index, starts = given.output, given.table, given.index, given.starts
    width, padding = given.width, given.padding
    for bag in range(lo, hi):
        first, last = load(starts, bag, int64), load(starts, bag + 1, int64)
        to, of_bag = output + bag * width * size, index + first * 8
        add_rows(width, last - first, to, table, of_bag, padding)


@kernel(variants=dtypes("float32 float64"), takes=LargestOfBags)
def max_bags(args, lo, hi):
    """output[b] = the largest of table[index[k]] in bag b, column by column, over bags b.

    ``positions`` says which row it is, the first of equals; of a bag without rows the maximum is 0.
    As in torch, NaN is less than all but what is behind it.
    """
    given = LargestOfBags(args)
    output, positions, table = given.output, given.positions, given.table
    index, starts, width, padding = given.index, given.starts, given.width, given.padding
    for bag in range(lo, hi):
        first, last = load(starts, bag, int64), load(starts, bag + 1, int64)
        at = bag * width
        while first < last and load(index, first, int64) == padding:
            first += 1
        if first == last:
            for i in range(width):
                store_apart(output, at + i, real(0), element, 1)
                store_apart(positions, at + i, -1, int64, 3)
        else:
            position = load(index, first, int64)
            row = position * width
            for i in range(width):
                store_apart(output, at + i, load_apart(table, row + i, element, 2), element, 1)
                store_apart(positions, at + i, position, int64, 3)
        for k in range(first + 1, last):
            position = load(index, k, int64)
            if position != padding:
                row = position * width
                for i in range(width):
                    value = load_apart(table, row + i, element, 2)
                    most = load_apart(output, at + i, element, 1)
                    known = load_apart(positions, at + i, int64, 3)
                    larger = value > most
                    store_apart(output, at + i, select(larger, value, most), element, 1)
                    store_apart(positions, at + i, select(larger, position, known), int64, 3)
