"""``torch.cuda.nvtx``: marks for NVIDIA's profiler; they raise, as in torch without CUDA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _missing(*arguments: Any, **keywords: Any) -> NoReturn:
    """Set a mark; raises, as there is no profiler of a GPU."""
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? "
        "profiler.record_function marks what runs on the CPU"
    )


mark = range_end = range_pop = range_push = range_start = _missing


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Mark what runs in the ``with`` block; raises where it is entered."""
    range_push(msg.format(*args, **kwargs))
    yield
