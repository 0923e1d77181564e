"""Copies in C order of elements that lie in another order, transposed, reversed or in rows that
are; one side of a diagonal; and one element everywhere.

``executor/memory/copies.py`` compiles these by name. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import (
    address_of_stack,
    load,
    load_apart,
    store,
    store_apart,
    subroutine,
)
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

#: Rows and columns of a tile. Its elements in either order are whole lines of memory, each of which
#: is touched once: strides that are powers of two leave few places for lines in a cache.
_TILE = 16
_TILE_WORDS = _TILE * _TILE

_SIZES = dict(zip("1248", dtypes("int8 int16 int32 int64").values(), strict=True))


class Planes(Arguments):
    """Steps count elements; those of the output's columns are 1."""

    output = Elements(element)
    source = Word()  # address of the first element
    rows = Word()
    columns = Word()
    output_row = Word()  # steps of the output and of the source
    source_row = Word()
    source_column = Word()
    output_0 = Word()  # of the dimensions around planes, from outside
    source_0 = Word()
    size_1 = Word()
    output_1 = Word()
    source_1 = Word()
    size_2 = Word()
    output_2 = Word()
    source_2 = Word()


class Filled(Arguments):
    output = Elements(element)
    pattern = Elements(element)  # of one element


class Triangle(Arguments):
    output = Elements(element)
    source = Elements(element)
    rows = Word()  # of a matrix
    columns = Word()
    diagonal = Word()
    below = Word()  # 1 to keep what is on the diagonal and below it, 0 for what is above


@kernel(variants=_SIZES, takes=Triangle)
def triangle(args, lo, hi):
    """Copy one side of a diagonal of matrices, with zeros on the other; units are rows."""
    given = Triangle(args)
    output, source, rows, columns = given.output, given.source, given.rows, given.columns
    zero = element(0)
    for unit in range(lo, hi):
        start = unit * columns
        edge = start + min(max(unit % rows + given.diagonal + 1, 0), columns)
        end = start + columns
        kept, left = (start, edge) if given.below == 1 else (edge, end)
        for k in range(kept, left):
            store_apart(output, k, load_apart(source, k, element, 2), element, 1)
        cleared, left = (edge, end) if given.below == 1 else (start, edge)
        for k in range(cleared, left):
            store(output, k, zero, element)


@kernel(variants=_SIZES, takes=Filled)
def fill(args, lo, hi):
    """Write one element to all."""
    given = Filled(args)
    output, value = given.output, load(given.pattern, 0, element)
    for k in range(lo, hi):
        store_apart(output, k, value, element, 1)


@subroutine
def _first_elements(given, plane):
    """Where a plane begins in the source and in the output."""
    outer = plane // given.size_2
    third = plane - outer * given.size_2
    outermost = outer // given.size_1
    second = outer - outermost * given.size_1
    start = outermost * given.source_0 + second * given.source_1 + third * given.source_2
    target = outermost * given.output_0 + second * given.output_1 + third * given.output_2
    return start, target


@kernel(variants=_SIZES, takes=Planes)
def transpose(args, lo, hi):
    """Copy planes of which the rows' step in the source is 1; units are 16 rows."""
    given = Planes(args)
    output, source, rows, columns = given.output, given.source, given.rows, given.columns
    output_row, source_column = given.output_row, given.source_column
    tile = address_of_stack(_TILE_WORDS)
    blocks = (rows + _TILE - 1) // _TILE
    for unit in range(lo, hi):
        plane = unit // blocks
        first = (unit - plane * blocks) * _TILE
        start, target = _first_elements(given, plane)
        start += first
        target += first * output_row
        height = min(rows - first, _TILE)
        for column in range(0, columns, _TILE):
            width = min(columns - column, _TILE)
            at = start + column * source_column
            if height == _TILE and width == _TILE:
                for c in range(_TILE):
                    for r in range(_TILE):
                        value = load(source, at + c * source_column + r, element)
                        store(tile, r * _TILE + c, value, element)
                for r in range(_TILE):
                    for c in range(_TILE):
                        value = load(tile, r * _TILE + c, element)
                        store(output, target + r * output_row + column + c, value, element)
            else:
                for r in range(height):
                    for c in range(width):
                        value = load(source, at + c * source_column + r, element)
                        store(output, target + r * output_row + column + c, value, element)


@subroutine
def _copy_rows(given, lo, hi, step, element):
    """Copy rows of planes whose columns are ``step`` elements apart in the source."""
    output, source, rows, columns = given.output, given.source, given.rows, given.columns
    output_row, source_row = given.output_row, given.source_row
    unit = lo
    while unit < hi:  # what is left of a plane
        plane = unit // rows
        row = unit - plane * rows
        start, target = _first_elements(given, plane)
        start += row * source_row
        target += row * output_row
        for _ in range(min(rows - row, hi - unit)):
            for c in range(columns):
                value = load_apart(source, start + c * step, element, 2)
                store_apart(output, target + c, value, element, 1)
            start += source_row
            target += output_row
        unit += rows - row


@kernel(variants=_SIZES, takes=Planes)
def reverse(args, lo, hi):
    """Copy planes of which the columns' step in the source is -1; units are rows."""
    _copy_rows(Planes(args), lo, hi, -1, element)


@kernel(variants=_SIZES, takes=Planes)
def rows(args, lo, hi):
    """Copy planes of which the columns' step in the source is 1; units are rows."""
    _copy_rows(Planes(args), lo, hi, 1, element)
