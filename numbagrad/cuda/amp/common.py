"""``torch.cuda.amp.common``: whether there is no device to cast for, at torch's path."""

from __future__ import annotations

import importlib.util

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether autocast on a GPU is out of the question."""
    from .. import is_available

    return not (is_available() or importlib.util.find_spec("torch_xla"))
