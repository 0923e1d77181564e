"""Conversion between dtypes: one compiled loop for each pair of them, over any strides.

Called by ``ops/conversion/dtypes.py``. The loop is the pointwise kernel of the formula ``x``,
computed in a dtype that makes the conversion C's: towards zero, and around the range of narrow
integers.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import Backend, foreign, is_array
from ...dtype import bfloat16, bool_, computed_as, float16, float32, int64
from ...dtype import dtype as DType
from ...dtype import from_numpy as dtype_of
from ...formula import trace
from .. import capture
from ..builtin import LaunchMiss
from ..memory.arrays import new_array
from ..plan.dtypes import DtypeRules, OperandCode
from ..plan.forms import dense_of, memory_order
from ..plan.formula_kernels import GRAIN
from .pointwise import PointwiseProgram


class ConversionRules(DtypeRules):
    """Every dtype may become any other."""

    def of(self, codes: Sequence[OperandCode], stored: DType | None = None) -> tuple[DType, DType]:
        """See :class:`DtypeRules`."""
        (source,) = codes
        assert source.dtype is not None and stored is not None
        return _computed_in(source.dtype, stored), stored


class ConversionProgram(PointwiseProgram):
    """``into(source, output)`` converts the elements of one ndarray to the dtype of another."""

    __slots__ = ()
    _rules_class = ConversionRules

    def __init__(self) -> None:
        super().__init__("to_copy", lambda: trace(lambda x: x), "same", GRAIN)


def _computed_in(source: DType, stored: DType) -> DType:
    """The dtype that elements are loaded as: what is left is exact, or drops leading bits."""
    if stored is bool_:
        computed = source
    elif source.is_floating_point and not stored.is_floating_point:
        computed = int64
    else:
        computed = stored
    return computed_as(computed)


@functools.lru_cache(maxsize=1)
def program() -> ConversionProgram:
    """The one there is; backends that copy elements by it get it as any formula."""
    return ConversionProgram()


def dense_like(
    array: np.ndarray[Any, Any], kind: np.dtype[Any], where: Backend | None = None
) -> np.ndarray[Any, Any]:
    """Memory for as many elements without gaps, its dimensions in the order of the strides.

    It is an ndarray, or of a backend if one is named.
    """
    if where is not None:
        return where.allocate(*dense_of(array, kind))
    if array.flags.c_contiguous:
        return new_array(array.shape, kind)
    if type(array) is np.ndarray and len({0, *array.strides}) > array.ndim:
        return np.empty_like(array, kind)  # NumPy sorts strides alike that all differ
    return dense_of(array, kind).empty()


def in_order(
    shape: tuple[int, ...],
    kind: np.dtype[Any],
    order: tuple[int, ...],
    where: Backend | None = None,
) -> np.ndarray[Any, Any]:
    """Memory without gaps for an array whose dimensions have strides in this order."""
    made = new_array(tuple([shape[dim] for dim in order]), kind, where)
    return made.transpose(np.argsort(order).tolist())


def lies_in_order(array: np.ndarray[Any, Any], order: tuple[int, ...]) -> bool:
    """Whether the elements lie without gaps, in this order of dimensions."""
    return array.transpose(order).flags.c_contiguous


def order_of_dense(array: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """The order of the dimensions of an array without gaps; None if there are any."""
    order = memory_order(array.shape, array.strides)
    return order if lies_in_order(array, order) else None


def convert(array: np.ndarray[Any, Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A copy of ``array`` as ``kind``; dense, in the order of its strides."""
    dtype_of(kind)
    where = foreign(array)
    converted = dense_like(array, kind, where)
    if where is not None:
        where.copy(converted, array)
        return converted
    if array.dtype == kind:
        np.copyto(converted, array)
        return converted
    return _launch(array, converted)


def _launch(array: np.ndarray[Any, Any], made: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    conversion = program()
    try:
        conversion.launch_into(array, made)
    except LaunchMiss as miss:
        if "c" in (array.dtype.kind, made.dtype.kind):
            return _convert_complex(array, made)
        conversion.resolve(miss, (array, made), into=True)
    return made


# --- half precision, computed in float32 ----------------------------------------------------------

_HALF = (float16.numpy, bfloat16.numpy)


def has_half(arguments: Sequence[Any]) -> bool:
    """Whether there is an array of float16 or bfloat16 among them."""
    return True in [is_array(x) and x.dtype in _HALF for x in arguments]


def widened(argument: Any) -> Any:
    """An array of half precision as float32; anything else as it is."""
    if is_array(argument) and argument.dtype in _HALF:
        return convert(argument, float32.numpy)
    return argument


def kind_of_results(arguments: Sequence[Any]) -> np.dtype[Any] | None:
    """The dtype of half precision that all arrays of floats have; None if they differ."""
    floats = {x.dtype for x in arguments if is_array(x) and x.dtype.kind in "fcV"}
    (kind,) = floats if len(floats) == 1 else (None,)
    return kind


def narrowed(made: Any, kind: np.dtype[Any]) -> Any:
    """A result of float32 rounded to half precision; any other result as it is."""
    if is_array(made) and made.dtype == float32.numpy:
        return convert(made, kind)
    return made


def _convert_complex(array: np.ndarray[Any, Any], made: np.ndarray[Any, Any]) -> Any:
    """Write a complex array into a real one, which gets real parts, or any into a complex one."""
    capture.refuse("a conversion of complex numbers")
    if made.dtype.kind == "c" or made.dtype.kind == "b":
        with np.errstate(invalid="ignore", over="ignore"):
            np.copyto(made, half.readable(array), casting="unsafe")
        return made
    made[...] = convert(array.real, made.dtype)
    return made
