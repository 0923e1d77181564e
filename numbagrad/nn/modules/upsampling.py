"""``torch.nn.modules.upsampling``: images made larger, at torch's path."""

from ..resampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
