"""``torch.nn.modules.flatten``: dimensions made one, and the way back, at torch's path."""

from ..linear import Flatten, Unflatten

__all__ = ["Flatten", "Unflatten"]
