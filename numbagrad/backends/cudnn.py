"""``torch.backends.cudnn``: switches that programs set at their top; there is no cuDNN."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from . import Switches, flags_of, set_switches

enabled = True
benchmark = False
benchmark_limit: int | None = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"
conv = Switches(fp32_precision="none")
rnn = Switches(fp32_precision="none")


def is_available() -> bool:
    """Whether cuDNN computes anything: never."""
    return False


def version() -> None:
    """The version of cuDNN: there is none."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN takes a tensor: never."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Set switches that are not None, and return what all were."""
    given = dict(enabled=_enabled, benchmark=_benchmark, benchmark_limit=_benchmark_limit,
                 deterministic=_deterministic, allow_tf32=_allow_tf32)  # fmt: skip
    return set_switches(sys.modules[__name__], given)


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Set switches for a ``with`` block."""
    return flags_of(
        sys.modules[__name__],
        dict(enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit,
             deterministic=deterministic, allow_tf32=allow_tf32),
    )  # fmt: skip
