"""Linear maps: ``linear`` and ``bilinear``.

Called by users and by the layers of ``nn/linear.py``; the product with its bias is one node of
``nn/operators.py``.
"""

from __future__ import annotations

from ...executor.pointwise import scalar_type_name
from ...ops.argument_check import check_tensors
from ...tensor import Tensor
from ...transforms.levels import Transformed
from .. import operators

__all__ = ["bilinear", "linear"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias`` for weight (out, in) and input (..., in).

    Raises:
        RuntimeError: if the sizes do not match.
    """
    try:
        x, w = input._array, weight._array
        plain = w.ndim == 2 and bias is not None and x.ndim and bias._array.dtype == x.dtype
    except AttributeError:
        check_tensors(linear, (input, weight, bias))
        raise
    if x.dtype != w.dtype:
        names = f"{scalar_type_name(input.dtype)} and {scalar_type_name(weight.dtype)}"
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {names}; convert one with .to(dtype)"
        )
    if w.ndim == 1 and bias is not None:
        raise RuntimeError("linear: a weight of one dimension takes no bias; mat2 must be a matrix")
    if not plain or Transformed in (x.__class__, w.__class__, bias._array.__class__):  # type: ignore[union-attr]
        made = input.matmul(weight.t())
        return made if bias is None else made + bias
    if x.shape[-1] != w.shape[1]:
        rows = x.size // max(x.shape[-1], 1)
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and "
            f"{w.shape[1]}x{w.shape[0]})"
        )
    if x.ndim == 2:
        return operators.linear_2d(bias, input, weight)  # type: ignore[arg-type]
    flat = operators.linear_2d(bias, input.reshape(-1, x.shape[-1]), weight)  # type: ignore[arg-type]
    return flat.view(*x.shape[:-1], w.shape[0])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for weight (out, in1, in2)."""
    outputs, first, second = weight._array.shape
    leading = input1._array.shape[:-1]
    x1, x2 = input1.reshape(-1, first), input2.reshape(-1, second)
    middle = x1.matmul(weight.transpose(0, 1).reshape(first, outputs * second))
    made = (middle.reshape(-1, outputs, second) * x2.unsqueeze(1)).sum(-1)
    made = made.reshape(*leading, outputs)
    return made if bias is None else made + bias


def along(input: Tensor, axis: int, matrix: Tensor) -> Tensor:
    """A matrix (m, n) times every line of one dimension of size n; ``axis`` is negative."""
    if axis == -1:
        return input @ matrix.t()
    if axis == -2:
        return matrix @ input
    return (input.transpose(axis, -1) @ matrix.t()).transpose(axis, -1)
