"""``torch.distributions.exp_family``: ExponentialFamily, at torch's path."""

from .distribution import ExponentialFamily

__all__ = ["ExponentialFamily"]
