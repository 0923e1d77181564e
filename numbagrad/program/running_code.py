"""Which code is running: the lines of users that captures and their failures are about."""

from __future__ import annotations

import os
import pathlib
import sys
import types

from .. import backend

_PACKAGE = str(pathlib.Path(__file__).parents[1]) + os.sep


def is_library(filename: str) -> bool:
    """Whether a file of code belongs to this package, or to a backend that is registered."""
    return filename.startswith(_PACKAGE) or filename in backend.files


def running_code(frame: types.FrameType | None = None) -> list[tuple[types.CodeType, int]]:
    """The code that is running in this thread, from a frame outwards, each with its line."""
    found = []
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None:
        found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return found


def line_of_user() -> str:
    """The innermost line that is running outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


__all__ = ["is_library", "line_of_user", "running_code"]
