"""``torch.optim.adamw``: AdamW, at torch's path."""

from .adam import AdamW

__all__ = ["AdamW"]
