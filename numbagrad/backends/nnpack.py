"""``torch.backends.nnpack``: a library of layers, which is not used; its switch."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager

from . import flags_of

__all__ = ["enabled", "flags", "is_available", "set_flags"]

enabled = True


def is_available() -> bool:
    """Whether it computes anything: never."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Set the switch, and return what it was."""
    global enabled
    before, enabled = enabled, _enabled
    return (before,)


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Set the switch for a ``with`` block."""
    return flags_of(sys.modules[__name__], {"enabled": enabled})
