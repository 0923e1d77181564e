"""Functions of torch's dispatcher that have no public name: ``torch.ops.aten._safe_softmax``.

``ops/aten.py`` finds them for calls of such names, and the namespace has those that torch's has
(``torch._chunk_cat``). Each is written in public functions, which have the gradients.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from .dtype import uint8
from .nn import functional as layers
from .nn.functional.resampling import resampled
from .nn.functional.windows import named
from .nn.native import native_batch_norm
from .ops.creation.filled import full, zeros
from .ops.indexing.masked_index import masked_index, masked_index_put_accumulate
from .ops.pointwise.functions import exp
from .ops.reductions.softmax import softmax
from .ops.views.join import cat
from .ops.views.view_copies import slice_of as slice
from .tensor import Tensor

__all__ = [
    "_batch_norm_with_update", "_chunk_cat", "_log_softmax_backward_data",
    "_native_batch_norm_legit", "_safe_softmax", "_sample_dirichlet", "_softmax_backward_data",
    "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "_upsample_bicubic2d_aa",
    "_upsample_bilinear2d_aa", "index", "max_pool2d_with_indices_backward",
    "max_pool3d_with_indices_backward", "native_dropout_backward", "slice",
]  # fmt: skip


# --- reads ----------------------------------------------------------------------------------------


def index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """``input[indices]``; None stands for a whole dimension."""
    made: Tensor = input[tuple([builtins.slice(None) if x is None else x for x in indices])]
    return made


def _unsafe_masked_index(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: Any
) -> Tensor:
    """``input[indices]`` where ``mask`` is true, ``fill`` elsewhere."""
    return masked_index(input, mask, indices, fill)


def _unsafe_masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    """``input`` with ``values`` added at indices where ``mask`` is true."""
    return masked_index_put_accumulate(input, mask, indices, values)


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Every tensor in ``num_chunks`` rows (..., num_chunks, elements), side by side.

    A dimension that the chunks do not divide is filled up with zeros.

    Raises:
        RuntimeError: for tensors whose leading shapes or dtypes differ, or that are empty.
    """
    if not len(tensors):
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, but got {num_chunks}")
    ranks = {x.ndim for x in tensors}
    if dim < 0:
        if len(ranks) > 1:
            raise RuntimeError(
                "_chunk_cat expects non-negative dim when input tensors have different ndims"
            )
        dim += min(ranks)
    if not 0 <= dim < min(ranks):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    first = tensors[0]
    if not all([x.numel() for x in tensors]):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    if any([x.dtype is not first.dtype for x in tensors]):
        raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    if any([x.shape[:dim] != first.shape[:dim] for x in tensors]):
        raise RuntimeError(
            "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors"
        )
    parts = []
    for x in tensors:
        missing = -x.shape[dim] % num_chunks
        if missing:
            filled = zeros(*x.shape[:dim], missing, *x.shape[dim + 1 :], dtype=x.dtype)
            x = cat([x, filled], dim)
        parts.append(x.reshape(*x.shape[:dim], num_chunks, -1))
    return cat(parts, -1)


# --- softmax --------------------------------------------------------------------------------------


def _safe_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``softmax``, with zeros where all of a row is minus infinity."""
    nothing = (input == -math.inf).all(dim, keepdim=True)
    return softmax(input.masked_fill(nothing, 0), dim, dtype=dtype).masked_fill(nothing, 0)


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """The gradient of what ``softmax`` was given, from its result."""
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """The gradient of what ``log_softmax`` was given, from its result."""
    made = grad_output - exp(output) * grad_output.sum(dim, keepdim=True)
    return made.to(input_dtype)


# --- random numbers -------------------------------------------------------------------------------


def _sample_dirichlet(concentration: Tensor, generator: None = None) -> Tensor:
    """Samples (..., K) of the Dirichlet distributions of concentrations (..., K).

    Raises:
        NotImplementedError: for a generator: numbers are those of the default one.
    """
    if generator is not None:
        raise NotImplementedError("_sample_dirichlet draws from the default generator alone")
    from .distributions.sampling import dirichlet  # few programs sample such

    return dirichlet(concentration)


# --- layers ---------------------------------------------------------------------------------------


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of what ``native_dropout`` was given."""
    return grad_output * mask * scale


def _native_batch_norm_legit(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Any,
    running_var: Any,
    training: Any,
    momentum: Any = None,
    eps: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """``native_batch_norm``, or with no averages: input, weight, bias, training, momentum, eps."""
    if momentum is None:
        return native_batch_norm(
            input, weight, bias, None, None, bool(running_mean), running_var, training
        )
    return native_batch_norm(
        input, weight, bias, running_mean, running_var, bool(training), momentum, eps
    )


def _batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``native_batch_norm`` in training, and memory for its backward, which is empty."""
    made = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*made, zeros(0, dtype=uint8))


def _smoothed(mode: str) -> Callable[..., Tensor]:
    """``interpolate`` with ``antialias`` in torch's two signatures: sizes, or sizes or factors."""

    def function(
        input: Tensor,
        output_size: Any,
        align_corners: bool,
        scale_factors: Any = None,
        scales_w: float | None = None,
        *,
        scales_h: float | None = None,
    ) -> Tensor:
        if isinstance(scale_factors, (int, float)):  # (output_size, align_corners, h, w)
            scale_factors, scales_h = None, scale_factors
        if output_size is not None:
            factors = (scales_h, scales_w)
            return resampled(input, tuple(output_size), factors, mode, bool(align_corners), True)
        return layers.interpolate(
            input, None, list(scale_factors), mode, bool(align_corners), antialias=True
        )

    return named(
        function, f"_upsample_{mode}2d_aa", f'``interpolate(mode="{mode}", antialias=True)``.'
    )


_upsample_bilinear2d_aa = _smoothed("bilinear")
_upsample_bicubic2d_aa = _smoothed("bicubic")


def _to_positions(grad_output: Tensor, input: Tensor, indices: Tensor, rank: int) -> Tensor:
    """Gradients of pooled elements at the places in images from which these are."""
    leading = input.shape[: input.ndim - rank]
    flat = input.reshape(*leading, -1)
    flat = flat.masked_fill(full((), True), 0)  # whose gradient is zero, and is there
    positions, grads = indices.reshape(*leading, -1), grad_output.reshape(*leading, -1)
    return flat.scatter_add(-1, positions, grads).reshape(input.shape)


def max_pool2d_with_indices_backward(
    grad_output: Tensor, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, indices: Tensor,
) -> Tensor:  # fmt: skip
    """The gradient of the images (..., H, W) of ``max_pool2d_with_indices``."""
    return _to_positions(grad_output, input, indices, 2)


def max_pool3d_with_indices_backward(
    grad_output: Tensor, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, indices: Tensor,
) -> Tensor:  # fmt: skip
    """The gradient of the volumes (..., D, H, W) of ``max_pool3d_with_indices``."""
    return _to_positions(grad_output, input, indices, 3)
