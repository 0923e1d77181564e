"""Random numbers that match torch's CPU generator bit for bit: MT19937 and the distributions on it.

Called by ``numbagrad/random.py`` through the executor; imported only when compiling. Kernels take
the address of a generator's state and of a contiguous output, and leave the state where torch's
would be after the same call. Where compilers are free to round differently (a multiply and an add
as one fused operation or two), the code says which one torch's binary does.
"""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from ...codegen.compiler import subroutine
from ...codegen.intrinsics import (
    bfloat16,
    bits,
    boolean,
    ceil,
    external,
    float16,
    float32,
    float64,
    fma,
    from_bits,
    int32,
    int64,
    load,
    rounded,
    select,
    sqrt,
    store,
)
from ...codegen.kernel import element, kernel, specialised, variable

# The C library's functions, which torch's scalar loops call too.
_cos = external("cos", float64, float64)
_sin = external("sin", float64, float64)
_tan = external("tan", float64, float64)
_exp = external("exp", float64, float64)
_log = external("log", float64, float64)
_log1p = external("log1p", float64, float64)

#: Decorator of subroutines whose every operation is rounded as written.
exact = subroutine(fastmath=())

# Kernels take the state of a generator, an output, how many elements that has, and two parameters
# of the distribution: floats, or ints where these are drawn.
_REALS = "void(int64, int64, int64, float64, float64)"
_INTEGERS = "void(int64, int64, int64, int64, int64)"
_ARRAYS = {"state": int64, "out": element}

# The state of a generator, in int64 words. LEFT and NEXT are torch's: numbers that are left in the
# block plus one, and the index of the next one.
SEED, LEFT, NEXT, NORMAL_IS_CACHED, CACHED_NORMAL = 0, 1, 2, 3, 4
HEADER = 8
STATE_SIZE = 624  # 32-bit words of the Mersenne Twister, behind the header
_SHIFT = 397


# MT19937 (Matsumoto and Nishimura 1998): a block of 624 numbers at a time, so that the loops over a
# block vectorise.


@exact
def _words(state):
    return state + HEADER * 8


@exact
def _twist(first, second):
    mixed = (first & 0x80000000) | (second & 0x7FFFFFFF)
    return (mixed >> 1) ^ ((second & 1) * 0x9908B0DF)


@exact
def _next_block(state):
    words = _words(state)
    for i in range(STATE_SIZE - _SHIFT):
        twisted = _twist(load(words, i, uint32), load(words, i + 1, uint32))
        store(words, i, uint32(load(words, i + _SHIFT, uint32) ^ twisted), uint32)
    for i in range(STATE_SIZE - _SHIFT, STATE_SIZE - 1):
        twisted = _twist(load(words, i, uint32), load(words, i + 1, uint32))
        store(words, i, uint32(load(words, i + _SHIFT - STATE_SIZE, uint32) ^ twisted), uint32)
    twisted = _twist(load(words, STATE_SIZE - 1, uint32), load(words, 0, uint32))
    store(words, STATE_SIZE - 1, uint32(load(words, _SHIFT - 1, uint32) ^ twisted), uint32)


@exact
def _available(state):
    """Numbers left in the block, at least one: a used up block is replaced."""
    if load(state, LEFT, int64) == 1:
        _next_block(state)
        store(state, LEFT, int64(STATE_SIZE + 1), int64)
        store(state, NEXT, int64(0), int64)
    return load(state, LEFT, int64) - 1


@exact
def _take(state, count):
    """Mark ``count`` numbers of the block as used; returns the index of the first."""
    first = load(state, NEXT, int64)
    store(state, LEFT, load(state, LEFT, int64) - count, int64)
    store(state, NEXT, first + count, int64)
    return first


@exact
def _tempered(words, index):
    y = load(words, index, uint32)
    y = uint32(y ^ (y >> 11))
    y = uint32(y ^ ((y << 7) & 0x9D2C5680))
    y = uint32(y ^ ((y << 15) & 0xEFC60000))
    return uint32(y ^ (y >> 18))


@exact
def _random32(state):
    _available(state)
    return _tempered(_words(state), _take(state, 1))


@exact
def _pair(high, low):
    return (uint64(high) << uint64(32)) | uint64(low)


@exact
def _random64(state):
    high = _random32(state)
    return _pair(high, _random32(state))


# Uniform: 24 bits for float32, float16 and bfloat16, 53 for float64.


@exact
def _unit32(random):
    return float32(int32(random & 0xFFFFFF)) * float32(2.0**-24)


@exact
def _unit64(random):
    return float64(int64(random & uint64((1 << 53) - 1))) * 2.0**-53


@exact
def _uniform32(random, low, high):
    low, high = float32(low), float32(high)
    value = fma(_unit32(random), high - low, low)
    return select(value == high, low, value)


@exact
def _uniform64(random, low, high):
    value = fma(_unit64(random), high - low, low)
    return select(value == high, low, value)


# Normal, 16 elements and more: Box-Muller on groups of 16, whose first 8 numbers give the radius
# and whose last 8 the angle. For float32 torch uses its own logarithm, sine and cosine (the single
# precision ones of Cephes, 8 at a time); here they are again, operation by operation.


# Constants of the type they are used in: a conversion in the code is one more call to compile.
_ZERO, _HALF, _ONE, _TWO, _TWO_PI, _FOUR_OVER_PI, _SQRT_HALF = np.float32(
    [0.0, 0.5, 1.0, 2.0, 6.283185307179586, 1.27323954473516, 0.707106781186547524]
)
_LOG_0, _LOG_1, _LOG_2, _LOG_3, _LOG_4, _LOG_5, _LOG_6, _LOG_7, _LOG_8 = np.float32(
    [
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    ]
)  # fmt: skip
_LN2_HIGH, _LN2_LOW = np.float32([0.693359375, -2.12194440e-4])
_QUARTER_PI_HIGH, _QUARTER_PI_MIDDLE, _QUARTER_PI_LOW = np.float32(
    [0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8]
)
_COS_0, _COS_1, _COS_2 = np.float32(
    [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]
)
_SIN_0, _SIN_1, _SIN_2 = np.float32([-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1])


@exact
def _log_unit(x):
    """Logarithm of a normal float32 in (0, 1]."""
    pattern = bits(x)
    exponent = float32((pattern >> 23) - 126)
    x = from_bits(int32((pattern & 0x007FFFFF) | 0x3F000000))  # in [0.5, 1)
    small = x < _SQRT_HALF
    exponent = exponent - select(small, _ONE, _ZERO)
    x = (x - _ONE) + select(small, x, _ZERO)
    y = fma(_LOG_0, x, _LOG_1)
    y = fma(y, x, _LOG_2)
    y = fma(y, x, _LOG_3)
    y = fma(y, x, _LOG_4)
    y = fma(y, x, _LOG_5)
    y = fma(y, x, _LOG_6)
    y = fma(y, x, _LOG_7)
    y = fma(y, x, _LOG_8)
    y = fma(y * x, x * x, exponent * _LN2_LOW)
    y = fma(x * x, -_HALF, y)
    return fma(exponent, _LN2_HIGH, x + y)


@exact
def _cos_and_sin(angle):
    """Cosine and sine of a float32 angle that is not negative."""
    octant = int32(int32(angle * _FOUR_OVER_PI) + 1) & -2
    y = float32(octant)
    x = fma(y, -_QUARTER_PI_HIGH, angle)
    x = fma(y, -_QUARTER_PI_MIDDLE, x)
    x = fma(y, -_QUARTER_PI_LOW, x)
    z = x * x
    cosine = fma(fma(_COS_0, z, _COS_1), z, _COS_2)
    cosine = fma(cosine * z, z, z * -_HALF) + _ONE
    sine = fma(fma(_SIN_0, z, _SIN_1), z, _SIN_2)
    sine = fma(sine * z, x, x)
    direct = (octant & 2) == 0
    cos = select(direct, cosine, sine)
    sin = select(direct, sine, cosine)
    return select(((octant - 2) & 4) == 0, -cos, cos), select((octant & 4) != 0, -sin, sin)


@exact
def _normal_groups_float32(out, count, mean, std):
    """Turn whole groups of uniform numbers into normal ones, in place."""
    mean, std = float32(mean), float32(std)
    for start in range(0, count - 15, 16):
        for i in range(start, start + 8):
            radius = sqrt(-_TWO * _log_unit(_ONE - load(out, i, float32)))
            cos, sin = _cos_and_sin(_TWO_PI * load(out, i + 8, float32))
            store(out, i, fma(radius * cos, std, mean), float32)
            store(out, i + 8, fma(radius * sin, std, mean), float32)


@exact
def _normal_groups_float64(out, count, mean, std):
    for start in range(0, count - 15, 16):
        for i in range(start, start + 8):
            radius = sqrt(-2.0 * _log(1.0 - load(out, i, float64)))
            theta = 6.283185307179586 * load(out, i + 8, float64)
            store(out, i, fma(radius * _cos(theta), std, mean), float64)
            store(out, i + 8, fma(radius * _sin(theta), std, mean), float64)


# Normal, one at a time in double precision: each pair of uniform numbers gives two, the second of
# which is kept in the state for the next call.


@exact
def _standard_normal(state):
    if load(state, NORMAL_IS_CACHED, int64) != 0:
        store(state, NORMAL_IS_CACHED, int64(0), int64)
        return load(state, CACHED_NORMAL, float64)
    first = _unit64(_random64(state))
    second = _unit64(_random64(state))
    radius = sqrt(-2.0 * _log1p(-second))
    theta = 6.283185307179586 * first
    store(state, CACHED_NORMAL, radius * _sin(theta), float64)
    store(state, NORMAL_IS_CACHED, int64(1), int64)
    return radius * _cos(theta)


@kernel(_REALS, fastmath=(), arrays={"state": int64, "out": float64})
def normal_sequence(state, out, count, mean, std):
    """float64 normal numbers one after another."""
    for i in range(count):
        store(out, i, fma(_standard_normal(state), std, mean), float64)


@kernel(_REALS, fastmath=(), arrays={"state": int64, "out": float64})
def log_normal(state, out, count, mean, std):
    """float64 numbers whose logarithms are normal."""
    for i in range(count):
        store(out, i, _exp(fma(_standard_normal(state), std, mean)), float64)


# Other distributions, in double precision; torch converts the result to the type of the tensor.


@exact
def _exponential(random, rate, unused):
    return -1.0 / rate * _log1p(-_unit64(random))


@exact
def _cauchy(random, median, sigma):
    return fma(sigma, _tan(3.141592653589793 * (_unit64(random) - 0.5)), median)


@exact
def _geometric(random, p, unused):
    return ceil(_log(_unit64(random)) / _log1p(-p))


@exact
def _bernoulli(random, p, unused):
    return _unit64(random) < p


#: The next number of a state in [0, 1), in the dtype of probabilities.
unit = variable("unit")


@exact
def _next_unit32(state):
    return _unit32(_random32(state))


@exact
def _next_unit64(state):
    return _unit64(_random64(state))


@kernel(
    _INTEGERS,
    fastmath=(),
    arrays={"state": int64, "out": boolean, "probabilities": element},
    variants={
        "float32": {"element": float32, "unit": _next_unit32},
        "float64": {"element": float64, "unit": _next_unit64},
    },
)
def bernoulli_each(state, out, count, probabilities, unused):
    """Booleans that are true with the probability at the same index of an array of ``element``."""
    for i in range(count):
        store(out, i, unit(state) < load(probabilities, i, element), boolean)


# Integers: the remainder of 32 or 64 random bits, plus a base. The 64-bit modulus is passed as an
# int64 of the same bits; 0 stands for 2**64.


@exact
def _remainder32(random, modulus, base):
    # In double precision: the quotient is off by one at most, everything else is exact.
    value, divisor = float64(int64(random)), float64(modulus)
    remainder = fma(-float64(int64(value / divisor)), divisor, value)
    remainder = select(remainder < 0.0, remainder + divisor, remainder)
    return int64(remainder) + base


@exact
def _remainder64(random, modulus, base):
    if modulus != 0:
        random = random % uint64(modulus)
    return int64(random) + base


#: Above this many elements 32 random bits would favour some permutations visibly.
_LARGE_PERMUTATION = 0xFFFFFFFF // 20


@kernel(_INTEGERS, fastmath=(), arrays={"state": int64, "out": int64})
def permutation(state, out, count, unused_first, unused_second):
    """A random permutation of int64 numbers from 0 on (Fisher and Yates)."""
    if count < _LARGE_PERMUTATION:
        for i in range(count):
            store(out, i, i, int64)
        for i in range(count - 1):
            j = i + int64(uint64(_random32(state)) % uint64(count - i))
            moved = load(out, i, int64)
            store(out, i, load(out, j, int64), int64)
            store(out, j, moved, int64)
        return
    for i in range(count):
        j = int64(_random64(state) % uint64(i + 1))
        store(out, i, i, int64)
        store(out, i, load(out, j, int64), int64)
        store(out, j, i, int64)


# The kernels of all distributions that take one group of random bits for each element.

#: The subroutine ``transform(random bits, first, second)`` that makes an element.
transform = variable("transform")


@kernel(
    _REALS,
    fastmath=(),
    arrays=_ARRAYS,
    variants={"uniform_float32": {"transform": _uniform32, "element": float32}},
    named="{variant}",
)
def fill_from_32(state, out, count, first, second):
    """Writes ``transform(32 random bits, first, second)`` for each element."""
    words = _words(state)
    done = 0
    while done < count:
        number = min(_available(state), count - done)
        start = _take(state, number)
        for i in range(number):
            value = transform(_tempered(words, start + i), first, second)
            store(out, done + i, value, element)
        done += number


@kernel(
    _REALS,
    fastmath=(),
    arrays=_ARRAYS,
    variants={
        "uniform_float64": {"transform": _uniform64, "element": float64},
        "exponential": {"transform": _exponential, "element": float64},
        "cauchy": {"transform": _cauchy, "element": float64},
        "geometric": {"transform": _geometric, "element": float64},
        "bernoulli": {"transform": _bernoulli, "element": boolean},
    },
    named="{variant}",
)
def fill_from_64(state, out, count, first, second):
    """Writes ``transform(64 random bits, first, second)`` for each element."""
    words = _words(state)
    done = 0
    while done < count:
        pairs = min(_available(state) // 2, count - done)
        start = _take(state, 2 * pairs)
        for i in range(pairs):
            high = _tempered(words, start + 2 * i)
            pair = _pair(high, _tempered(words, start + 2 * i + 1))
            store(out, done + i, transform(pair, first, second), element)
        done += pairs
        if pairs == 0:  # one number is left in the block: the pair straddles its end
            store(out, done, transform(_random64(state), first, second), element)
            done += 1


#: The same with two integers as parameters.
integers_from_32 = kernel(
    _INTEGERS,
    fastmath=(),
    arrays=_ARRAYS,
    variants={"integers_from_32": {"transform": _remainder32, "element": int64}},
    named="{variant}",
)(fill_from_32.py_func)
integers_from_64 = kernel(
    _INTEGERS,
    fastmath=(),
    arrays=_ARRAYS,
    variants={"integers_from_64": {"transform": _remainder64, "element": int64}},
    named="{variant}",
)(fill_from_64.py_func)


# Distributions that are made of uniform numbers.

#: The subroutine that writes uniform numbers.
fill = variable("fill")


def _fill_half(kind):
    return exact(specialised(fill_from_32.py_func, {"transform": _uniform32, "element": kind}))


@kernel(
    _REALS,
    fastmath=(),
    arrays=_ARRAYS,
    variants={
        "float16": lambda: {"fill": _fill_half(float16), "element": float16},
        "bfloat16": lambda: {"fill": _fill_half(bfloat16), "element": bfloat16},
    },
)
def uniform(state, out, count, low, high):
    """Numbers of half precision; rounding may reach the upper bound, which is outside the range."""
    fill(state, out, count, low, high)
    bound = rounded(float32(high), element)
    for i in range(count):
        value = load(out, i, element)
        store(out, i, select(value == bound, float32(low), value), element)


#: The subroutine that makes groups of 16 uniform numbers normal, and the bytes of an element.
groups, itemsize = variable("groups"), variable("itemsize")


@kernel(
    _REALS,
    fastmath=(),
    arrays=_ARRAYS,
    variants={
        "float32": lambda: {
            "fill": fill_from_32["uniform_float32"].subroutine,
            "groups": _normal_groups_float32,
            "itemsize": 4,
            "element": float32,
        },
        "float64": lambda: {
            "fill": fill_from_64["uniform_float64"].subroutine,
            "groups": _normal_groups_float64,
            "itemsize": 8,
            "element": float64,
        },
    },
)
def normal(state, out, count, mean, std):
    """16 or more normal numbers: by groups of 16, the last of which overlaps the one before."""
    fill(state, out, count, 0.0, 1.0)
    groups(out, count, mean, std)
    if count % 16 != 0:  # the last 16 elements are made again from new numbers
        group = int64(16)  # a literal would be a type of its own, and compile all again
        tail = out + (count - group) * itemsize
        fill(state, tail, group, 0.0, 1.0)
        groups(tail, group, mean, std)
