"""``torch.nn.modules.pixelshuffle``: channels as pixels, and the way back, at torch's path."""

from ..resampling import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
