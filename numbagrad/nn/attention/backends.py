"""``torch.nn.attention``: which way attention is computed; there is one way on a CPU."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """Ways to compute attention that torch knows. ``MATH`` is what happens here."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """Ask for one of some ways to compute attention; the values are the same for each of them.

    Raises:
        TypeError: for what is neither a way nor a list of ways.
    """
    asked = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(asked, (list, set, tuple)) or not all(
        isinstance(each, SDPBackend) for each in asked
    ):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of them")
    yield
