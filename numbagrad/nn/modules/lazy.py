"""``torch.nn.modules.lazy``: layers that learn their shapes, at torch's path."""

from ..lazy import LazyModuleMixin

__all__ = ["LazyModuleMixin"]
