"""Lines of elements as weighted sums of a few neighbours: linear, cubic and smoothing resampling.

``executor/families/interpolation.py`` compiles it by name. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load_apart, store_apart
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements


class Weighted(Arguments):
    """Arguments of ``weigh``."""

    output = Elements(element)  # (outer, count, inner)
    source = Elements(element)  # (outer, size, inner)
    weights = Elements(element)  # (count, taps)
    spans = Elements(int64)  # (count, 2): the first element of a sum, and the end; or both of two
    size = Word()
    count = Word()
    inner = Word()
    taps = Word()
    pairs = Word()  # whether each sum is of two elements


@kernel(variants=dtypes("float32 float64"), takes=Weighted)
def weigh(args, lo, hi):
    """output[o, k, i] = the sum over taps of weights[k, t] * source[o, spans[k] + t, i].

    A unit is a pair (o, k).
    """
    given = Weighted(args)
    output, source, weights, spans = given.output, given.source, given.weights, given.spans
    size, count, inner, taps = given.size, given.count, given.inner, given.taps
    outer = lo // count
    while lo < hi:
        end, start, before = min(hi, (outer + 1) * count), outer * size * inner, outer * count
        if inner == 1 and given.pairs != 0:
            for at in range(lo, end):
                k = 2 * (at - before)
                a = start + load_apart(spans, k, int64, 3)
                b = start + load_apart(spans, k + 1, int64, 3)
                total = load_apart(weights, k, element, 4) * load_apart(source, a, element, 2)
                total += load_apart(weights, k + 1, element, 4) * load_apart(source, b, element, 2)
                store_apart(output, at, total, element, 1)
        elif inner == 1:
            for at in range(lo, end):
                k = at - before
                first, last = (
                    load_apart(spans, 2 * k, int64, 3),
                    load_apart(spans, 2 * k + 1, int64, 3),
                )
                total = element(0)
                for t in range(first, last):
                    weight = load_apart(weights, k * taps + t - first, element, 4)
                    total += weight * load_apart(source, start + t, element, 2)
                store_apart(output, at, total, element, 1)
        else:
            for at in range(lo, end):
                k, row = at - before, at * inner
                first, last = (
                    load_apart(spans, 2 * k, int64, 3),
                    load_apart(spans, 2 * k + 1, int64, 3),
                )
                a, b = start + first * inner, start + last * inner
                one = load_apart(weights, k * taps, element, 4)
                if given.pairs != 0:
                    other = load_apart(weights, k * taps + 1, element, 4)
                    for i in range(inner):
                        total = one * load_apart(source, a + i, element, 2)
                        total += other * load_apart(source, b + i, element, 2)
                        store_apart(output, row + i, total, element, 1)
                    continue
                for i in range(inner):
                    total = (
                        one * load_apart(source, a + i, element, 2) if first < last else element(0)
                    )
                    store_apart(output, row + i, total, element, 1)
                for t in range(first + 1, last):
                    weight, a = load_apart(weights, k * taps + t - first, element, 4), a + inner
                    for i in range(inner):
                        total = load_apart(output, row + i, element, 1)
                        total += weight * load_apart(source, a + i, element, 2)
                        store_apart(output, row + i, total, element, 1)
        lo = end
        outer += 1
