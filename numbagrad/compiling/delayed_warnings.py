"""Warnings of ``compile``, which wait until the user's code that is running in pieces is done."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..program.running_code import is_library


class _Later(threading.local):
    """The warnings of a function that runs in pieces in this thread; None while there is none."""

    texts: list[str] | None = None


_later = _Later()


def warn(text: str) -> None:
    """Warn, at the line outside of this package that led here, once the user's code is done."""
    if _later.texts is not None:
        _later.texts.append(text)
        return
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and is_library(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def call_and_warn(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call a function; what :func:`warn` is told comes afterwards, as it may catch its own."""
    if _later.texts is not None:
        return function(*args, **kwargs)
    _later.texts = []
    try:
        return function(*args, **kwargs)
    finally:
        texts, _later.texts = _later.texts, None
        for text in texts:
            warn(text)
