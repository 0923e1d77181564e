"""``torch.backends.mkldnn``: Intel's library of layers, which is not used; its switches."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from . import Switches, flags_of, set_switches
from .mkl import verbose

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"
matmul = Switches(fp32_precision="none")
conv = Switches(fp32_precision="none")
rnn = Switches(fp32_precision="none")

__all__ = ["enabled", "flags", "is_available", "set_flags", "verbose"]


def is_available() -> bool:
    """Whether it computes anything: never."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Set switches that are not None, and return what all were."""
    given = dict(enabled=_enabled, deterministic=_deterministic, allow_tf32=_allow_tf32)
    return set_switches(sys.modules[__name__], given)


def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Set switches for a ``with`` block."""
    values = dict(enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
    return flags_of(sys.modules[__name__], values)
