"""``torch.nn.modules.loss``: losses, at torch's path."""

from .. import loss as _loss
from ..linear_loss import LinearCrossEntropyLoss, LinearCrossEntropyOptions
from ..loss import *
from ..loss import _Loss, _WeightedLoss
from ..older_layers import NLLLoss2d

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "NLLLoss2d"]
__all__ += _loss.__all__
