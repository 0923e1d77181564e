"""Warnings that are shown once a process, as torch shows those of its C++ parts."""

from __future__ import annotations

import warnings

__all__ = ["is_warn_always_enabled", "set_warn_always", "warn_once"]

_always = False
_shown: set[str] = set()


def set_warn_always(b: bool) -> None:
    """Have warnings that are shown once a process shown each time, or not."""
    global _always
    _always = b


def is_warn_always_enabled() -> bool:
    """Whether warnings that are shown once a process are shown each time."""
    return _always


def warn_once(text: str) -> None:
    """Warn, unless the same was said before."""
    if _always or text not in _shown:
        _shown.add(text)
        warnings.warn(text, UserWarning, stacklevel=3)
