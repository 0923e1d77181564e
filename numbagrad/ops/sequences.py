"""Sequences of numbers: ``arange``, ``linspace``, ``logspace``, and the indices of triangles.

Users call them. Numbers are computed in float64 by NumPy and rounded as torch rounds them; nothing
here is recorded.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import half_precision
from ..cuda import require_cpu
from ..dtype import float64, int64
from ..executor.capture import constant
from ..tensor import Tensor, new_tensor
from ..warn_once import warn_caller
from .arguments import converted, dtype_for, leaf, numpy_dtype

__all__ = ["arange", "linspace", "logspace", "tril_indices", "triu_indices"]


#: Ints within these bounds are exact in float64, in which ranges are counted.
_WHOLE = 1 << 48


def _bound(value: Any) -> Any:
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``start, start + step, ...`` up to but not including ``end``; int64 if all are ints."""
    require_cpu(device)
    if end is None:
        start, end = 0, start
    if dtype is None and out is None and start.__class__ is end.__class__ is step.__class__ is int:
        if step > 0 and start <= end and -_WHOLE < start and end < _WHOLE:
            return leaf(constant(np.arange(start, end, step)), requires_grad)
    start, end, step = _bound(start), _bound(end), _bound(step)
    if out is not None:
        kind = dtype_for("arange", dtype, out)
    else:
        fractional = any(isinstance(x, float) for x in (start, end, step))
        kind = numpy_dtype("arange", dtype, None if fractional else int64.numpy)
    if out is not None and kind.kind in "iu" and not int(step):
        raise ValueError("arange(): step must be nonzero, which it is not as an integer of out")
    if kind == np.int64 and any(isinstance(x, float) for x in (start, end, step)):
        _count("arange", start, end, step, kind)  # the checks are of what was given
        start, end = int(start), int(end)
        if step and not int(step):
            raise ValueError(
                f"arange(): step must be nonzero, but {step} is 0 as int64; choose a floating dtype"
            )
        step = int(step)
    count = _count("arange", start, end, step, kind)
    return leaf(_progression(start, step, count, kind), requires_grad, out)


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


def _progression(start: Any, step: Any, count: int, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if kind.kind in "iu":
        return constant((int(start) + int(step) * np.arange(count)).astype(kind))
    return constant(
        converted(float(start) + float(step) * np.arange(count, dtype=np.float64), kind)
    )


def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``start, start + step, ...`` up to and including ``end``; use ``arange`` instead."""
    warn_caller(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
    )
    require_cpu(device)
    start, end, step = _bound(start), _bound(end), _bound(step)
    _count("range", start, end, step, float64.numpy)
    count = math.floor((end - start) / step) + 1
    kind = dtype_for("range", dtype, out)
    return leaf(_progression(start, step, count, kind), requires_grad, out)


range_.__name__ = range_.__qualname__ = "range"


def _spaced(start: Any, end: Any, steps: int, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers at equal distances, in float64; symmetric about the middle and rounded as torch's."""
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
    if steps < 2:
        return np.full(steps, float(first))
    step = (last - first) / real.type(steps - 1)
    if kind.kind == "V":  # as torch has it: the step is a number of the dtype
        step = half_precision.readable(half_precision.converted(np.array(step), kind))
    step = float(step)
    # Products of float32 numbers are exact in float64, so these sums round once, as torch's do.
    places = np.arange(steps, dtype=np.float64)
    half = steps // 2
    made = float(first) + step * places
    made[half:] = float(last) - step * (steps - 1 - places[half:])
    return made


_NUMBERS = (int, float)
_SMALL = 1024  # elements of a sequence that is kept


@functools.lru_cache(maxsize=64, typed=True)
def _spaced_before(
    start: float, end: float, steps: int, kind: np.dtype[Any], signs: tuple[float, float]
) -> np.ndarray[Any, Any]:
    """The elements of ``linspace``, which programs ask for again and again."""
    return converted(_spaced(start, end, steps, kind), kind)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal distances."""
    require_cpu(device)
    kind = dtype_for("linspace", dtype, out)
    plain = start.__class__ in _NUMBERS and end.__class__ in _NUMBERS and steps.__class__ is int
    if plain and steps <= _SMALL:
        signs = math.copysign(1, start), math.copysign(1, end)  # 0.0 and -0.0 are equal as keys
        made = _spaced_before(start, end, steps, kind, signs).copy()
    else:
        made = converted(_spaced(start, end, steps, kind), kind)
    return leaf(constant(made), requires_grad, out)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``base`` to the powers of ``linspace(start, end, steps)``."""
    require_cpu(device)
    kind = dtype_for("logspace", dtype, out)
    powers = np.power(float(base), _spaced(start, end, steps, kind))
    return leaf(constant(converted(powers, kind)), requires_grad, out)


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """Rows and columns, as a tensor (2, count), of the lower triangle of a row x col matrix."""
    require_cpu(device)
    kind = numpy_dtype("tril_indices", dtype, int64.numpy)
    return new_tensor(constant(converted(np.array(np.tril_indices(row, offset, col)), kind)))


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """Rows and columns, as a tensor (2, count), of the upper triangle of a row x col matrix."""
    require_cpu(device)
    kind = numpy_dtype("triu_indices", dtype, int64.numpy)
    return new_tensor(constant(converted(np.array(np.triu_indices(row, offset, col)), kind)))
