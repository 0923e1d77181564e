"""Warnings that point at the line of the user's code, each time or once a process."""

from __future__ import annotations

import sys
import warnings

__all__ = ["is_warn_always_enabled", "set_warn_always", "warn_caller", "warn_once"]

_PACKAGE = __name__.partition(".")[0]
_always = False
_shown: set[str] = set()


def set_warn_always(b: bool) -> None:
    """Have warnings that are shown once a process shown each time, or not."""
    global _always
    _always = b


def is_warn_always_enabled() -> bool:
    """Whether warnings that are shown once a process are shown each time."""
    return _always


def warn_caller(text: str) -> None:
    """Warn, pointing at the line outside of this package that called into it."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and _is_of_package(frame.f_globals.get("__name__", "")):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, UserWarning, stacklevel=depth)


def _is_of_package(module: str) -> bool:
    return module == _PACKAGE or module.startswith(_PACKAGE + ".")


def warn_once(text: str) -> None:
    """Warn, unless the same was said before, as torch does where its C++ parts warn."""
    if _always or text not in _shown:
        _shown.add(text)
        warn_caller(text)
