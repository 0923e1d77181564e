"""``torch.nn.modules.fold``: windows as columns, and the way back, at torch's path."""

from ..convolution import Fold, Unfold

__all__ = ["Fold", "Unfold"]
