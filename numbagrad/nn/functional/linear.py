"""Linear maps: ``linear`` and ``bilinear``.

Called by users and by the layers of ``nn/linear.py``; the product with its bias is one node of
``nn/operators.py``.
"""

from __future__ import annotations

import math
from typing import Any

from ...dispatch import layers
from ...dispatch.layers import asks, descend
from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...ops.arguments.check import check_tensors
from ...ops.arguments.output import write_result
from ...ops.arguments.shapes import check_broadcast
from ...tensor import Tensor
from ...transforms.levels import Transformed
from .. import operators
from .checks import one_dtype

__all__ = ["bilinear", "linear"]


@autocasts("lower", asks_itself=True)
def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """``input @ weight.T + bias`` for weight (out, in) and input (..., in).

    Raises:
        RuntimeError: if the sizes do not match.
    """
    if out is not None:
        return write_result("linear", linear(input, weight, bias), out)
    if layers.active and asks(linear):
        return descend(linear, (input, weight, bias), {})
    try:
        x, w = input._array, weight._array
        b = None if bias is None else bias._array
    except AttributeError:
        check_tensors(linear, (input, weight, bias))
        raise
    if b is None or not _alike(x, w, b):
        return _of_operators(input, weight, bias)
    if x.ndim == 2 and x.shape[1] == w.shape[1]:
        return operators.linear_2d(bias, input, weight)  # type: ignore[arg-type]
    return _of_rows(input, weight, bias)  # type: ignore[arg-type]


def _alike(x: Any, w: Any, b: Any) -> bool:
    """Whether arrays have one dtype, are under no transformation, and ``w`` is a matrix."""
    kinds = x.__class__, w.__class__, b.__class__
    return x.dtype == w.dtype == b.dtype and w.ndim == 2 and Transformed not in kinds


def _of_operators(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``linear`` as a product and a sum."""
    if input._array.dtype != weight._array.dtype:
        names = f"{scalar_type_name(input.dtype)} and {scalar_type_name(weight.dtype)}"
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {names}; convert one with .to(dtype)"
        )
    if (
        weight._array.ndim == 1
        and bias is not None
        and (input._array.ndim == 2 or bias._array.ndim > 0)
    ):
        raise RuntimeError("linear: a weight of one dimension takes no bias; mat2 must be a matrix")
    made = input.matmul(weight.t())
    if bias is None:
        return made
    one_dtype("linear", input, bias=bias)
    check_broadcast(bias._array.shape, made._array.shape)
    return made + bias


def _of_rows(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``linear`` of an input of any number of dimensions."""
    x, w = input._array, weight._array
    if x.ndim == 0 or bias._array.ndim > 1:
        return _of_operators(input, weight, bias)
    if x.shape[-1] != w.shape[1]:
        rows = x.size // max(x.shape[-1], 1)
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and "
            f"{w.shape[1]}x{w.shape[0]})"
        )
    rows = input.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    flat = operators.linear_2d(bias, rows, weight)
    return flat.view(*x.shape[:-1], w.shape[0])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for weight (out, in1, in2)."""
    _check_bilinear(input1, input2, weight, bias)
    one_dtype("bilinear", input1, input2=input2, weight=weight)
    outputs, first, second = weight._array.shape
    leading = input1._array.shape[:-1]
    rows = math.prod(leading)
    x1, x2 = input1.reshape(rows, first), input2.reshape(rows, second)
    middle = x1.matmul(weight.transpose(0, 1).reshape(first, outputs * second))
    products = middle.reshape(rows, outputs, second) * x2.unsqueeze(1)
    made = products.sum(-1, dtype=products.dtype)
    made = made.reshape(*leading, outputs)
    return made if bias is None else made + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    first, second, sizes = input1._array.shape, input2._array.shape, weight._array.shape
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and not value._array.ndim:
            raise IndexError(f"bilinear(): argument '{name}' has no dimensions, but needs features")
    if not first or not second or first[:-1] != second[:-1]:
        raise RuntimeError(
            "bilinear(): input dimensions do not match: all but the last of input1 and input2 have "
            f"to be the same, but got {list(first)} and {list(second)}"
        )
    if len(sizes) != 3 or sizes[1:] != (first[-1], second[-1]):
        raise RuntimeError(
            f"bilinear(): inputs of {first[-1]} and {second[-1]} features need a weight of shape "
            f"[out, {first[-1]}, {second[-1]}], but it has shape {list(sizes)}"
        )
    if bias is not None and bias._array.shape != sizes[:1]:
        raise RuntimeError(
            "bilinear(): bias size does not match weight size: got shape "
            f"{list(bias._array.shape)} but expected {[sizes[0]]}"
        )
