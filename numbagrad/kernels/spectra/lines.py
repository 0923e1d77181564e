"""Fourier transforms of lines whose length is a product of 2, 3, 4 and 5, many beside each other.

Stockham's algorithm: each stage reads lines in one order and writes them in the next, so that they
end sorted. A vector holds one place of many lines, and a stage is arithmetic on whole vectors; real
and imaginary parts lie apart. A line of real numbers is a complex one of half the length.
``executor/families/spectra.py`` compiles these by name. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import (
    address_of_stack,
    int64,
    load,
    load_apart,
    select,
    store,
    store_apart,
    subroutine,
)
from ...codegen.kernel import element, kernel, variable
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements
from .layout import LANES, SCRATCH_WORDS, VECTOR_BYTES

#: Places of lines that are read and written before the next ones.
_PLACES = 64

#: Variable of kernels: elements of a vector.
lanes = variable("lanes")

_VARIANTS = {
    name: {**values, "lanes": LANES[name]} for name, values in dtypes("float32 float64").items()
}


class Lines(Arguments):
    """Lines lie in arrays of (outer, elements of a line, inner)."""

    output = Elements(element)
    source = Elements(element)
    table = Elements(element)  # a factor, for each stage powers of its root, and those for halves
    radices = Elements(int64)  # of the stages
    stages = Word()
    size = Word()  # of the transform that is computed
    inner = Word()
    kept = Word()  # elements of a line of the output
    turned = Word()  # 1 for the transform whose exponents are positive


# Stages. ``x`` and ``y`` have the parts ``part`` elements apart; ``run`` elements lie in a row that
# are multiplied by the same power of a root.


@subroutine
def _stage_of_two(x, y, part, run, places, table, element):
    """Sums and differences of pairs."""
    leap = run * places
    for p in range(places):
        at, to = run * p, 2 * run * p
        c1 = load(table, 2 * p, element)
        s1 = load(table, 2 * p + 1, element)
        for t in range(run):
            k = at + t
            a0, b0 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + leap + t
            a1, b1 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            u0, v0 = a0 + a1, b0 + b1
            u1, v1 = a0 - a1, b0 - b1
            k = to + t
            store_apart(y, k, u0, element, 1)
            store_apart(y, part + k, v0, element, 2)
            k = to + run + t
            store_apart(y, k, u1 * c1 - v1 * s1, element, 3)
            store_apart(y, part + k, u1 * s1 + v1 * c1, element, 4)


@subroutine
def _stage_of_three(x, y, part, run, places, table, element):
    """Three at a time: cosine and sine of a third of the circle."""
    sine = element(0.8660254037844386)
    half = element(0.5)
    leap = run * places
    for p in range(places):
        at, to = run * p, 3 * run * p
        c1 = load(table, 4 * p, element)
        s1 = load(table, 4 * p + 1, element)
        c2 = load(table, 4 * p + 2, element)
        s2 = load(table, 4 * p + 3, element)
        for t in range(run):
            k = at + t
            a0, b0 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + leap + t
            a1, b1 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + 2 * leap + t
            a2, b2 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            a3, b3 = a1 + a2, b1 + b2
            u0, v0 = a0 + a3, b0 + b3
            a3, b3 = a0 - half * a3, b0 - half * b3
            a4, b4 = sine * (a1 - a2), sine * (b1 - b2)
            u1, v1 = a3 + b4, b3 - a4
            u2, v2 = a3 - b4, b3 + a4
            k = to + t
            store_apart(y, k, u0, element, 1)
            store_apart(y, part + k, v0, element, 2)
            k = to + run + t
            store_apart(y, k, u1 * c1 - v1 * s1, element, 3)
            store_apart(y, part + k, u1 * s1 + v1 * c1, element, 4)
            k = to + 2 * run + t
            store_apart(y, k, u2 * c2 - v2 * s2, element, 5)
            store_apart(y, part + k, u2 * s2 + v2 * c2, element, 6)


@subroutine
def _stage_of_four(x, y, part, run, places, table, element):
    """Four at a time, whose roots are 1, -i, -1 and i."""
    leap = run * places
    for p in range(places):
        at, to = run * p, 4 * run * p
        c1 = load(table, 6 * p, element)
        s1 = load(table, 6 * p + 1, element)
        c2 = load(table, 6 * p + 2, element)
        s2 = load(table, 6 * p + 3, element)
        c3 = load(table, 6 * p + 4, element)
        s3 = load(table, 6 * p + 5, element)
        for t in range(run):
            k = at + t
            a0, b0 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + leap + t
            a1, b1 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + 2 * leap + t
            a2, b2 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + 3 * leap + t
            a3, b3 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            a4, b4 = a0 + a2, b0 + b2
            a5, b5 = a0 - a2, b0 - b2
            a6, b6 = a1 + a3, b1 + b3
            a7, b7 = a1 - a3, b1 - b3
            u0, v0 = a4 + a6, b4 + b6
            u1, v1 = a5 + b7, b5 - a7
            u2, v2 = a4 - a6, b4 - b6
            u3, v3 = a5 - b7, b5 + a7
            k = to + t
            store_apart(y, k, u0, element, 1)
            store_apart(y, part + k, v0, element, 2)
            k = to + run + t
            store_apart(y, k, u1 * c1 - v1 * s1, element, 3)
            store_apart(y, part + k, u1 * s1 + v1 * c1, element, 4)
            k = to + 2 * run + t
            store_apart(y, k, u2 * c2 - v2 * s2, element, 5)
            store_apart(y, part + k, u2 * s2 + v2 * c2, element, 6)
            k = to + 3 * run + t
            store_apart(y, k, u3 * c3 - v3 * s3, element, 7)
            store_apart(y, part + k, u3 * s3 + v3 * c3, element, 8)


@subroutine
def _stage_of_five(x, y, part, run, places, table, element):
    """Five at a time: cosines and sines of one and two fifths of the circle."""
    cosine_1, sine_1 = element(0.30901699437494745), element(0.9510565162951535)
    cosine_2, sine_2 = element(-0.8090169943749475), element(0.5877852522924731)
    leap = run * places
    for p in range(places):
        at, to = run * p, 5 * run * p
        c1 = load(table, 8 * p, element)
        s1 = load(table, 8 * p + 1, element)
        c2 = load(table, 8 * p + 2, element)
        s2 = load(table, 8 * p + 3, element)
        c3 = load(table, 8 * p + 4, element)
        s3 = load(table, 8 * p + 5, element)
        c4 = load(table, 8 * p + 6, element)
        s4 = load(table, 8 * p + 7, element)
        for t in range(run):
            k = at + t
            a0, b0 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + leap + t
            a1, b1 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + 2 * leap + t
            a2, b2 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + 3 * leap + t
            a3, b3 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            k = at + 4 * leap + t
            a4, b4 = load_apart(x, k, element, 11), load_apart(x, part + k, element, 11)
            a5, b5, a6, b6 = a1 + a4, b1 + b4, a1 - a4, b1 - b4
            a7, b7, a8, b8 = a2 + a3, b2 + b3, a2 - a3, b2 - b3
            u0, v0 = a0 + a5 + a7, b0 + b5 + b7
            a1, b1 = a0 + cosine_1 * a5 + cosine_2 * a7, b0 + cosine_1 * b5 + cosine_2 * b7
            a2, b2 = a0 + cosine_2 * a5 + cosine_1 * a7, b0 + cosine_2 * b5 + cosine_1 * b7
            a3, b3 = sine_1 * a6 + sine_2 * a8, sine_1 * b6 + sine_2 * b8
            a4, b4 = sine_2 * a6 - sine_1 * a8, sine_2 * b6 - sine_1 * b8
            u1, v1, u4, v4 = a1 + b3, b1 - a3, a1 - b3, b1 + a3
            u2, v2, u3, v3 = a2 + b4, b2 - a4, a2 - b4, b2 + a4
            k = to + t
            store_apart(y, k, u0, element, 1)
            store_apart(y, part + k, v0, element, 2)
            k = to + run + t
            store_apart(y, k, u1 * c1 - v1 * s1, element, 3)
            store_apart(y, part + k, u1 * s1 + v1 * c1, element, 4)
            k = to + 2 * run + t
            store_apart(y, k, u2 * c2 - v2 * s2, element, 5)
            store_apart(y, part + k, u2 * s2 + v2 * c2, element, 6)
            k = to + 3 * run + t
            store_apart(y, k, u3 * c3 - v3 * s3, element, 7)
            store_apart(y, part + k, u3 * s3 + v3 * c3, element, 8)
            k = to + 4 * run + t
            store_apart(y, k, u4 * c4 - v4 * s4, element, 9)
            store_apart(y, part + k, u4 * s4 + v4 * c4, element, 10)


@subroutine
def _transform(given, x, y, part, lanes, element):
    """All stages; whichever of the two has the result."""
    places, run, size = given.size, lanes, VECTOR_BYTES // lanes
    table = given.table + size
    for stage in range(given.stages):
        radix = load(given.radices, stage, int64)
        places //= radix
        if radix == 4:
            _stage_of_four(x, y, part, run, places, table, element)
        elif radix == 2:
            _stage_of_two(x, y, part, run, places, table, element)
        elif radix == 3:
            _stage_of_three(x, y, part, run, places, table, element)
        else:
            _stage_of_five(x, y, part, run, places, table, element)
        table += 2 * (radix - 1) * places * size
        run *= radix
        x, y = y, x
    return x


# Lines and lanes. Four lines at a time: more drive each other out of the cache where their length
# is a power of two; and for as many places as the first cache has room for in the lanes.


@subroutine
def _read_four(
    source, at, line, step, second, x, reals, imaginaries, count, lane, last, lanes, element
):
    """Two numbers from each place of up to four lines, into the parts of lanes from ``lane`` on."""
    lane1 = min(lane + 1, last)
    lane2 = min(lane + 2, last)
    lane3 = min(lane + 3, last)
    n0 = at + lane * line
    n1 = at + lane1 * line
    n2 = at + lane2 * line
    n3 = at + lane3 * line
    for k in range(count):
        n, to = k * step, k * lanes
        store(x, reals + to + lane, load(source, n0 + n, element), element)
        store(x, imaginaries + to + lane, load(source, n0 + n + second, element), element)
        store(x, reals + to + lane1, load(source, n1 + n, element), element)
        store(x, imaginaries + to + lane1, load(source, n1 + n + second, element), element)
        store(x, reals + to + lane2, load(source, n2 + n, element), element)
        store(x, imaginaries + to + lane2, load(source, n2 + n + second, element), element)
        store(x, reals + to + lane3, load(source, n3 + n, element), element)
        store(x, imaginaries + to + lane3, load(source, n3 + n + second, element), element)


@subroutine
def _write_four(
    output,
    at,
    line,
    step,
    second,
    x,
    reals,
    imaginaries,
    count,
    lane,
    last,
    factor,
    other,
    lanes,
    element,
):
    """The way back, times a factor for either part."""
    lane1 = min(lane + 1, last)
    lane2 = min(lane + 2, last)
    lane3 = min(lane + 3, last)
    n0 = at + lane * line
    n1 = at + lane1 * line
    n2 = at + lane2 * line
    n3 = at + lane3 * line
    for k in range(count):
        n, to = k * step, k * lanes
        store(output, n0 + n, factor * load(x, reals + to + lane, element), element)
        store(output, n0 + n + second, other * load(x, imaginaries + to + lane, element), element)
        store(output, n1 + n, factor * load(x, reals + to + lane1, element), element)
        store(output, n1 + n + second, other * load(x, imaginaries + to + lane1, element), element)
        store(output, n2 + n, factor * load(x, reals + to + lane2, element), element)
        store(output, n2 + n + second, other * load(x, imaginaries + to + lane2, element), element)
        store(output, n3 + n, factor * load(x, reals + to + lane3, element), element)
        store(output, n3 + n + second, other * load(x, imaginaries + to + lane3, element), element)


@subroutine
def _read_lines(
    source, at, line, step, second, x, reals, imaginaries, count, together, lanes, element
):
    """Two numbers from each of ``count`` places of lines into their lanes."""
    for k in range(0, count, _PLACES):
        some, to = min(count - k, _PLACES), k * lanes
        for lane in range(0, together, 4):
            _read_four(
                source, at + k * step, line, step, second, x, reals + to, imaginaries + to, some,
                lane, together - 1, lanes, element,
            )  # fmt: skip


@subroutine
def _write_lines(
    output, at, line, step, second, x, reals, imaginaries, count, together, factor, other, lanes,
    element,
):  # fmt: skip
    """The way back, times a factor for either part."""
    for k in range(0, count, _PLACES):
        some, to = min(count - k, _PLACES), k * lanes
        for lane in range(0, together, 4):
            _write_four(
                output, at + k * step, line, step, second, x, reals + to, imaginaries + to, some,
                lane, together - 1, factor, other, lanes, element,
            )  # fmt: skip


@subroutine
def _lines_from(lo, hi, inner, most):
    """How many lines are taken together, and where the first lies: outside, and inside."""
    outer = lo // inner
    first = lo - outer * inner
    together = min(hi - lo, most)
    if inner != 1:
        together = min(together, inner - first)
    return together, outer, first


@kernel(variants=_VARIANTS, takes=Lines)
def complex_lines(args, lo, hi):
    """output[o, k, i] = factor * sum(source[o, n, i] * e**(-2 pi i k n / size)), over lines."""
    given = Lines(args)
    output, source, size, inner = given.output, given.source, given.size, given.inner
    factor, part = load(given.table, 0, element), (size + 1) * lanes
    memory = address_of_stack(SCRATCH_WORDS)
    reals, imaginaries = given.turned * part, (1 - given.turned) * part
    while lo < hi:
        together, outer, first = _lines_from(lo, hi, inner, lanes)
        at = 2 * (outer * size * inner + first)
        if inner == 1:
            _read_lines(
                source, at, 2 * size, 2, 1, memory, reals, imaginaries, size, together, lanes,
                element,
            )  # fmt: skip
        else:
            for k in range(size):
                for lane in range(together):
                    n, to = at + 2 * (k * inner + lane), k * lanes + lane
                    a, b = load_apart(source, n, element, 1), load_apart(source, n + 1, element, 1)
                    store_apart(memory, reals + to, a, element, 2)
                    store_apart(memory, imaginaries + to, b, element, 3)
        other = memory + 2 * part * (VECTOR_BYTES // lanes)
        x = _transform(given, memory, other, part, lanes, element)
        if inner == 1:
            _write_lines(
                output, at, 2 * size, 2, 1, x, reals, imaginaries, size, together, factor, factor,
                lanes, element,
            )  # fmt: skip
        else:
            for k in range(size):
                for lane in range(together):
                    n, to = at + 2 * (k * inner + lane), k * lanes + lane
                    a = factor * load_apart(x, reals + to, element, 2)
                    b = factor * load_apart(x, imaginaries + to, element, 2)
                    store_apart(output, n, a, element, 1)
                    store_apart(output, n + 1, b, element, 1)
        lo += together


# Real numbers at even places are the real parts of a line of half the size, the others its
# imaginary parts. Sums and differences of the transform and its mirrored conjugate belong to the
# two kinds.


@subroutine
def _split(x, y, part, size, roots, lanes, element):
    """Twice the first size + 1 elements of the transform of 2 * size real numbers."""
    for k in range(size + 1):
        c, s = load(roots, 2 * k, element), load(roots, 2 * k + 1, element)
        near, far, to = k % size * lanes, (size - k) % size * lanes, k * lanes
        for lane in range(lanes):
            a = load_apart(x, near + lane, element, 3)
            b = load_apart(x, part + near + lane, element, 3)
            d = load_apart(x, far + lane, element, 3)
            e = load_apart(x, part + far + lane, element, 3)
            u, v = b + e, d - a
            store_apart(y, to + lane, a + d + c * u - s * v, element, 1)
            store_apart(y, part + to + lane, b - e + c * v + s * u, element, 2)


@subroutine
def _joined(x, y, part, size, roots, lanes, element):
    """Twice the line of half the size, its parts in each other's place.

    The first and the last element are taken as real.
    """
    for lane in range(lanes):
        store(x, part + lane, element(0), element)
        store(x, part + size * lanes + lane, element(0), element)
    for k in range(size):
        c, s = load(roots, 2 * k, element), load(roots, 2 * k + 1, element)
        near, far = k * lanes, (size - k) * lanes
        for lane in range(lanes):
            a = load_apart(x, near + lane, element, 3)
            b = load_apart(x, part + near + lane, element, 3)
            d = load_apart(x, far + lane, element, 3)
            e = load_apart(x, part + far + lane, element, 3)
            u, v = a - d, b + e
            store_apart(y, part + near + lane, a + d + s * u - c * v, element, 1)
            store_apart(y, near + lane, b - e + c * u + s * v, element, 2)


@kernel(variants=_VARIANTS, takes=Lines)
def real_lines(args, lo, hi):
    """The same of lines of 2 * size real numbers, the first ``kept`` of each."""
    given = Lines(args)
    output, source, size, inner, kept = (
        given.output, given.source, given.size, given.inner, given.kept,
    )  # fmt: skip
    factor, part = element(0.5) * load(given.table, 0, element), (size + 1) * lanes
    sign = select(given.turned == 1, -factor, factor)
    roots = given.table + (2 * size - 1) * (VECTOR_BYTES // lanes)
    memory = address_of_stack(SCRATCH_WORDS)
    other = memory + 2 * part * (VECTOR_BYTES // lanes)
    while lo < hi:
        together, outer, first = _lines_from(lo, hi, inner, lanes)
        at, line = outer * 2 * size * inner + first, select(inner == 1, 2 * size, 1)
        _read_lines(
            source, at, line, 2 * inner, inner, memory, 0, part, size, together, lanes, element,
        )  # fmt: skip
        x = _transform(given, memory, other, part, lanes, element)
        y = memory + other - x
        _split(x, y, part, size, roots, lanes, element)
        at, line = 2 * (outer * kept * inner + first), select(inner == 1, 2 * kept, 2)
        _write_lines(
            output, at, line, 2 * inner, 1, y, 0, part, size + 1, together, factor, sign, lanes,
            element,
        )  # fmt: skip
        if kept > size + 1:
            at += 2 * (2 * size - 1) * inner
            _write_lines(
                output, at, line, -2 * inner, 1, y, lanes, part + lanes, size - 1, together, factor,
                -sign, lanes, element,
            )  # fmt: skip
        lo += together


@kernel(variants=_VARIANTS, takes=Lines)
def half_lines(args, lo, hi):
    """2 * size real numbers from the first size + 1 of their transforms; exponents are positive."""
    given = Lines(args)
    output, source, size, inner = given.output, given.source, given.size, given.inner
    factor, part = load(given.table, 0, element), (size + 1) * lanes
    roots = given.table + (2 * size - 1) * (VECTOR_BYTES // lanes)
    memory = address_of_stack(SCRATCH_WORDS)
    other = memory + 2 * part * (VECTOR_BYTES // lanes)
    while lo < hi:
        together, outer, first = _lines_from(lo, hi, inner, lanes)
        at, line = 2 * (outer * (size + 1) * inner + first), select(inner == 1, 2 * size + 2, 2)
        _read_lines(
            source, at, line, 2 * inner, 1, memory, 0, part, size + 1, together, lanes, element,
        )  # fmt: skip
        _joined(memory, other, part, size, roots, lanes, element)
        x = _transform(given, other, memory, part, lanes, element)
        at, line = outer * 2 * size * inner + first, select(inner == 1, 2 * size, 1)
        _write_lines(
            output, at, line, 2 * inner, inner, x, part, 0, size, together, factor, factor, lanes,
            element,
        )  # fmt: skip
        lo += together
