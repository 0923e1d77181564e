"""``torch.cpu.amp.autocast``: the context of ``torch.amp`` for this kind of device."""

from __future__ import annotations

from typing import Any

from ...amp.autocast_mode import autocast as _autocast
from ...dtype import bfloat16

__all__ = ["autocast"]


class autocast(_autocast):
    """``torch.amp.autocast("cpu", ...)``."""

    def __init__(
        self, enabled: bool = True, dtype: Any = bfloat16, cache_enabled: bool = True
    ) -> None:
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)
