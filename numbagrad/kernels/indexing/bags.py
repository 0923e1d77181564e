"""Sums of the rows of a table in bags of indices: the forward of ``embedding_bag``.

``executor/families/indexing.py`` compiles it by name. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, load_apart, store_apart
from ...codegen.kernel import element, kernel, real
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements


class Bags(Arguments):
    """Arguments of the kernel."""

    output = Elements(element)  # (bags, width)
    table = Elements(element)
    index = Elements(int64)
    starts = Elements(int64)  # where bags begin in index, and the end of the last
    width = Word()  # of a row
    padding = Word()  # the index that counts for nothing, or a negative number


@kernel(variants=dtypes("float32 float64"), takes=Bags)
def sum_bags(args, lo, hi):
    """output[b] = the sum of table[index[k]] for k in [starts[b], starts[b + 1]), over bags b.

    Rows are added in their order, four in a pass where they are: the sums stay in registers.
    """
    given = Bags(args)
    output, table, index, starts = given.output, given.table, given.index, given.starts
    width, padding = given.width, given.padding
    for bag in range(lo, hi):
        first, last = load(starts, bag, int64), load(starts, bag + 1, int64)
        at = bag * width
        while first < last and load(index, first, int64) == padding:
            first += 1
        if first == last:
            for i in range(width):
                store_apart(output, at + i, real(0), element, 1)
        else:
            row = load(index, first, int64) * width
            for i in range(width):
                store_apart(output, at + i, load_apart(table, row + i, element, 2), element, 1)
        k = first + 1
        while k < last:
            a = load(index, k, int64)
            b, c, d = padding, padding, padding
            if k + 4 <= last:
                b, c, d = (
                    load(index, k + 1, int64),
                    load(index, k + 2, int64),
                    load(index, k + 3, int64),
                )
            if a != padding and b != padding and c != padding and d != padding:
                a, b, c, d = a * width, b * width, c * width, d * width
                for i in range(width):
                    value = load_apart(output, at + i, element, 1)
                    value += load_apart(table, a + i, element, 2)
                    value += load_apart(table, b + i, element, 2)
                    value += load_apart(table, c + i, element, 2)
                    value += load_apart(table, d + i, element, 2)
                    store_apart(output, at + i, value, element, 1)
                k += 4
            else:
                if a != padding:
                    row = a * width
                    for i in range(width):
                        value = load_apart(output, at + i, element, 1)
                        value += load_apart(table, row + i, element, 2)
                        store_apart(output, at + i, value, element, 1)
                k += 1
