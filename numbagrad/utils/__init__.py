"""torch's name of the room ``data``, which is imported when it is first asked for."""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from . import data

__all__ = ["data"]

__getattr__, __dir__ = lazy_names(__name__, {"data": ".data"})
