"""The process that compiles in the background: it answers ``background.py`` with objects.

It reads kernels from standard input, one after another, and ends with that.
"""

from __future__ import annotations

import os
import pickle

from . import library
from .background import receive, send

__all__: list[str] = []


def work() -> None:
    """Compile what standard input asks for, until it ends; the main function of a process."""
    writes = os.dup(1)
    os.dup2(2, 1)  # nothing else may write where answers are read
    while (data := receive(0)) is not None:
        key, kernel = pickle.loads(data)
        try:
            answer = library.object_of(key, kernel)
        except Exception:
            answer = b""  # who needs the kernel compiles it, and raises this there
        send(writes, answer)
