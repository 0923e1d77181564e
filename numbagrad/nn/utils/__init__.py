"""Helpers of training: clipping of gradients, parameters as one vector, reparametrizations."""

from ...lazy import lazy_names
from . import parametrizations, parametrize, prune, rnn
from .clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

_FUSION = ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval",
           "fuse_linear_bn_weights")  # fmt: skip
_MEMORY_FORMAT = ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format")
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(_MEMORY_FORMAT, ".memory_format"),
        **dict.fromkeys(_FUSION, ".fusion"),
        "fusion": ".fusion",
        "init": ".init",
        "skip_init": ".init",
        "stateless": ".stateless",
    },
)

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
