"""Writing where a mask holds: masked_scatter, which returns a copy, and its method in place.

Filling by a mask is a pointwise operator.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import foreign
from ...executor.families.checks import check_inside
from ...executor.families.indexing import strided_view
from ...executor.memory.arrays import copied, filled_like
from ...executor.plan.forms import spread
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed
from ..arguments.shapes import common_shape
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.array_function import array_function
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..views.expand import expand
from .gather import gather_operator
from .items import scalar_name

__all__ = ["masked_scatter"]

Array = np.ndarray[Any, Any]


def _mask_filled(array: Array, mask: Array, source: Array) -> Array:
    result = array.copy("C")
    count = int(mask.sum())
    half.assign(result, mask, source.reshape(-1)[:count])
    return result


def _chosen_first(array: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """The elements where the mask holds, in order, and zeros behind them."""
    result = np.zeros(math.prod(shape), array.dtype)
    chosen = array[mask]
    result[: chosen.size] = chosen
    return result.reshape(shape)


_read_by_mask = TensorOperator(
    "masked_scatter_backward",
    lambda input, mask, shape: _chosen_first(input, mask, shape),
    {
        "input": lambda grad, input_shape, mask: _masked_scatter(
            new_tensor(filled_like(grad._array, input_shape, grad._array.dtype, 0)), mask, grad
        )
    },
    takes_half=True,
)
_masked_scatter = TensorOperator(
    "masked_scatter",
    lambda input, mask, source: _mask_filled(input, mask, source),
    {
        "input": lambda grad, mask: pointwise("masked_fill")(grad, new_tensor(mask), 0),
        "source": lambda grad, mask, source_shape: _read_by_mask(grad, mask, source_shape),
    },
    takes_half=True,
)


def _check_source(mask: Array, size: int) -> None:
    """Raise torch's error unless there is an element of the source for each that is written."""
    if foreign(mask) is None:
        _check_at_once(mask, size)
        return
    count = new_tensor(mask).sum()._array
    subject = (
        "masked_scatter(): the number of ones in mask, counted from the source's last element,"
    )
    check_inside(subject, count, size + 1, _explain_source, mask, size)


def _explain_source(mask: Array, size: int) -> None:
    if size < int(mask.sum()):
        raise RuntimeError("Number of elements of source < number of ones in mask")


_check_at_once = array_function("check")(_explain_source)


@method()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of ``source``, in their order, written where the mask holds."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{scalar_name(mask)}"
        )
    if input._array.dtype != source._array.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{scalar_name(input)} and {scalar_name(source)}"
        )
    shape = common_shape([input._array.shape, mask._array.shape])
    if is_transformed((input, mask, source)):
        return _scattered_by_mask(input, mask, source, shape)
    chosen = copied(strided_view(mask._array, shape, spread(mask._array, shape)))
    _check_source(chosen, source._array.size)
    if input._array.shape != shape:
        input = expand(input, shape)
    return _masked_scatter(input, chosen, source)


def _scattered_by_mask(input: Tensor, mask: Tensor, source: Tensor, shape: Any) -> Tensor:
    """The same by operators: each element that is written reads the source at its number."""
    mask = expand(mask, shape)
    numbers = mask.reshape(-1).cumsum(0) - 1
    chosen = gather_operator(source.reshape(-1), 0, numbers.clamp_min(0))
    return pointwise("where")(mask, chosen.reshape(shape), input)


install_in_place(masked_scatter, refused=None)
