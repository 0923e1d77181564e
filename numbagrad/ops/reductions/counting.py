"""Counts of values: bincount, histc, isin. NumPy counts; there are no gradients.

What sorts is in ``sorting.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import is_array
from ...dtype import from_numpy as dtype_of
from ...dtype import scalar_type_name
from ...number_range import check_bits, wrapped_number
from ...tensor import Tensor, new_tensor
from ..arguments.requirements import require_real, require_tensor, require_tensor_or_number
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.forward_only import forward_only

__all__ = ["bincount", "histc", "isin"]

Array = np.ndarray[Any, Any]


_LARGEST = np.iinfo(np.int64).max


@method()
@forward_only
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2, ... occurs in a vector, or the sum of the weights there.

    Raises:
        RuntimeError: for negative numbers, floats, or weights of another size.
    """
    array = input._array
    if array.dtype.kind not in "iu":
        raise NotImplementedError(
            f"\"bincount_cpu\" not implemented for '{scalar_type_name(input.dtype)}'"
        )
    if array.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights._array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    given = None if weights is None else weights._array
    return new_tensor(_occurrences(array, given, minlength))


def check_extremes(least: int, largest: int) -> None:
    """Raise torch's error if elements of a vector to count are negative, or leave no count of them.

    NumPy writes outside its memory for the largest int64.
    """
    if least < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if largest >= _LARGEST:
        raise RuntimeError(
            f"maximum value of input overflowed, it should be < {_LARGEST} but got {largest}"
        )


@array_function(refused="bincount(), whose size depends on values")
def _occurrences(array: Array, weights: Array | None, minlength: int) -> Array:
    """The counts of ``bincount``."""
    if array.size:
        check_extremes(array.min(), array.max())
    if weights is None or not array.size:  # torch looks at no weights where there are none
        return np.bincount(array, minlength=minlength).astype(np.int64)
    counted = np.bincount(array, half.readable(weights), minlength)
    kind = weights.dtype if weights.dtype == np.float32 else np.float64
    return counted.astype(kind)


@method()
@forward_only
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of ``bins`` equal intervals of [min, max].

    If both are equal they are the extremes of the elements. What lies outside is not counted.
    """
    array = input._array
    if array.dtype.kind not in "fV":
        raise NotImplementedError(
            f"\"histogram_cpu\" not implemented for '{scalar_type_name(input.dtype)}'"
        )
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins}")
    require_real("histc", "min", min, "double")
    require_real("histc", "max", max, "double")
    return new_tensor(_counted(array, bins, float(min), float(max)))


@array_function()
def _counted(array: Array, bins: int, low: float, high: float) -> Array:
    """The counts of ``histc``."""
    kind, array = array.dtype, half.readable(array)
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    low, high = interval(low, high)
    inside = array[(array >= low) & (array <= high)]
    places = ((inside - low) / (high - low) * bins).astype(np.int64)
    counted = np.bincount(np.minimum(places, bins - 1), minlength=bins)
    return half.converted(counted, kind)


def interval(low: float, high: float) -> tuple[float, float]:
    """The interval that ``histc`` divides: around a point, one to both sides.

    Raises:
        RuntimeError: for ends in the other order, or that are not finite.
    """
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise RuntimeError(f"torch.histc: max must be larger than min, got [{low}, {high}]")
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    return low, high


@forward_only
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among the test elements; one of both may be a number."""
    for position, values in enumerate((elements, test_elements), 1):
        name = ("elements", "test_elements")[position - 1]
        require_tensor_or_number("isin", values, name, position)
    if not isinstance(elements, Tensor):
        require_tensor("isin", test_elements, "test_elements", 2)
    own, others = [x._array if isinstance(x, Tensor) else x for x in (elements, test_elements)]
    for values in (own, others):
        kind = values.dtype if is_array(values) else np.asarray(values).dtype
        if kind.kind in "bc":
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {scalar_type_name(dtype_of(kind))}"
            )
    own, others = _beside(own, others), _beside(others, own)
    return new_tensor(_is_in(own, others, assume_unique, invert))


def _beside(number: Any, values: Any) -> Any:
    """A number as a tensor without dimensions has it beside others; anything else as it is."""
    if is_array(number) or not is_array(values):
        return number
    check_bits(number)
    integers = isinstance(number, int) and values.dtype.kind in "iu"
    return wrapped_number(number, values.dtype) if integers else number


@array_function()
def _is_in(own: Any, others: Any, assume_unique: bool, invert: bool) -> Array:
    own, others = [half.readable(x) if isinstance(x, np.ndarray) else x for x in (own, others)]
    return np.asarray(np.isin(own, others, assume_unique=assume_unique, invert=invert))
