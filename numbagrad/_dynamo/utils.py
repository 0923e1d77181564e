"""``torch._dynamo.utils``: the limit of compilations, which changes nothing here."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from . import config

__all__ = ["disable_cache_limit"]


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """No limit of compilations in a block."""
    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):
        yield
