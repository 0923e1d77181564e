"""Products of a sparse matrix with a dense one, and of two dense ones at places of a sparse one.

``executor/families/sparse.py`` compiles these by name. A row of the result is computed by one
thread, in the order of its places: the bits are the same for any number of threads. Imported only
to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, load_apart, store, store_apart
from ...codegen.kernel import element, kernel, real
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

_KINDS = dtypes("float32 float64 int32 int64")


class Product(Arguments):
    """Arguments of ``multiply``."""

    output = Elements(element)  # (rows, width)
    values = Elements(element)
    dense = Elements(element)  # (columns, width)
    places = Elements(int64)  # of values, row by row
    columns = Elements(int64)  # of these places
    starts = Elements(int64)  # where rows begin among them, and the end of the last
    width = Word()


class Sampled(Arguments):
    """Arguments of ``sample``."""

    output = Elements(element)  # of each place
    left = Elements(element)  # (rows, width)
    right = Elements(element)  # (columns, width)
    rows = Elements(int64)
    columns = Elements(int64)
    width = Word()


@kernel(variants=_KINDS, takes=Product)
def multiply(args, lo, hi):
    """output[r] = the sum of values[places[k]] * dense[columns[k]] over the k of row r."""
    given = Product(args)
    output, values, dense, places = given.output, given.values, given.dense, given.places
    columns, starts, width = given.columns, given.starts, given.width
    for row in range(lo, hi):
        at = row * width
        for i in range(width):
            store_apart(output, at + i, real(0), element, 1)
        for k in range(load(starts, row, int64), load(starts, row + 1, int64)):
            factor = load(values, load(places, k, int64), element)
            source = load(columns, k, int64) * width
            for i in range(width):
                term = factor * load_apart(dense, source + i, element, 2)
                total = load_apart(output, at + i, element, 1) + term
                store_apart(output, at + i, real(total), element, 1)


@kernel(variants=_KINDS, takes=Sampled)
def sample(args, lo, hi):
    """output[k] = the product of row rows[k] of left and row columns[k] of right, over places."""
    given = Sampled(args)
    output, left, right = given.output, given.left, given.right
    rows, columns, width = given.rows, given.columns, given.width
    for k in range(lo, hi):
        one = load(rows, k, int64) * width
        other = load(columns, k, int64) * width
        # Four sums, which do not wait for one another.
        first, second, third, fourth = real(0), real(0), real(0), real(0)
        whole = width - width % 4
        for i in range(0, whole, 4):
            first += load(left, one + i, element) * load(right, other + i, element)
            second += load(left, one + i + 1, element) * load(right, other + i + 1, element)
            third += load(left, one + i + 2, element) * load(right, other + i + 2, element)
            fourth += load(left, one + i + 3, element) * load(right, other + i + 3, element)
        for i in range(whole, width):
            first += load(left, one + i, element) * load(right, other + i, element)
        store(output, k, real((first + second) + (third + fourth)), element)
