"""Methods of Tensor that are functions of the public namespace too, as ``clamp_(x, min=0)``.

``numbagrad/__init__.py`` imports this file after those that define the methods.
"""

from __future__ import annotations

from ..tensor import Tensor
from .arguments import require_tensor

__all__ = [
    "addmv_", "as_strided_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "conj_physical_",
    "detach_", "fill_", "get_device", "logit_", "nan_to_num_", "resize_as_", "round_", "square_",
    "xlogy_", "zero_",
]  # fmt: skip


def detach_(input: Tensor) -> Tensor:
    """Take the history off a tensor, in place."""
    require_tensor("detach_", input)
    return input.detach_()


def get_device(input: Tensor) -> int:
    """-1, the number of the CPU."""
    require_tensor("get_device", input)
    return input.get_device()


addmv_ = Tensor.addmv_
as_strided_ = Tensor.as_strided_
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
conj_physical_ = Tensor.conj_physical_
fill_ = Tensor.fill_
logit_ = Tensor.logit_
nan_to_num_ = Tensor.nan_to_num_
resize_as_ = Tensor.resize_as_
round_ = Tensor.round_
square_ = Tensor.square_
xlogy_ = Tensor.xlogy_
zero_ = Tensor.zero_
