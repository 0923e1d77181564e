"""The sum of the arrays of several processes, in memory that they share.

``distributed/shared_sums.py`` compiles these by name. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import float64, int64, load, store
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

#: Elements that are added up for all arrays before the next ones: they stay in the nearest cache.
CHUNK = 1024


class Summed(Arguments):
    """Arguments of the kernel."""

    addresses = Elements(int64)  # of the arrays
    factors = Elements(float64)  # that they are multiplied by
    ranks = Word()  # how many there are


@kernel(variants=dtypes("float32 float64"), takes=Summed)
def sum_for_all(args, lo, hi):
    """arrays[r][i] = f0 * arrays[0][i] + f1 * arrays[1][i] + ..., in this order, for every r."""
    given = Summed(args)
    addresses, factors, ranks = given.addresses, given.factors, given.ranks
    last = ranks - 1  # its array is read when those before it have been added up in the first one
    total, array_of_last = load(addresses, 0, int64), load(addresses, last, int64)
    factor_of_last = element(load(factors, last, float64))
    for start in range(lo, hi, CHUNK):
        end = min(start + CHUNK, hi)
        first = element(load(factors, 0, float64))
        for rank in range(1, last):
            array, factor = load(addresses, rank, int64), element(load(factors, rank, float64))
            for i in range(start, end):
                scaled = first * load(total, i, element)
                store(total, i, scaled + factor * load(array, i, element), element)
            first = element(1.0)
        for i in range(start, end):
            scaled = first * load(total, i, element)
            value = scaled + factor_of_last * load(array_of_last, i, element)
            store(total, i, value, element)
            store(array_of_last, i, value, element)
        for rank in range(1, last):
            array = load(addresses, rank, int64)
            for i in range(start, end):
                store(array, i, load(total, i, element), element)
