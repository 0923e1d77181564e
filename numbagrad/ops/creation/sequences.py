"""Sequences of numbers: ``arange``, ``linspace``, ``logspace``, and the indices of triangles.

Users call them. Numbers are computed in float64 by NumPy and rounded as torch rounds them; nothing
here is recorded.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import half_precision
from ...dtype import float64, int64
from ...executor.memory.arrays import constant
from ...number_range import checked_number
from ...tensor import Tensor
from ...warn_once import warn_caller
from ..arguments.kinds import takes
from ..arguments.requirements import converted, kind_of_new, leaf, require_real
from ..arguments.shared_parameters import TENSOR_OPTIONS, shares

__all__ = ["arange", "linspace", "logspace", "tril_indices", "triu_indices"]


#: Ints within these bounds are exact in float64, in which ranges are counted.
_WHOLE = 1 << 48


def _bound(value: Any) -> Any:
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


#: Stands for an argument that was not given, where None would be an error.
_NOT_GIVEN: Any = object()


@takes("end: Number", "start: Number, end: Number, step?: Number")
@shares(TENSOR_OPTIONS)
def arange(
    start: Any = _NOT_GIVEN,
    end: Any = _NOT_GIVEN,
    step: Any = 1,
    *,
    dtype: Any,
    where: Any,
    requires_grad: bool,
) -> Tensor:
    """``start, start + step, ...`` up to but not including ``end``; int64 if all are ints."""
    if end is _NOT_GIVEN:
        if start is _NOT_GIVEN:
            raise TypeError("arange() missing 1 required positional argument: 'end'")
        start, end = 0, start
    elif start is _NOT_GIVEN:
        start = 0
    if dtype is None and start.__class__ is end.__class__ is step.__class__ is int:
        if step > 0 and start <= end and -_WHOLE < start and end < _WHOLE:
            return leaf(constant(np.arange(start, end, step)), requires_grad, where)
    _require_bounds("arange", start=start, end=end, step=step)
    start, end, step = _bound(start), _bound(end), _bound(step)
    fractional = any(isinstance(x, float) for x in (start, end, step))
    default = None if fractional else int64.numpy
    kind = kind_of_new("arange", dtype, default, without="bc")
    if kind == np.int64 and any(isinstance(x, float) for x in (start, end, step)):
        _count("arange", start, end, step, kind)  # the checks are of what was given
        start, end = int(start), int(end)
        if step and not int(step):
            raise ValueError(
                f"arange(): step must be nonzero, but {step} is 0 as int64; choose a floating dtype"
            )
        step = int(step)
    count = _count("arange", start, end, step, kind)
    return leaf(_progression(start, step, count, kind), requires_grad, where)


def _require_bounds(function: str, **given: Any) -> None:
    """Raise unless all are real numbers; autograd follows none of them."""
    for name, value in given.items():
        require_real(function, name, value, "double")


def _count(function: str, start: Any, end: Any, step: Any, kind: np.dtype[Any]) -> int:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind.kind in "iu" and int(step):
        whole, into = int(end) - int(start), int(step)
        if float(whole) == end - start and into == step:
            return -(-whole // into)
    count = math.ceil((end - start) / step)
    if count >= 1 << 48:
        raise RuntimeError(f"{function}: invalid size {count}, possible overflow?")
    return count


#: Elements that are computed at a time: all of a long sequence in 64 bits would need many times
#: the memory of one in fewer.
_BLOCK = 1 << 16


def _by_blocks(
    numbers: Callable[[int, int], np.ndarray[Any, Any]],
    begin: int,
    end: int,
    out: np.ndarray[Any, Any],
) -> None:
    """Write ``numbers(i, j)``, the elements from i to j, into ``out``, block by block."""
    for first in range(begin, end, _BLOCK):
        behind = min(first + _BLOCK, end)
        out[first:behind] = converted(numbers(first, behind), out.dtype)


def _progression(start: Any, step: Any, count: int, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    whole = kind.kind in "iu"
    a, b = (int(start), int(step)) if whole else (float(start), float(step))

    def numbers(begin: int, end: int) -> np.ndarray[Any, Any]:
        index: Any = np.arange(begin, end, dtype=np.int64 if whole else np.float64)
        found: np.ndarray[Any, Any] = a + b * index
        return found

    if count <= _BLOCK:
        return constant(converted(numbers(0, count), kind))
    made = np.empty(count, kind)
    _by_blocks(numbers, 0, count, made)
    return constant(made)


@takes("start: Number, end: Number, step?: Number")
@shares(TENSOR_OPTIONS, name="range")
def range_(
    start: Any, end: Any, step: Any = 1, *, dtype: Any, where: Any, requires_grad: bool
) -> Tensor:
    """``start, start + step, ...`` up to and including ``end``; use ``arange`` instead."""
    warn_caller(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
    )
    _require_bounds("range", start=start, end=end, step=step)
    start, end, step = _bound(start), _bound(end), _bound(step)
    _count("range", start, end, step, float64.numpy)
    count = math.floor((end - start) / step) + 1
    kind = kind_of_new("range", dtype, without="bc")
    return leaf(_progression(start, step, count, kind), requires_grad, where)


def _require_scalars(function: str, start: Any, end: Any) -> None:
    for name, x in (("start", start), ("end", end)):
        if isinstance(x, Tensor) and x._array.ndim:
            raise RuntimeError(
                f"{function} only supports 0-dimensional start and end tensors, but got {name} "
                f"with {x._array.ndim} dimension(s)."
            )


def _spaced(
    start: Any, end: Any, steps: int, kind: np.dtype[Any], base: float | None = None
) -> np.ndarray[Any, Any]:
    """Numbers at equal distances, or ``base`` to the powers of them.

    They are computed in float64, symmetric about the middle and rounded as torch's.
    """
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind.kind == "b" and steps > 1:
        raise NotImplementedError(
            "\"linspace_cpu\" not implemented for 'Bool'; choose an int dtype"
        )
    real = np.dtype(np.float32) if kind.kind in "fV" and kind.itemsize < 8 else float64.numpy
    start, end = _bound(start), _bound(end)
    if kind.kind in "iu":  # as torch has it: both are numbers of the dtype
        start, end = [int(np.array(int(x)).astype(kind)) for x in (start, end)]
    first, last = real.type(start), real.type(end)
    step = (last - first) / real.type(max(steps - 1, 1))
    if kind.kind == "V":  # as torch has it: the step is a number of the dtype
        step = half_precision.readable(half_precision.converted(np.array(step), kind))
    step = float(step)

    # Products of float32 numbers are exact in float64, so these sums round once, as torch's do.
    def before(begin: int, end: int) -> np.ndarray[Any, Any]:
        found = float(first) + step * np.arange(begin, end, dtype=np.float64)
        return found if base is None else np.power(base, found)

    def behind(begin: int, end: int) -> np.ndarray[Any, Any]:
        count = np.arange(steps - 1 - begin, steps - 1 - end, -1, dtype=np.float64)
        found = float(last) - step * count
        return found if base is None else np.power(base, found)

    made = np.empty(steps, kind)
    middle = 1 if steps == 1 else steps // 2  # one number is the first
    _by_blocks(before, 0, middle, made)
    _by_blocks(behind, middle, steps, made)
    return made


_NUMBERS = (int, float)
_SMALL = 1024  # elements of a sequence that is kept


@functools.lru_cache(maxsize=64, typed=True)
def _spaced_before(
    start: float, end: float, steps: int, kind: np.dtype[Any], signs: tuple[float, float]
) -> np.ndarray[Any, Any]:
    """The elements of ``linspace``, which programs ask for again and again."""
    return _spaced(start, end, steps, kind)


@takes("start: Number | Tensor, end: Number | Tensor, steps: int")
@shares(TENSOR_OPTIONS)
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any, where: Any, requires_grad: bool
) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal distances."""
    without = "b" if steps > 1 else ""
    _require_scalars("linspace", start, end)
    kind = kind_of_new("linspace", dtype, without=without)
    for end_of_range in (start, end):
        if not isinstance(end_of_range, Tensor) and not 0 <= end_of_range <= 127:
            checked_number(end_of_range, kind)
    plain = start.__class__ in _NUMBERS and end.__class__ in _NUMBERS and steps.__class__ is int
    if plain and steps <= _SMALL:
        signs = math.copysign(1, start), math.copysign(1, end)  # 0.0 and -0.0 are equal as keys
        made = _spaced_before(start, end, steps, kind, signs).copy()
    else:
        made = _spaced(start, end, steps, kind)
    return leaf(constant(made), requires_grad, where)


@takes("start: Number | Tensor, end: Number | Tensor, steps: int, base?: Real")
@shares(TENSOR_OPTIONS)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any,
    where: Any,
    requires_grad: bool,
) -> Tensor:
    """``base`` to the powers of ``linspace(start, end, steps)``."""
    without = "b" if steps > 1 else ""
    _require_scalars("logspace", start, end)
    kind = kind_of_new("logspace", dtype, without=without)
    made = _spaced(start, end, steps, kind, float(base))
    return leaf(constant(made), requires_grad, where)


def _indices_of(name: str, which: str, find: Callable[..., Any]) -> Callable[..., Tensor]:
    """``tril_indices`` or ``triu_indices``."""

    @functools.lru_cache(maxsize=64)
    def found_before(row: int, col: int, offset: int, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
        return np.array(find(row, offset, col), dtype=kind)

    def function(row: int, col: int, offset: int = 0, *, dtype: Any, where: Any) -> Tensor:
        for argument, size in (("row", row), ("col", col)):
            if size < 0:
                raise RuntimeError(f"{name}(): {argument} must be non-negative, got {size}")
        kind = kind_of_new(name, dtype, int64.numpy, without="bcfV")
        if row.__class__ is col.__class__ is offset.__class__ is int and row * col <= _SMALL:
            made = found_before(row, col, offset, kind).copy()
        else:
            made = np.array(find(row, offset, col), dtype=kind)
        return leaf(constant(made), False, where)

    function.__doc__ = (
        f"Rows and columns, as a tensor (2, count), of the {which} triangle of a row x col matrix."
    )
    return shares(TENSOR_OPTIONS, name=name)(function)


tril_indices = _indices_of("tril_indices", "lower", np.tril_indices)
triu_indices = _indices_of("triu_indices", "upper", np.triu_indices)
