# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.functional``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.ops.linear_algebra.low_rank import pca_lowrank as pca_lowrank
from numbagrad.ops.linear_algebra.low_rank import svd_lowrank as svd_lowrank
from numbagrad.ops.pointwise.integers import cartesian_prod as cartesian_prod
from numbagrad.ops.pointwise.integers import unravel_index as unravel_index
from numbagrad.ops.products.contraction import einsum as einsum
from numbagrad.ops.views.expand import broadcast_shapes as broadcast_shapes
from numbagrad.ops.views.expand import broadcast_tensors as broadcast_tensors
from numbagrad.ops.views.join import atleast_1d as atleast_1d
from numbagrad.ops.views.join import atleast_2d as atleast_2d
from numbagrad.ops.views.join import atleast_3d as atleast_3d
from numbagrad.ops.views.join import block_diag as block_diag
from numbagrad.ops.views.join import meshgrid as meshgrid

def cdist(x1: Tensor, x2: Tensor, p: Real = ..., compute_mode: Any = ...) -> Tensor: ...
def chain_matmul(*matrices: Tensor, out: Tensor | None = ...) -> Tensor: ...
def istft(input: Tensor, n_fft: builtins.int, hop_length: builtins.int | None = ..., win_length: builtins.int | None = ..., window: Tensor | None = ..., center: builtins.bool = ..., normalized: builtins.bool = ..., onesided: builtins.bool | None = ..., length: builtins.int | None = ..., return_complex: builtins.bool = ...) -> Tensor: ...
def lu(input: Tensor, pivot: builtins.bool = ..., get_infos: builtins.bool = ..., *, out: Tensor | None = ...) -> Any: ...
def norm(input: Tensor, p: builtins.float | builtins.str | None = ..., dim: Any = ..., keepdim: builtins.bool = ..., dtype: DType | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
def split(input: Tensor, split_size_or_sections: Any, dim: builtins.int = ...) -> builtins.tuple[Tensor, ...]: ...
def stft(input: Tensor, n_fft: builtins.int, hop_length: builtins.int | None = ..., win_length: builtins.int | None = ..., window: Tensor | None = ..., center: builtins.bool = ..., pad_mode: builtins.str = ..., normalized: builtins.bool = ..., onesided: builtins.bool | None = ..., return_complex: builtins.bool | None = ..., align_to_window: builtins.bool | None = ...) -> Tensor: ...
def tensordot(a: Tensor, b: Tensor, dims: Any = ..., *, out: Tensor | None = ...) -> Tensor: ...
def unique(input: Tensor, sorted: builtins.bool = ..., return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any: ...
def unique_consecutive(input: Tensor, return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...) -> Any: ...
