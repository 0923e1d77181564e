"""``torch.nn.utils.fusion``: a layer and the batch norm behind it as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from ...ops.creation.filled import ones_like, zeros_like
from ...tensor import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval",
           "fuse_linear_bn_weights"]  # fmt: skip


def _scales(mean: Tensor, variance: Tensor, eps: float, weight: Any, bias: Any) -> Any:
    """The factor of batch norm, and the term that it then adds."""
    scale = (ones_like(mean) if weight is None else weight) * (variance + eps).rsqrt()
    return scale, (zeros_like(mean) if bias is None else bias) - mean * scale


def _fused(weight: Tensor, bias: Any, shape: list[int], scales: Any) -> tuple[Parameter, Parameter]:
    scale, shift = scales
    new_bias = shift if bias is None else bias * scale + shift
    new_weight = (weight * scale.reshape(shape)).to(weight.dtype)
    return (
        Parameter(new_weight.detach(), weight.requires_grad),
        Parameter(new_bias.to(weight.dtype).detach(), getattr(bias, "requires_grad", True)),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that computes what it and the batch norm behind it do."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, shape, _scales(bn_rm, bn_rv, bn_eps, bn_w, bn_b))


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that computes what it and the batch norm behind it do."""
    return _fused(linear_w, linear_b, [-1, 1], _scales(bn_rm, bn_rv, bn_eps, bn_w, bn_b))


def _state(norm: Any) -> tuple[Any, ...]:
    return norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of ``conv`` that computes ``bn(conv(x))``; both have to be in eval mode."""
    assert not (conv.training or bn.training), "Fusion only for eval!"
    fused = copy.deepcopy(conv)
    mean, variance, eps, weight, bias = _state(bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, mean, variance, eps, weight, bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of ``linear`` that computes ``bn(linear(x))``; both have to be in eval mode."""
    assert not (linear.training or bn.training), "Fusion only for eval!"
    assert linear.out_features == bn.num_features or bn.num_features == 1, (
        "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
    )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *_state(bn))
    return fused
