"""NumPy arrays filled with the numbers of a distribution, as torch would fill them.

``ops/creation/random.py`` builds ``rand``, ``Tensor.uniform_`` and their like on these. From the
same seed every function gives torch's numbers, and leaves the generator in torch's state. A
generator of None is the default one. Elements are drawn in the order in which they lie in memory,
whatever the strides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import half_precision as half
from .backend import foreign
from .dtype import bfloat16, finfo, float16, float32, float64
from .executor import capture
from .random import INTEGERS, Generator, default_generator


def _in_memory_order(array: np.ndarray) -> np.ndarray:
    if array.flags.c_contiguous:
        return array
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    return array.transpose(axes)


def _fill(array: np.ndarray, dtype: np.dtype, draw: Callable[[np.ndarray], None]) -> None:
    """Let ``draw`` fill a contiguous array of ``dtype``, and bring it into ``array``."""
    ordered = _in_memory_order(array)
    if array.dtype == dtype and ordered.flags.c_contiguous:
        draw(ordered)
        return
    drawn = np.empty(ordered.shape, dtype)
    draw(drawn)
    if array.dtype == np.float16 and drawn.dtype != np.float16:
        # torch has no shorter way from wider types to float16; to bfloat16 there is none anyway
        drawn = half.converted(drawn, np.dtype(np.float32))
    _copy_without_overflow(ordered, drawn)


def _copy_without_overflow(target: np.ndarray, source: np.ndarray) -> None:
    with np.errstate(over="ignore"):
        half.copy_into(target, source)


_LIMITS = {each.numpy: finfo(each) for each in (float16, bfloat16, float32, float64)}
_LARGEST = {dtype: limits.max for dtype, limits in _LIMITS.items()}
_UNIFORM = {dtype: f"uniform_{limits.dtype}" for dtype, limits in _LIMITS.items()}
#: Kernels that draw groups of 16 into the array itself.
_GROUPED_NORMAL = {each.numpy: f"normal_{each.name}" for each in (float32, float64)}


def _drawing(fill: Callable[..., None]) -> Callable[..., None]:
    """``fill(generator, array, ...)`` as an operation that a compiled program repeats.

    What other devices hold is filled by their backends.
    """

    @functools.wraps(fill)
    def draw(generator: Generator | None, array: np.ndarray, *arguments: Any) -> None:
        if (where := foreign(array)) is not None:
            capture.refuse("random numbers on another device")
            where.random(fill.__name__, functools.partial(draw, generator), array, arguments)
        elif generator is not None and generator.__class__ is not Generator:
            generator.fill_elsewhere(fill.__name__, array, arguments)
        elif capture.active is None:
            fill(generator, array, *arguments)
        else:
            capture.draw(functools.partial(fill, generator), array, *arguments)

    return draw


def _require_floating(function: str, array: np.ndarray) -> None:
    if array.dtype.kind not in "fV":
        raise NotImplementedError(
            f"{function} is not implemented for {array.dtype}: it draws real numbers; use a "
            "floating point tensor"
        )


def _require_positive(function: str, name: str, value: float) -> None:
    if not value > 0.0:
        raise RuntimeError(f"{function} expects {name} > 0.0, but found {name}={value}")


@_drawing
def fill_uniform(
    generator: Generator | None, array: np.ndarray, low: float = 0.0, high: float = 1.0
) -> None:
    """Uniform numbers in ``[low, high)``."""
    kernel = _UNIFORM.get(array.dtype)
    if kernel is not None and low == 0.0 and high == 1.0 and array.flags.c_contiguous:
        (generator or default_generator()).run(kernel, array, 0.0, 1.0)
        return
    if array.dtype.kind == "c":
        parts = array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)
        fill_uniform(generator, parts.reshape(-1).view(array.real.dtype), low, high)
        if parts is not array:
            array[...] = parts
        return
    _require_floating("uniform_", array)
    low, high = float(low), float(high)
    largest = _LARGEST[array.dtype]
    for argument, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"uniform_: {argument}={bound} is out of bounds for {array.dtype}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to - from to be finite in {array.dtype}, but found to={high} and "
            f"from={low}"
        )
    generator = generator or default_generator()
    name = _UNIFORM[array.dtype]
    _fill(array, array.dtype, lambda out: generator.run(name, out, low, high))


@_drawing
def fill_normal(
    generator: Generator | None, array: np.ndarray, mean: float = 0.0, std: float = 1.0
) -> None:
    """Normal numbers with the given mean and standard deviation.

    As in torch, a contiguous array of 16 elements or more is drawn in groups of 16, every other one
    number by number: the two give different numbers.
    """
    if mean == 0.0 and std == 1.0 and array.size >= 16 and array.flags.c_contiguous:
        kernel = _GROUPED_NORMAL.get(array.dtype)
        if kernel is not None:
            (generator or default_generator()).run(kernel, array, 0.0, 1.0)
            return
    if array.dtype.kind == "c" and array.flags.c_contiguous:
        _fill_complex_normal(generator, array, mean, std)
        return
    _require_floating("normal_", array)
    mean, std = float(mean), float(std)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    generator = generator or default_generator()
    if array.size < 16 or not array.flags.c_contiguous:
        _fill_real("normal_sequence", generator, array, mean, std)
    elif array.dtype not in _GROUPED_NORMAL:
        flat = array.reshape(-1)
        whole = flat.size // 16 * 16
        # Rounded up to groups: the last group is that of the last 16 elements.
        drawn = np.empty(whole + (16 if flat.size > whole else 0), np.float32)
        generator.run("normal_float32", drawn, mean, std)
        _copy_groups(drawn, flat, whole)
    else:
        generator.run(_GROUPED_NORMAL[array.dtype], array, mean, std)


def _copy_groups(drawn: np.ndarray, flat: np.ndarray, whole: int) -> None:
    """Copy whole groups of 16, and the last group to the last 16 elements."""
    with np.errstate(over="ignore"):
        half.copy_into(flat[:whole], drawn[:whole])
        half.copy_into(flat[-16:], drawn[-16:])


def _fill_complex_normal(
    generator: Generator | None, array: np.ndarray, mean: complex, std: float
) -> None:
    """Each part has half of the variance; a real mean is, as in torch, that of both."""
    fill_normal(generator, array.reshape(-1).view(array.real.dtype), 0.0, std / math.sqrt(2.0))
    if mean:
        array += mean if isinstance(mean, complex) else complex(mean, mean)


def _fill_real(
    kernel: str, generator: Generator | None, array: np.ndarray, first: float, second: float
) -> None:
    generator = generator or default_generator()
    _fill(array, np.dtype(np.float64), lambda out: generator.run(kernel, out, first, second))


@_drawing
def fill_log_normal(
    generator: Generator | None, array: np.ndarray, mean: float = 1.0, std: float = 2.0
) -> None:
    """Numbers whose logarithms are normal with the given mean and standard deviation."""
    _require_floating("log_normal_", array)
    _require_positive("log_normal_", "std", std)
    _fill_real("log_normal", generator, array, float(mean), float(std))


@_drawing
def fill_exponential(generator: Generator | None, array: np.ndarray, rate: float = 1.0) -> None:
    """Exponentially distributed numbers with the given rate (torch's ``lambd``)."""
    _require_floating("exponential_", array)
    _require_positive("exponential_", "lambda", rate)
    _fill_real("exponential", generator, array, float(rate), 0.0)


@_drawing
def fill_cauchy(
    generator: Generator | None, array: np.ndarray, median: float = 0.0, sigma: float = 1.0
) -> None:
    """Numbers of the Cauchy distribution."""
    _require_floating("cauchy_", array)
    _require_positive("cauchy_", "sigma", sigma)
    _fill_real("cauchy", generator, array, float(median), float(sigma))


@_drawing
def fill_geometric(generator: Generator | None, array: np.ndarray, p: float) -> None:
    """Numbers of trials up to the first success of probability ``p``."""
    if array.dtype == np.bool_:
        raise RuntimeError("geometric_ is not implemented for bool; use an integer tensor")
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    _fill_real("geometric", generator, array, float(p), 0.0)


@_drawing
def fill_bernoulli(
    generator: Generator | None, array: np.ndarray, p: float | np.ndarray = 0.5
) -> None:
    """Ones with probability ``p``, else zeros; ``p`` is a number or broadcasts to the array."""
    generator = generator or default_generator()
    boolean = np.dtype(np.bool_)
    if not isinstance(p, np.ndarray):
        p = float(p)
        if not 0.0 <= p <= 1.0:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        chance = p
        _fill(array, boolean, lambda out: generator.run("bernoulli", out, chance, 0.0))
        return
    check_kind_of_probabilities(p)
    check_probabilities(p)
    p = np.asarray(half.readable(p))
    each = np.dtype(np.float64 if p.dtype == np.float64 else np.float32)
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    ordered = np.broadcast_to(p, array.shape).transpose(axes)
    probabilities = np.ascontiguousarray(ordered, each)
    kernel, address = f"bernoulli_each_{each}", probabilities.ctypes.data
    _fill(array, boolean, lambda out: generator.run(kernel, out, address, 0, INTEGERS))


def check_kind_of_probabilities(p: Any) -> None:
    """Raise unless an array has elements that can be probabilities."""
    if p.dtype.kind not in "fV":
        raise RuntimeError(f"bernoulli_ expects floating point probabilities, but got {p.dtype}")


def check_probabilities(p: np.ndarray) -> None:
    """Raise unless all elements are in [0, 1]."""
    p = np.asarray(half.readable(p))
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("bernoulli_ expects all elements of p to be in [0, 1]")


#: From this range on torch takes 64 random bits for an integer instead of 32.
_RANGE_OF_64_BITS = 1 << 28


def _digits(dtype: np.dtype) -> int:
    """Binary digits of a number behind the first one."""
    return -int(math.log2(_LIMITS[dtype].eps))


@functools.cache
def _exact_integers(dtype: np.dtype) -> tuple[int, int]:
    """The range of integers in which ``dtype`` has no gaps."""
    if dtype == np.bool_:
        return 0, 1
    if dtype.kind in "fV":
        bound = 1 << (_digits(dtype) + 1)
        return -bound, bound
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _nearest_inside(dtype: np.dtype, bound: int, inwards: int) -> int:
    """``bound``, or the next one inwards for which rounding to ``dtype`` stays in the range.

    ``inwards`` is 1 for a lower bound and -1 for an upper one. The numbers are drawn as integers,
    and the one next to the bound may be rounded beyond it.
    """
    neighbour = bound + inwards
    if abs(neighbour) > _LARGEST[dtype]:
        return bound  # the range is refused later
    real = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    rounded = int(half.readable(half.converted(np.array(neighbour).astype(real), dtype)))
    if rounded >= bound if inwards > 0 else rounded < bound:
        return bound
    gap = 1 << (abs(neighbour).bit_length() - 1 - _digits(dtype))
    return rounded + inwards * gap


def range_of_integers(dtype: np.dtype, low: int, high: int | None = None) -> tuple[int, int, bool]:
    """How many whole numbers ``fill_randint`` draws from, the first, and whether by 64 bits.

    Raises:
        RuntimeError: for an empty range, or bounds that the dtype does not have.
    """
    low = int(low)
    if high is None and low == -(1 << 63) and dtype in (np.int64, np.float32, np.float64):
        return 1 << 64, 0, True  # all 64-bit patterns, signed
    high = _exact_integers(dtype)[1] + 1 if high is None else int(high)
    if not low < high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if dtype.kind in "fV":
        low, high = _nearest_inside(dtype, low, 1), _nearest_inside(dtype, high, -1)
        if not low < high:
            raise RuntimeError(
                f"random_ expects 'from' casted to {dtype} to be less than 'to' casted to {dtype}, "
                f"but got from={low} >= to={high}"
            )
        smallest, largest = -int(_LARGEST[dtype]), int(_LARGEST[dtype])
    else:
        smallest, largest = _exact_integers(dtype)
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not smallest <= bound <= largest:
            raise RuntimeError(f"random_: {name}={bound} is out of bounds for {dtype}")
    return high - low, low, high - low >= _RANGE_OF_64_BITS


def range_of_type(dtype: np.dtype) -> tuple[int, int, bool]:
    """The same for ``fill_random``: the range of the type, but for negative numbers."""
    return _exact_integers(dtype)[1] + 1, 0, dtype in (np.int64, np.float64)


@_drawing
def fill_randint(
    generator: Generator | None, array: np.ndarray, low: int, high: int | None = None
) -> None:
    """Whole numbers in ``[low, high)``: torch's ``randint`` and ``random_(from, to)``.

    Without ``high`` they go up to the largest one of the type (inclusive), for floating point types
    the largest below which there are no gaps.
    """
    _fill_integers(generator, array, *range_of_integers(array.dtype, low, high))


@_drawing
def fill_random(generator: Generator | None, array: np.ndarray) -> None:
    """Whole numbers over the range of the type, none negative: torch's ``random_()``."""
    _fill_integers(generator, array, *range_of_type(array.dtype))


def _fill_integers(
    generator: Generator | None, array: np.ndarray, number: int, low: int, wide: bool
) -> None:
    generator = generator or default_generator()
    kernel = "integers_from_64" if wide else "integers_from_32"

    def draw(out: np.ndarray) -> None:
        # ctypes keeps the low 64 bits of ``number``; the kernel knows that 0 stands for 2**64.
        generator.run(kernel, out, number, low, INTEGERS)

    _fill(array, np.dtype(np.int64), draw)


def permutation(generator: Generator | None, n: int) -> np.ndarray:
    """A random permutation of ``0 .. n - 1`` as int64 array: torch's ``randperm``."""
    if n < 0:
        raise RuntimeError(f"randperm: n must be non-negative, got {n}")
    out = np.empty(n, np.int64)
    (generator or default_generator()).run("permutation", out, 0, 0, INTEGERS)
    return out


def check_draws(probabilities: Any, num_samples: int, replacement: bool) -> None:
    """Raise torch's error for a number, shape or dtype that ``multinomial`` does not take."""
    _require_floating("multinomial", probabilities)
    shape = probabilities.shape
    if len(shape) not in (1, 2):
        raise RuntimeError(f"multinomial: prob_dist must be 1 or 2 dim, but has shape {shape}")
    if num_samples <= 0:
        raise RuntimeError(f"multinomial: cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > shape[-1]:
        raise RuntimeError(
            f"multinomial: cannot sample {num_samples} of {shape[-1]} categories without "
            "replacement; pass replacement=True"
        )


def check_weights(weights: np.ndarray) -> None:
    """Raise torch's error for weights that make no probabilities."""
    if weights.size and not (np.isfinite(weights).all() and weights.min() >= 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def multinomial(
    generator: Generator | None,
    probabilities: np.ndarray,
    num_samples: int,
    replacement: bool = False,
) -> np.ndarray:
    """Indices drawn from each row of weights (one or two dimensions), as int64 array."""
    check_draws(probabilities, num_samples, replacement)
    weights = half.readable(probabilities)
    check_weights(weights)
    if replacement and num_samples > 1:
        return _sample_with_replacement(generator, weights, num_samples)
    # The largest of weight / exponential falls on an index with its probability, the next one with
    # its probability among the others, and so on.
    drawn = np.empty_like(probabilities)
    fill_exponential(generator, drawn, 1.0)
    races = half.readable(half.converted(_quotients(weights, drawn), drawn.dtype))
    if num_samples == 1:
        return races.argmax(-1, keepdims=True)
    return np.argsort(-races, axis=-1, kind="stable")[..., :num_samples].astype(np.int64)


def _quotients(weights: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", over="ignore"):
        return weights / half.readable(drawn)


def _sample_with_replacement(
    generator: Generator | None, weights: np.ndarray, num_samples: int
) -> np.ndarray:
    rows = np.atleast_2d(weights)
    if rows.dtype == np.float16:
        rows = rows.astype(np.float32)
    drawn = np.empty((len(rows), num_samples), np.float64)
    fill_uniform(generator, drawn)
    out = np.empty(drawn.shape, np.int64)
    for row, uniform, indices in zip(rows, drawn, out, strict=True):
        cumulative = np.cumsum(row, dtype=row.dtype)
        cumulative /= cumulative[-1]
        cumulative[-1] = 1
        indices[:] = np.searchsorted(cumulative.astype(np.float64), uniform)
    return out.reshape(weights.shape[:-1] + (num_samples,))
