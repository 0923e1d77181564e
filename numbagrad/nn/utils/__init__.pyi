# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.nn.utils``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.nn.utils import parametrizations as parametrizations
from numbagrad.nn.utils import parametrize as parametrize
from numbagrad.nn.utils import prune as prune
from numbagrad.nn.utils import rnn as rnn
from numbagrad.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from numbagrad.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from numbagrad.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from numbagrad.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from numbagrad.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from numbagrad.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from numbagrad.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from numbagrad.nn.utils.init import skip_init as skip_init
from numbagrad.nn.utils.memory_format import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format
from numbagrad.nn.utils.memory_format import convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format
from numbagrad.nn.utils.spectral_norm import remove_spectral_norm as remove_spectral_norm
from numbagrad.nn.utils.spectral_norm import spectral_norm as spectral_norm
from numbagrad.nn.utils.weight_norm import remove_weight_norm as remove_weight_norm
from numbagrad.nn.utils.weight_norm import weight_norm as weight_norm

def clip_grad_norm_(parameters: Any, max_norm: builtins.float, norm_type: builtins.float = ..., error_if_nonfinite: builtins.bool = ..., foreach: builtins.bool | None = ...) -> Tensor: ...
def clip_grad_value_(parameters: Any, clip_value: builtins.float, foreach: builtins.bool | None = ...) -> None: ...
def clip_grads_with_norm_(parameters: Any, max_norm: builtins.float, total_norm: Tensor, foreach: builtins.bool | None = ...) -> None: ...
def get_total_norm(tensors: Any, norm_type: builtins.float = ..., error_if_nonfinite: builtins.bool = ..., foreach: builtins.bool | None = ...) -> Tensor: ...
