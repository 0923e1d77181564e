"""The sum of the arrays of several processes, in memory that they share.

``distributed/shared_sums.py`` compiles these by name. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, store
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

#: Elements that are added up for all arrays before the next ones: they stay in the nearest cache.
CHUNK = 1024


class Summed(Arguments):
    """Arguments of the kernel."""

    addresses = Elements(int64)  # of the arrays
    ranks = Word()  # how many there are


@kernel(variants=dtypes("float32 float64"), takes=Summed)
def sum_for_all(args, lo, hi):
    """arrays[r][i] = arrays[0][i] + arrays[1][i] + ..., added up in this order, for every r."""
    given = Summed(args)
    addresses, ranks = given.addresses, given.ranks
    total = load(addresses, 0, int64)
    for start in range(lo, hi, CHUNK):
        end = min(start + CHUNK, hi)
        for rank in range(1, ranks):
            array = load(addresses, rank, int64)
            for i in range(start, end):
                store(total, i, load(total, i, element) + load(array, i, element), element)
        for rank in range(1, ranks):
            array = load(addresses, rank, int64)
            for i in range(start, end):
                store(array, i, load(total, i, element), element)
