"""``torch.nn.modules.adaptive``: the softmax of many classes, at torch's path."""

from ..adaptive_softmax import AdaptiveLogSoftmaxWithLoss

__all__ = ["AdaptiveLogSoftmaxWithLoss"]
