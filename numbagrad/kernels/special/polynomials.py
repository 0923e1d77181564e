"""Orthogonal polynomials by their recurrences, element by element.

Launched by ``executor/families/special.py``. Chebyshev polynomials of higher degrees within [-1, 1]
are their circular functions (NIST DLMF 18.5), where recurrences would lose digits. All is computed
in float64. Imported only to compile.
"""

from __future__ import annotations

import math

from ...codegen.intrinsics import float64, load, store, subroutine
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements
from .layout import HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE, T, U, V

#: From this degree on circular functions are used within (-1, 1).
_CIRCULAR = 7
#: Hermite's polynomials of higher degrees are not computed, as in torch.
_LAST_HERMITE = 512
#: Degrees that no integer of 64 bits holds count as negative ones.
_TOO_LARGE = 2.0**63


class Polynomials(Arguments):
    output = Elements(element)
    x = Elements(element)
    degrees = Elements(element)
    degree_step = Word()  # 0 for one degree
    family = Word()
    shifted = Word()  # 1 for polynomials of [0, 1]


@subroutine
def _circular(family, n, x):
    """A Chebyshev polynomial at the cosine of an angle."""
    angle = math.acos(x)
    if family == T:
        return math.cos(n * angle)
    if family == U:
        return math.sin((n + 1) * angle) / math.sin(angle)
    if family == V:
        return math.cos((n + 0.5) * angle) / math.cos(angle / 2)
    return math.sin((n + 0.5) * angle) / math.sin(angle / 2)


@subroutine
def _of_degree_one(family, x):
    if family == T or family == LEGENDRE or family == HERMITE_HE:
        return x
    if family == U or family == HERMITE_H:
        return 2 * x
    if family == V:
        return 2 * x - 1
    if family == LAGUERRE:
        return 1 - x
    return 2 * x + 1


@subroutine
def _value(family, n, x):
    """The polynomial of degree n at x."""
    if not (n >= 0 and n < _TOO_LARGE):
        return 0.0
    if n == 0:
        return 1.0
    if x != x:
        return x
    hermite = family == HERMITE_H or family == HERMITE_HE
    if hermite and n > _LAST_HERMITE:
        return math.nan
    before, here = 1.0, _of_degree_one(family, x)
    if not hermite and family != LAGUERRE and family != LEGENDRE:
        if n >= _CIRCULAR and abs(x) < 1:
            return _circular(family, n, x)
        k = 1.0
        while k < n:
            before, here = here, 2 * x * here - before
            k += 1
        return here
    factor = 2.0 if family == HERMITE_H else 1.0
    k = 1.0
    while k < n:
        if hermite:
            before, here = here, factor * (x * here - k * before)
        elif family == LAGUERRE:
            before, here = here, ((2 * k + 1 - x) * here - k * before) / (k + 1)
        else:
            before, here = here, ((2 * k + 1) * x * here - k * before) / (k + 1)
        k += 1
    return here


@kernel(variants=dtypes("float32 float64"), takes=Polynomials)
def polynomial(args, lo, hi):
    """output[k] = the polynomial of the integer part of a degree at x[k]."""
    given = Polynomials(args)
    output, xs, degrees, step = given.output, given.x, given.degrees, given.degree_step
    family, shifted = given.family, given.shifted
    for k in range(lo, hi):
        x = float64(load(xs, k, element))
        if shifted != 0:
            x = 2 * x - 1
        n = float64(load(degrees, k * step, element))
        n = math.floor(n) if n >= 0 else -math.floor(-n)
        store(output, k, element(_value(family, float64(n), x)), element)
