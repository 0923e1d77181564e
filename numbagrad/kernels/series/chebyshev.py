"""Sums of Chebyshev series by Clenshaw's recurrence, for a block of arguments at once.

``executor/families/series.py`` compiles it by name. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import address_of_stack, float64, load, store
from ...codegen.kernel import kernel
from ...codegen.record import Word
from ..packing import Arguments, Elements

#: Arguments whose recurrences run side by side: each waits for its last step.
_BLOCK = 32


class Series(Arguments):
    output = Elements(float64)
    x = Elements(float64)  # arguments, in [-1, 1]
    coefficients = Elements(float64)
    count = Word()  # of coefficients, at least 2


@kernel(takes=Series)
def chebyshev_sum(args, lo, hi):
    """output[k] = the sum of coefficients[n] * T_n(x[k])."""
    given = Series(args)
    output, x, coefficients, count = given.output, given.x, given.coefficients, given.count
    first, second = address_of_stack(_BLOCK), address_of_stack(_BLOCK)
    for start in range(lo, hi, _BLOCK):
        size = min(_BLOCK, hi - start)
        for k in range(_BLOCK):
            store(first, k, load(coefficients, count - 2, float64), float64)
            store(second, k, load(coefficients, count - 1, float64), float64)
        for n in range(count - 3, -1, -1):
            coefficient = load(coefficients, n, float64)
            for k in range(size):
                before, after = load(first, k, float64), load(second, k, float64)
                twice = 2.0 * load(x, start + k, float64)
                store(first, k, coefficient - after, float64)
                store(second, k, before + twice * after, float64)
        for k in range(size):
            value = load(first, k, float64) + load(second, k, float64) * load(x, start + k, float64)
            store(output, start + k, value, float64)
