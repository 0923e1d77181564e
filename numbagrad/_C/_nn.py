"""``torch._C._nn``: how ``Module.to`` reads its arguments."""

from __future__ import annotations

from typing import Any

from ..device import device as Device
from ..nn.module import arguments_of_to
from ..tensor import Tensor

__all__ = ["_parse_to"]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """``(device, dtype, non_blocking, memory_format)`` of the arguments of ``Module.to``."""
    named = {**arguments_of_to(args), **kwargs}
    device, dtype = named.get("device"), named.get("dtype")
    other = named.get("tensor")
    if isinstance(other, Tensor):
        device, dtype = other.device, other.dtype
    device = None if device is None else Device(device)
    return device, dtype, bool(named.get("non_blocking", False)), named.get("memory_format")
