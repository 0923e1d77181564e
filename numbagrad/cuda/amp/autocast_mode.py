"""``torch.cuda.amp.autocast``: the context of ``torch.amp`` for this kind of device."""

from __future__ import annotations

import functools
from typing import Any

from ...amp import custom_bwd as _custom_bwd
from ...amp import custom_fwd as _custom_fwd
from ...amp.autocast_mode import autocast as _autocast
from ...dtype import float16

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):
    """``torch.amp.autocast("cuda", ...)``."""

    def __init__(
        self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")
