"""Layers of torch's top namespace that ``nn.functional`` has not, or under other names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import bfloat16, float16, float32, int32
from ..executor.memory.arrays import copied
from ..ops.arguments.kinds import Ints, takes
from ..ops.operators.tensor_operator import TensorOperator
from ..tensor import Tensor, new_tensor
from ..transforms.batching import aligned_stacks
from .functional import conv1d
from .functional.checks import refuse_kinds
from .functional.embedding import _shorten_rows
from .functional.grid import affine_grid

__all__ = [
    "affine_grid_generator", "conv_tbc", "embedding_renorm_", "fake_quantize_per_channel_affine",
    "fake_quantize_per_tensor_affine",
]  # fmt: skip


def affine_grid_generator(theta: Tensor, size: Ints, align_corners: bool) -> Tensor:
    """``nn.functional.affine_grid``, whose errors are those of a product of matrices here.

    Raises:
        IndexError: for maps of fewer than three dimensions.
        RuntimeError: for maps of another shape, and sizes that are not positive.
        NotImplementedError: for maps that are no floats, and sizes of other dimensions.
    """
    refuse_kinds("affine_grid_generator", theta, "biuc", "theta")
    rank = len(size) - 2
    if rank in (2, 3):
        expected = (size[0], rank, rank + 1)
        if theta.shape != expected or min(size) <= 0:
            raise (IndexError if theta.ndim < 3 else RuntimeError)(
                f"affine_grid_generator(): sizes must be positive and theta of shape "
                f"{list(expected)} for size {list(size)}, but got theta of {list(theta.shape)}"
            )
    return affine_grid(theta, list(size), align_corners)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution along the first dimension of (time, batch, channels).

    Args:
        input: (T, B, C_in).
        weight: (width, C_in, C_out).
        bias: (C_out).
        pad: zeros at both ends.

    Raises:
        RuntimeError: for other dimensions.
    """
    for name, value, rank in (("input", input, 3), ("weight", weight, 3), ("bias", bias, 1)):
        if value.ndim != rank:
            raise RuntimeError(
                f"conv_tbc(): {name} must have {rank} dimensions, but has shape {list(value.shape)}"
            )
    made = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return made.permute(2, 0, 1)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Shorten rows of a table, in place, that are looked up and longer than ``max_norm``."""
    if input.ndim != 2:
        raise RuntimeError(
            "embedding_renorm_(): Expected 2-dimensional tensor for argument 'input', but got "
            f"shape {list(input.shape)}"
        )
    _shorten_rows(input, indices, max_norm, norm_type)
    return input


# --- numbers as they would be if few of them were stored ------------------------------------------

#: Other values in the place of the input's, whose gradient passes where ``inside`` is one.
_replaced = TensorOperator(
    "fake_quantize",
    lambda input, values, inside: copied(values),
    {"input": lambda grad, inside: grad * inside},
    grad_fn="FakeQuantizePerTensorAffineCachemaskBackward0",
    batch=lambda operator, size, arguments, mapped: operator(*aligned_stacks(arguments, mapped)),
    portable=True,
)


def _quantized(
    name: str, input: Tensor, scale: Tensor, zero_point: Tensor, least: int, most: int
) -> Tensor:
    if input._array.dtype.kind not in "fV":
        raise RuntimeError(f"{name}(): expected a float tensor, but got {input.dtype}")
    if least > most:
        raise RuntimeError(
            f"{name}(): `quant_min` should be less than or equal to `quant_max`, but got {least} "
            f"and {most}"
        )
    outside = (zero_point < least) | (zero_point > most)
    if outside.any():
        raise RuntimeError(
            f"{name}(): `zero_point` must be between `quant_min` and `quant_max`, {least} and "
            f"{most}"
        )
    before = (input.detach() / scale).round() + zero_point
    inside = (before >= least) & (before <= most)
    values = (before.clamp(least, most) - zero_point) * scale
    made: Tensor = _replaced(input, values.to(input.dtype), inside.to(input.dtype))
    return made


def _number(value: Any) -> Tensor:
    return value.detach() if isinstance(value, Tensor) else new_tensor(np.asarray(value))


@takes(
    "input: Tensor, scale: Real, zero_point: int, quant_min: int, quant_max: int",
    "input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int",
)
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Numbers as rounded by storing them as integers: ``(q - zero_point) * scale``.

    q is ``round(input / scale) + zero_point`` within the limits. The gradient passes where q was
    within them, and is zero elsewhere.

    Args:
        input: floats of any shape.
        scale, zero_point: a number each, or a tensor of one.
        quant_min, quant_max: the least and the largest integer.

    Raises:
        RuntimeError: for limits in another order, or a zero point beyond them.
    """
    name = "fake_quantize_per_tensor_affine"
    return _quantized(name, input, _number(scale), _number(zero_point), quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point for each place of ``axis``.

    Raises:
        RuntimeError: unless both are vectors of that size and of dtypes that torch takes; and as
            for one of all.
    """
    name = "fake_quantize_per_channel_affine"
    if scale.dtype not in (float32, bfloat16):
        raise RuntimeError(f"{name}(): scale must be float32 or bfloat16, but got {scale.dtype}")
    if zero_point.dtype not in (int32, float32, float16):
        raise RuntimeError(
            f"{name}(): zero_point must be int32, float32 or float16, but got {zero_point.dtype}"
        )
    axis = input._dimension(axis)
    size = input.shape[axis]
    if scale.shape != (size,) or zero_point.shape != (size,):
        raise RuntimeError(
            f"{name}(): dimensions of scale and zero-point are not consistent with input tensor: "
            f"expected vectors of {size}, but got shapes {list(scale.shape)} and "
            f"{list(zero_point.shape)}"
        )
    shape = [size if dim == axis else 1 for dim in range(input.ndim)]
    given = scale.detach().reshape(shape), zero_point.detach().reshape(shape)
    return _quantized(name, input, *given, quant_min, quant_max)
