"""``torch.backends.opt_einsum``: the order of products in ``einsum``, which is left to right."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether a library chooses the order: never."""
    return False


def get_opt_einsum() -> None:
    """The library: there is none."""
    return None
