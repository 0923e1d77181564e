"""Kernels around sorting: elements as integers that sort with their places, and selected places.

``executor/families/order.py`` compiles these by name and has NumPy sort the integers in between.
They see contiguous arrays as (outer, size, inner), the middle dimension being the sorted one; their
work is rows (outer, inner). NaN counts as greater than any number, zeros of both signs are equal,
and equal elements keep their order. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import address_of_stack, bits, int64, load, select, store, subroutine
from ...codegen.kernel import element, kernel, variable
from ...codegen.record import Word
from ..dtypes import NUMBERS, dtypes
from ..packing import Arguments, Elements

#: How many rows whose elements lie beside each other are read together.
_TOGETHER = 16

#: The most bits of a digit: its counts stay in the first cache.
_DIGIT_BITS = 11
_DIGITS = 1 << _DIGIT_BITS

_PLACE_BITS = 32
_PLACE = (1 << _PLACE_BITS) - 1

#: Variable of kernels: the order of an element as an integer of 32 bits.
order_of = variable("order_of")


class Keys(Arguments):
    keys = Elements(int64)  # (outer, inner, size)
    source = Elements(element)  # (outer, size, inner)
    size = Word()
    inner = Word()
    low = Word()  # what integers are counted from
    descending = Word()


class Digits(Arguments):
    keys = Elements(int64)  # (rows, size)
    scratch = Elements(int64)  # as much again
    size = Word()
    base = Word()  # the least that the upper half of a key may be
    bits = Word()  # of a digit
    passes = Word()  # digits


class Places(Arguments):
    places = Elements(int64)  # (outer, count, inner)
    keys = Elements(int64)  # (outer, inner, size)
    size = Word()
    inner = Word()
    start = Word()  # the first key of a row that is read
    count = Word()


class Selected(Arguments):
    places = Elements(int64)  # (rows, count)
    source = Elements(element)  # (rows, size)
    size = Word()
    count = Word()


class WholeRows(Arguments):
    places = Elements(int64)  # one a row
    scratch = Elements(int64)  # as much again
    source = Elements(element)  # (rows, width)
    rows = Word()
    width = Word()


class Ranked(Arguments):
    places = Elements(int64)  # one a row
    source = Elements(element)  # (rows, size)
    values = Elements(element)  # one a row, which is in it
    size = Word()
    rank = Word()  # of these in the order of their rows


@subroutine
def _order_of_float(value, low):
    """The pattern of a float32, which for negative ones counts the other way."""
    pattern = int64(bits(value))
    order = select(pattern < 0, pattern ^ 0x7FFFFFFF, pattern)
    order = select(value == 0, int64(0), order)
    return select(value != value, int64(0x7FFFFFFF), order)


@subroutine
def _order_of_integer(value, low):
    return int64(value) - low


_ORDERED = {
    **{name: {**values, "order_of": _order_of_float}
       for name, values in dtypes("float16 bfloat16 float32").items()},
    **{name: {**values, "order_of": _order_of_integer}
       for name, values in dtypes("int8 int16 int32 int64 uint8").items()},
}  # fmt: skip


@kernel(variants=_ORDERED, takes=Keys)
def order_keys(args, lo, hi):
    """keys[o, i, k] = the order of source[o, k, i], and in the lower half of the bits k."""
    given = Keys(args)
    keys, source, size, inner, low = given.keys, given.source, given.size, given.inner, given.low
    turned = int64(-1) if given.descending != 0 else int64(0)
    while lo < hi:
        outer = lo // inner
        first = lo - outer * inner
        rows = min(inner - first, hi - lo, _TOGETHER)
        at, target = outer * size * inner + first, lo * size
        if inner == 1:
            for k in range(size):
                order = order_of(load(source, at + k, element), low) ^ turned
                store(keys, target + k, (order << _PLACE_BITS) | k, int64)
        else:
            for k in range(size):
                for i in range(rows):
                    order = order_of(load(source, at + k * inner + i, element), low) ^ turned
                    store(keys, target + i * size + k, (order << _PLACE_BITS) | k, int64)
        lo += rows


@kernel(takes=Digits)
def radix_sort(args, lo, hi):
    """Sort each row by the upper halves of its keys, digit by digit from the lowest.

    Each pass moves a row from ``keys`` to ``scratch`` or back: where it ends their number says.
    """
    given = Digits(args)
    size, base, width = given.size, given.base, given.bits
    starts = address_of_stack(_DIGITS)
    last = (1 << width) - 1
    for row in range(lo, hi):
        source, target = given.keys + 8 * row * size, given.scratch + 8 * row * size
        for step in range(given.passes):
            shift = step * width
            for digit in range(last + 1):
                store(starts, digit, 0, int64)
            for k in range(size):
                digit = (((load(source, k, int64) >> _PLACE_BITS) - base) >> shift) & last
                store(starts, digit, load(starts, digit, int64) + 1, int64)
            start = 0
            for digit in range(last + 1):
                count = load(starts, digit, int64)
                store(starts, digit, start, int64)
                start += count
            for k in range(size):
                key = load(source, k, int64)
                digit = (((key >> _PLACE_BITS) - base) >> shift) & last
                position = load(starts, digit, int64)
                store(target, position, key, int64)
                store(starts, digit, position + 1, int64)
            source, target = target, source


@kernel(takes=Places)
def places_of_keys(args, lo, hi):
    """places[o, k, i] = the place in keys[o, i, start + k]."""
    given = Places(args)
    places, keys, size, inner = given.places, given.keys, given.size, given.inner
    start, count = given.start, given.count
    while lo < hi:
        outer = lo // inner
        first = lo - outer * inner
        rows = min(inner - first, hi - lo, _TOGETHER)
        target, at = outer * count * inner + first, lo * size + start
        if inner == 1:
            for k in range(count):
                store(places, target + k, load(keys, at + k, int64) & _PLACE, int64)
        else:
            for k in range(count):
                for i in range(rows):
                    place = load(keys, at + i * size + k, int64) & _PLACE
                    store(places, target + k * inner + i, place, int64)
        lo += rows


@subroutine
def _is_greater(a, b):
    return a > b or (a != a and b == b)


@subroutine
def _is_less(a, b):
    return a < b or (a == a and b != b)


@subroutine
def _may_be_greater(a, b):
    return not (a <= b)


@subroutine
def _may_be_less(a, b):
    return not (a >= b)


#: Whether an element comes before another one; whether it may, for a number that is no NaN.
is_before, may_be_before = variable("is_before"), variable("may_be_before")

_SELECTIONS = {
    f"{name}_{dtype}": {**values, "is_before": before, "may_be_before": may_be}
    for name, before, may_be in (
        ("largest", _is_greater, _may_be_greater),
        ("smallest", _is_less, _may_be_less),
    )
    for dtype, values in NUMBERS.items()
}

_BLOCK = 32


@kernel(variants=_SELECTIONS, takes=Selected)
def first_places(args, lo, hi):
    """The places of the first ``count`` elements of each row, in order, by insertion."""
    given = Selected(args)
    places, source, size, count = given.places, given.source, given.size, given.count
    for row in range(lo, hi):
        own, found = row * size, row * count
        filled, k = 0, 0
        while k < size:
            end = min(k + _BLOCK, size)
            if filled == count:
                last = load(source, own + load(places, found + count - 1, int64), element)
                wanted = int64(0)
                for at in range(k, end):
                    wanted |= int64(may_be_before(load(source, own + at, element), last))
                if wanted == 0:
                    k = end
                    continue
            while k < end:
                value = load(source, own + k, element)
                position = filled
                while position > 0:
                    place = load(places, found + position - 1, int64)
                    if not is_before(value, load(source, own + place, element)):
                        break
                    if position < count:
                        store(places, found + position, place, int64)
                    position -= 1
                if position < count:
                    store(places, found + position, k, int64)
                    filled = min(filled + 1, count)
                k += 1


@kernel(variants=NUMBERS, takes=Ranked)
def place_of_rank(args, lo, hi):
    """The place in each row of the element that has a rank and this value in its order."""
    given = Ranked(args)
    places, source, size = given.places, given.source, given.size
    for row in range(lo, hi):
        own, value = row * size, load(given.values, row, element)
        before = int64(0)
        for k in range(size):
            x = load(source, own + k, element)
            before += int64(_is_less(x, value))
        left, place = given.rank - before, size
        while left >= 0 and place > 0:
            place -= 1  # until here it counts from the end
            x = load(source, own + size - 1 - place, element)
            left -= int64(not (_is_less(x, value) or _is_less(value, x)))
        store(places, row, size - 1 - place, int64)


@kernel(variants=NUMBERS, takes=WholeRows)
def sort_whole_rows(args, lo, hi):
    """The places of rows in the order of their first elements that differ; one unit.

    Runs are merged, each time from ``places`` to ``scratch`` or back: where it ends the number of
    the rows says.
    """
    given = WholeRows(args)
    known, merged, source = given.places, given.scratch, given.source
    rows, width = given.rows, given.width
    for k in range(rows):
        store(known, k, k, int64)
    run = 1
    while run < rows:
        start = 0
        while start < rows:
            middle, end = min(start + run, rows), min(start + 2 * run, rows)
            a, b = start, middle
            for k in range(start, end):
                second = a == middle
                if a < middle and b < end:
                    x, y = load(known, a, int64) * width, load(known, b, int64) * width
                    for i in range(width):
                        one, other = load(source, x + i, element), load(source, y + i, element)
                        if one != other:  # or NaN
                            second = _is_less(other, one)
                            if second or _is_less(one, other):
                                break
                place = load(known, b if second else a, int64)
                store(merged, k, place, int64)
                a, b = a + int64(not second), b + int64(second)
            start = end
        known, merged = merged, known
        run *= 2
