"""``torch.nn.modules.conv``: convolutions, at torch's path."""

from ..convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from ..convolution import _Convolution as _ConvNd
from ..convolution import _ConvTranspose as _ConvTransposeMixin
from ..convolution import _ConvTranspose as _ConvTransposeNd
from ..lazy import (
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
)
from ..lazy import _LazyConvolution as _LazyConvXdMixin

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d",
    "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip
