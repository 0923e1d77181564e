"""Kernels of ``grid_sample``: elements at the places of a grid, linear between them or the nearest.

``executor/families/interpolation.py`` compiles these by name. A sample is a weighted sum of the
same few elements in all channels, so where they are and what they weigh is found once for it.
Images are volumes of one layer. Places are rounded as the definition in ``nn/functional/grid.py``
rounds them, so that both take the same elements. Imported only to compile.
"""

from __future__ import annotations

import functools

from ...codegen.intrinsics import (
    address_of_stack,
    floor,
    fmod,
    int64,
    load,
    rint,
    store,
    subroutine,
)
from ...codegen.kernel import Values, element, kernel, variable
from ..dtypes import dtypes
from ..packing import Arguments, Elements
from .layout import REFLECTION, ZEROS, Geometry

#: The elements that a sample takes, on the stack: offsets, weights, and by coordinate how these
#: grow with it. There are eight at most.
_OFFSETS, _WEIGHTS, _SLOPES, _WORDS = 0, 8, 16, 40

around, write_taps = variable("around"), variable("write_taps")
size_of, zero, one = variable("size_of"), variable("zero"), variable("one")


def _values(name: str) -> Values:
    """The variables of the kernels' text for a dtype."""
    element = dtypes(name)[name]["element"]
    zero, half, one, two = element(0), element(0.5), element(1), element(2)
    bytes_of = element.bitwidth // 8

    @subroutine(fastmath=())
    def mirrored(position, slope, size, corners):
        """A place reflected at the borders until it is between them, and its derivative."""
        low = zero if corners else -half
        span = element(size - 1) if corners else element(size)
        if span == zero:
            return zero, zero
        away = position - low
        if away < zero:
            away, slope = -away, -slope
        beyond = fmod(away, span)
        if fmod(floor(away / span), two) == zero:
            return beyond + low, slope
        return span - beyond + low, -slope

    @subroutine(fastmath=())
    def place(coordinate, size, padding, corners):
        """Where along a dimension a coordinate is, and the derivative of that."""
        if corners:
            slope = element(size - 1) * half
            position = (coordinate + one) * slope
        else:
            slope = element(size) * half
            position = ((coordinate + one) * element(size) - one) * half
        if padding == REFLECTION:
            position, slope = mirrored(position, slope, size, corners)
        if padding != ZEROS:
            last = element(size - 1)
            if not position > zero:  # also NaN
                return zero, zero
            if not position < last:
                return last, zero
        return position, slope

    @subroutine(fastmath=())
    def along(coordinate, size, padding, corners, nearest):
        """The first element along a dimension, the weights of it and the next, and their slope.

        An element that takes no part has a weight below zero, which no other has.
        """
        position, slope = place(coordinate, size, padding, corners)
        before = rint(position) if nearest else floor(position)
        share = zero if nearest else position - before
        last = element(size - 1)
        first = before >= zero and before <= last
        second = before >= -one and before + one <= last and not nearest
        at = int64(before) if first or second else int64(0)
        return at, one - share if first else -one, share if second else -one, slope

    @subroutine(fastmath=())
    def around(place, shape):
        """The first element that a sample takes, and weights and slopes by coordinate."""
        padding, corners, nearest = shape.padding, shape.corners, shape.nearest
        width, height = shape.width, shape.height
        x, x0, x1, dx = along(load(place, 0, element), width, padding, corners, nearest)
        y, y0, y1, dy = along(load(place, 1, element), height, padding, corners, nearest)
        z, z0, z1, dz = 0, one, -one, zero
        if shape.rank == 3:
            z, z0, z1, dz = along(load(place, 2, element), shape.depth, padding, corners, nearest)
        return (z * height + y) * width + x, (x0, x1, dx), (y0, y1, dy), (z0, z1, dz)

    @subroutine(fastmath=())
    def write_taps(taps, shape, offset, of_x, of_y, of_z):
        """Write the elements that a sample takes, and return how many there are."""
        weights, slopes = taps + _WEIGHTS * 8, taps + _SLOPES * 8
        line, layer = shape.width, shape.height * shape.width
        (x0, x1, dx), (y0, y1, dy), (z0, z1, dz) = of_x, of_y, of_z
        count = 0
        for k in range(2):
            z = z1 if k else z0
            if z < zero:
                continue
            for j in range(2):
                y = y1 if j else y0
                if y < zero:
                    continue
                for i in range(2):
                    x = x1 if i else x0
                    if x < zero:
                        continue
                    store(taps, count, offset + k * layer + j * line + i, int64)
                    store(weights, count, z * y * x, element)
                    store(slopes, count, z * y * (dx if i else -dx), element)
                    store(slopes, 8 + count, z * x * (dy if j else -dy), element)
                    store(slopes, 16 + count, y * x * (dz if k else -dz), element)
                    count += 1
        return count

    return {
        "element": element, "zero": zero, "one": one, "size_of": bytes_of, "around": around,
        "write_taps": write_taps,
    }  # fmt: skip


_VARIANTS = {name: functools.partial(_values, name) for name in ("float32", "float64")}


class Sampled(Arguments):
    """Arguments of ``sample`` and ``spread``: planes (N, C, ...) of samples and of elements."""

    output = Elements(element)
    source = Elements(element)
    grid = Elements(element)
    geometry = Elements(int64)


class Followed(Arguments):
    """Arguments of ``follow_grid``."""

    output = Elements(element)
    grad = Elements(element)
    source = Elements(element)
    grid = Elements(element)
    geometry = Elements(int64)


@kernel(variants=_VARIANTS, takes=Sampled)
def sample(args, lo, hi):
    """output[n, c, s] = the elements of source[n, c] around grid[n, s]; a unit is a sample."""
    given = Sampled(args)
    output, source, grid = given.output, given.source, given.grid
    shape = Geometry(given.geometry)
    rank, channels, samples = shape.rank, shape.channels, shape.samples
    size = shape.depth * shape.height * shape.width
    taps = address_of_stack(_WORDS)
    weights = taps + _WEIGHTS * 8
    n = lo // samples
    s = lo - n * samples
    place = grid + lo * rank * size_of
    for _ in range(lo, hi):
        offset, of_x, of_y, of_z = around(place, shape)
        place += rank * size_of
        plane = source + n * channels * size * size_of
        into = n * channels * samples + s
        (x0, x1, _), (y0, y1, _) = of_x, of_y
        if min(min(x0, x1), min(y0, y1)) >= zero and rank == 2:
            of_a, of_b, of_c, of_d = x0 * y0, x1 * y0, x0 * y1, x1 * y1
            below = offset + shape.width
            for _ in range(channels):
                total = of_a * load(plane, offset, element)
                total += of_b * load(plane, offset + 1, element)
                total += of_c * load(plane, below, element)
                total += of_d * load(plane, below + 1, element)
                store(output, into, total, element)
                plane += size * size_of
                into += samples
        else:
            count = write_taps(taps, shape, offset, of_x, of_y, of_z)
            for _ in range(channels):
                total = zero
                for tap in range(count):
                    weight = load(weights, tap, element)
                    total += weight * load(plane, load(taps, tap, int64), element)
                store(output, into, total, element)
                plane += size * size_of
                into += samples
        s += 1
        if s == samples:
            s, n = 0, n + 1


@kernel(variants=_VARIANTS, takes=Sampled)
def spread(args, lo, hi):
    """The adjoint of ``sample`` by its source; a unit is a block of channels of one n."""
    given = Sampled(args)
    output, source, grid = given.output, given.source, given.grid
    shape = Geometry(given.geometry)
    rank, channels, samples = shape.rank, shape.channels, shape.samples
    size = shape.depth * shape.height * shape.width
    block = shape.block
    blocks = (channels + block - 1) // block
    taps = address_of_stack(_WORDS)
    weights = taps + _WEIGHTS * 8
    for at in range(lo, hi):
        n = at // blocks
        first = (at - n * blocks) * block
        end = min(first + block, channels)
        start = output + (n * channels + first) * size * size_of
        for i in range((end - first) * size):
            store(start, i, zero, element)
        place = grid + n * samples * rank * size_of
        for s in range(samples):
            offset, of_x, of_y, of_z = around(place, shape)
            place += rank * size_of
            plane = start
            of = (n * channels + first) * samples + s
            (x0, x1, _), (y0, y1, _) = of_x, of_y
            if min(min(x0, x1), min(y0, y1)) >= zero and rank == 2:
                of_a, of_b, of_c, of_d = x0 * y0, x1 * y0, x0 * y1, x1 * y1
                below = offset + shape.width
                for _ in range(end - first):
                    value = load(source, of, element)
                    a, b = load(plane, offset, element), load(plane, offset + 1, element)
                    c, d = load(plane, below, element), load(plane, below + 1, element)
                    store(plane, offset, a + value * of_a, element)
                    store(plane, offset + 1, b + value * of_b, element)
                    store(plane, below, c + value * of_c, element)
                    store(plane, below + 1, d + value * of_d, element)
                    plane += size * size_of
                    of += samples
                continue
            count = write_taps(taps, shape, offset, of_x, of_y, of_z)
            for _ in range(end - first):
                value = load(source, of, element)
                for tap in range(count):
                    position = load(taps, tap, int64)
                    term = value * load(weights, tap, element)
                    store(plane, position, load(plane, position, element) + term, element)
                plane += size * size_of
                of += samples


@kernel(variants=_VARIANTS, takes=Followed)
def follow_grid(args, lo, hi):
    """The gradient of ``sample`` by its grid; a unit is a sample."""
    given = Followed(args)
    output, grad, source, grid = given.output, given.grad, given.source, given.grid
    shape = Geometry(given.geometry)
    rank, channels, samples = shape.rank, shape.channels, shape.samples
    size = shape.depth * shape.height * shape.width
    taps, sums = address_of_stack(_WORDS), address_of_stack(8)
    slopes = taps + _SLOPES * 8
    n = lo // samples
    s = lo - n * samples
    place = grid + lo * rank * size_of
    for at in range(lo, hi):
        offset, of_x, of_y, of_z = around(place, shape)
        place += rank * size_of
        plane = source + n * channels * size * size_of
        of = n * channels * samples + s
        (x0, x1, dx), (y0, y1, dy) = of_x, of_y
        if min(min(x0, x1), min(y0, y1)) >= zero and rank == 2:
            below = offset + shape.width
            a, b, c, d = zero, zero, zero, zero
            for _ in range(channels):
                value = load(grad, of, element)
                a += value * load(plane, offset, element)
                b += value * load(plane, offset + 1, element)
                c += value * load(plane, below, element)
                d += value * load(plane, below + 1, element)
                plane += size * size_of
                of += samples
            store(output, at * 2, dx * (y0 * (b - a) + y1 * (d - c)), element)
            store(output, at * 2 + 1, dy * (x0 * (c - a) + x1 * (d - b)), element)
        else:
            count = write_taps(taps, shape, offset, of_x, of_y, of_z)
            for tap in range(count):
                store(sums, tap, zero, element)
            for _ in range(channels):
                value = load(grad, of, element)
                for tap in range(count):
                    term = value * load(plane, load(taps, tap, int64), element)
                    store(sums, tap, load(sums, tap, element) + term, element)
                plane += size * size_of
                of += samples
            for axis in range(rank):
                total = zero
                for tap in range(count):
                    total += load(slopes, 8 * axis + tap, element) * load(sums, tap, element)
                store(output, at * rank + axis, total, element)
        s += 1
        if s == samples:
            s, n = 0, n + 1
