"""``torch._dynamo.utils``: limits of compilations, and devices with a compiler."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from . import config

__all__ = ["disable_cache_limit", "is_compile_supported"]


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """No limit of compilations in a block."""
    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):
        yield


def is_compile_supported(device_type: str) -> bool:
    """Whether ``compile`` compiles what runs on a type of device."""
    return device_type in ("cpu", "cuda")
