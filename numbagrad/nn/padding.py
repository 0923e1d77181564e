"""Padding layers: constant, reflected, replicated and circular, for one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops.arguments.requirements import require_tensor
from ..tensor import Tensor
from . import functional as F
from .module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Elements at both sides of the last dimensions.

    Args:
        padding: how many on all sides, or a number for each side, the last dimension first.
    """

    _repr_format = "{0.padding}"

    rank: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        sides = 2 * self.rank
        self.padding = tuple(padding) if isinstance(padding, Sequence) else (padding,) * sides

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return F.pad(input, self.padding, self.mode)


class _ConstantPad(_Pad):
    """Elements of one value; options as of the other paddings."""

    _repr_format = "padding={0.padding}, value={0.value}"

    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return F.pad(input, self.padding, self.mode, self.value)


class ConstantPad1d(_ConstantPad):
    """One value around (N, C, L)."""

    rank = 1


class ConstantPad2d(_ConstantPad):
    """One value around images."""

    rank = 2


class ConstantPad3d(_ConstantPad):
    """One value around volumes."""

    rank = 3


class _ZeroPad(_ConstantPad):
    """Zeros around."""

    _repr_format = _Pad._repr_format

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros around (N, C, L)."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around images."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around volumes."""


class ReflectionPad1d(_Pad):
    """(N, C, L) mirrored at its ends."""

    rank, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Images mirrored at their edges."""

    rank, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Volumes mirrored at their faces."""

    rank, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """(N, C, L) with its outermost elements repeated."""

    rank, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Images with their outermost elements repeated."""

    rank, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Volumes with their outermost elements repeated."""

    rank, mode = 3, "replicate"


class _CircularPad(_Pad):
    """Elements from the other end; options as of the other paddings."""

    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        require_tensor(self._get_name(), input)
        if input._array.ndim not in (self.rank + 1, self.rank + 2):
            raise ValueError(
                f"expected {self.rank + 1}D or {self.rank + 2}D input (got {input._array.ndim}D "
                "input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """(N, C, L), continued from its other end."""

    rank = 1


class CircularPad2d(_CircularPad):
    """Images, continued from their other edges."""

    rank = 2


class CircularPad3d(_CircularPad):
    """Volumes, continued from their other faces."""

    rank = 3
