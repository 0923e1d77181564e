"""``torch.nn.modules.channelshuffle``: channels in another order, at torch's path."""

from ..resampling import ChannelShuffle

__all__ = ["ChannelShuffle"]
