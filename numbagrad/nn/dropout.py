"""Dropout layers: active in training mode, the identity in evaluation."""

from __future__ import annotations

from . import functional as F
from .function_layer import forward_of, layer
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


@layer()
class _Dropout(Module):
    _repr_format = "p={0.p}, inplace={0.inplace}"

    p: float = 0.5
    inplace: bool = False

    def __post_init__(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")


@forward_of(F.dropout)
class Dropout(_Dropout):
    """Zeros with probability ``p``; what remains is divided by ``1 - p``."""


@forward_of(F.dropout1d)
class Dropout1d(_Dropout):
    """Dropout of whole channels of (N, C, L) or (C, L)."""


@forward_of(F.dropout2d)
class Dropout2d(_Dropout):
    """Dropout of whole channels of (N, C, H, W)."""


@forward_of(F.dropout3d)
class Dropout3d(_Dropout):
    """Dropout of whole channels of (N, C, D, H, W)."""


@forward_of(F.alpha_dropout)
class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance of what SELU returns."""


@forward_of(F.feature_alpha_dropout)
class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels."""
