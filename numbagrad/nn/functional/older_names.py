"""Names of ``nn.functional`` for older programs: numbers of modes, functions of the namespace."""

from __future__ import annotations

from ..native import native_channel_shuffle
from ..native_layers import conv_tbc

__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "conv_tbc",
    "native_channel_shuffle",
]  # fmt: skip

#: Numbers of the modes of ``grid_sampler``.
GRID_SAMPLE_INTERPOLATION_MODES: dict[str, int] = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES: dict[str, int] = {"zeros": 0, "border": 1, "reflection": 2}
