"""The switches that ``amp.autocast`` sets: the operators that a thread computes in lower precision.

Kept apart from ``amp``, which most programs never import: checkpoints and compiled functions have
to know whether anything is set.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from .dispatch import layers
from .dtype import bfloat16, dtype, float16
from .thread_settings import ThreadSettings


class Settings(NamedTuple):
    """The switches of one thread: by type of device, whether autocast is on and to which dtype."""

    enabled: frozenset[str] = frozenset()
    dtypes: tuple[tuple[str, dtype], ...] = (("cpu", bfloat16), ("cuda", float16))
    caches: bool = True

    def lower_on(self, device_type: str) -> dtype | None:
        """The dtype that operators on a type of device are cast to; None where they are not."""
        return dict(self.dtypes)[device_type] if device_type in self.enabled else None


class _State(ThreadSettings):
    """The switches of this thread; a new thread casts nothing."""

    initial: ClassVar[dict[str, Any]] = {"settings": Settings()}

    def __init__(self) -> None:
        self.settings = self.initial["settings"]
        #: How many contexts are open; the cache lives as long as there is one.
        self.nesting = 0
        #: Leaves that were cast, by what they were: see ``dispatch/autocast.py``.
        self.cache: dict[Any, Any] = {}


state = _State()


@contextlib.contextmanager
def restored(settings: Settings) -> Iterator[None]:
    """Compute in a block as the thread did when it had these settings."""
    before = state.settings
    state.settings = settings
    if settings.enabled:
        state.nesting += 1
        layers.change("autocast", 1)
    try:
        yield
    finally:
        state.settings = before
        if settings.enabled:
            layers.change("autocast", -1)
            leave()


def leave() -> None:
    """One context less; the last one takes the cache with it."""
    state.nesting -= 1
    if state.nesting == 0:
        state.cache.clear()
