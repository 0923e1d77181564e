"""Resampling layers: the functions of ``functional/resampling.py`` with their options kept."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .function_layer import layer
from .module import Module

__all__ = [
    "ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]  # fmt: skip


def _as_floats(factor: Any) -> Any:
    if isinstance(factor, tuple):
        return tuple(float(entry) for entry in factor)
    return float(factor) if factor else None


@layer(F.interpolate)
class Upsample(Module):
    """``interpolate`` with its options kept: new sizes, or factors of the old ones."""

    size: Any = None
    scale_factor: Any = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def __post_init__(self) -> None:
        self.scale_factor = _as_floats(self.scale_factor)

    def extra_repr(self) -> str:
        given = f"size={self.size}"
        if self.scale_factor is not None:
            given = f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images of another size, by the nearest pixel."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Images of another size, linear in both directions, corners aligned."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


@layer(F.pixel_shuffle)
class PixelShuffle(Module):
    """Channels as pixels: (..., C * r², H, W) to (..., C, H * r, W * r)."""

    _repr_format = "upscale_factor={0.upscale_factor}"

    upscale_factor: int


@layer(F.pixel_unshuffle)
class PixelUnshuffle(Module):
    """The inverse of PixelShuffle."""

    _repr_format = "downscale_factor={0.downscale_factor}"

    downscale_factor: int


@layer(F.channel_shuffle)
class ChannelShuffle(Module):
    """The channels in groups, dealt out like cards."""

    _repr_format = "groups={0.groups}"

    groups: int
