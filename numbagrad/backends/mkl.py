"""``torch.backends.mkl``: Intel's library of linear algebra, which is not used."""

from __future__ import annotations

from typing import Any

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether it computes anything: never."""
    return False


class verbose:
    """A context in which torch's library would say what it does; nothing happens."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *error: Any) -> None:
        return None
