"""``torch._tensor_str``: how tensors are printed, at torch's path, and its parts for subclasses."""

from __future__ import annotations

from .printing import _options as PRINT_OPTS  # noqa: F401, N812
from .printing import (
    append_suffixes,
    elements_text,
    get_printoptions,
    printoptions,
    set_printoptions,
)
from .tensor import Tensor

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements of a tensor, whose lines begin at a column."""
    return elements_text(self.detach().numpy(), indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """The text of a tensor: its elements, what is said behind them, and a bracket."""
    return append_suffixes(tensor_str, suffixes, indent, force_newline) + ")"
