"""torch's names ``utils.data`` and ``utils.checkpoint``, imported when they are first asked for."""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from . import checkpoint, data

__all__ = ["checkpoint", "data"]

__getattr__, __dir__ = lazy_names(__name__, {"checkpoint": ".checkpoint", "data": ".data"})
