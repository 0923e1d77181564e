"""Convolution layers: Conv1d to Conv3d and their transposes, Unfold and Fold.

Parameters with torch's initial values; ``functional/convolution.py`` computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..ops.creation.filled import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Fold",
    "Unfold",
]  # fmt: skip


def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """An option as a tuple with an entry for each spatial dimension."""
    return tuple(value) if isinstance(value, Sequence) else (value,) * count


def _check_options(
    in_channels: int, out_channels: int, stride: Any, padding: Any, groups: int, mode: str
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of 'same' and 'valid'"
            )
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if mode not in ("zeros", "reflect", "replicate", "circular"):
        raise ValueError(
            "padding_mode must be one of 'zeros', 'reflect', 'replicate' and 'circular', but got "
            f"padding_mode='{mode}'"
        )


class _Convolution(Module):
    """Base of all convolutions: the options, the parameters and the text."""

    rank: int
    transposed = False
    compute: Callable[..., Tensor]
    bias: Parameter | None

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = repeated(kernel_size, self.rank)
        self.stride = repeated(stride, self.rank)
        self.padding = padding if isinstance(padding, str) else repeated(padding, self.rank)
        self.dilation = repeated(dilation, self.rank)
        self.output_padding = repeated(output_padding, self.rank)
        self.groups = groups
        self.padding_mode = padding_mode
        _check_options(in_channels, out_channels, self.stride, padding, groups, padding_mode)
        outer, inner = out_channels, in_channels
        if self.transposed:
            outer, inner = inner, outer
        self.weight = Parameter(
            empty(outer, inner // groups, *self.kernel_size, device=device, dtype=dtype)
        )
        made = Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        none, ones = (0,) * self.rank, (1,) * self.rank
        for name, default in (
            ("padding", none), ("dilation", ones), ("output_padding", none), ("groups", 1),
        ):  # fmt: skip
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_Convolution):
    """Cross-correlation with trained windows.

    Args:
        in_channels, out_channels: channels of input and output.
        kernel_size, stride, padding, dilation: numbers, or one for each spatial dimension;
            ``padding`` may be "same" or "valid".
        groups: of channels that are convolved apart from each other.
        bias: whether a number is added to every output channel.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _widths(self) -> list[int]:
        """The padding as ``pad`` takes it: from the last dimension, both sides."""
        widths: list[int] = []
        for i in reversed(range(self.rank)):
            if isinstance(self.padding, str):
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                total = total if self.padding == "same" else 0
                widths += [total // 2, total - total // 2]
            else:
                widths += [self.padding[i]] * 2
        return widths

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to (N, C, ...) or (C, ...)."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._widths(), mode=self.padding_mode), 0
        return type(self).compute(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Conv):
    """Convolution of (N, C, L)."""

    rank, compute = 1, staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Convolution of images (N, C, H, W)."""

    rank, compute = 2, staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Convolution of volumes (N, C, D, H, W)."""

    rank, compute = 3, staticmethod(F.conv3d)


class _ConvTranspose(_Convolution):
    """The gradient of a convolution's input, as a layer.

    Arguments are those of a convolution; ``output_padding`` makes the output larger at one side.
    """

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _padding_for(self, input: Tensor, output_size: Sequence[int]) -> list[int]:
        """The ``output_padding`` that gives an output of the wanted size."""
        wanted = list(output_size)[-self.rank :]
        extra = []
        for i, size in enumerate(wanted):
            reach = self.dilation[i] * (self.kernel_size[i] - 1) + 1
            least = (input.shape[i - self.rank] - 1) * self.stride[i]
            least += reach - 2 * self.padding[i]
            if not least <= size <= least + self.stride[i] - 1:
                raise ValueError(
                    f"requested an output size of {wanted}, but dimension {i} can be "
                    f"{least} to {least + self.stride[i] - 1} for an input of {list(input.shape)}"
                )
            extra.append(size - least)
        return extra

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Apply the layer; ``output_size`` takes the place of ``output_padding``."""
        extra: Any = self.output_padding
        if output_size is not None:
            extra = self._padding_for(input, output_size)
        return type(self).compute(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of (N, C, L)."""

    rank, compute = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of images (N, C, H, W)."""

    rank, compute = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of volumes (N, C, D, H, W)."""

    rank, compute = 3, staticmethod(F.conv_transpose3d)


class Unfold(Module):
    """The windows of images as columns."""

    _repr_format = (
        "kernel_size={0.kernel_size}, dilation={0.dilation}, padding={0.padding}, stride={0.stride}"
    )

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Unfold):
    """Columns summed to images, the adjoint of Unfold."""

    _repr_format = f"output_size={{0.output_size}}, {Unfold._repr_format}"

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
