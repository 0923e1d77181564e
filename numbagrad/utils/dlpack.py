"""``torch.utils.dlpack``: memory shared with other libraries by the protocol DLPack.

The structures and capsules are those of ``tensor/dlpack.py``.
"""

from __future__ import annotations

from typing import Any

from ..ops.creation.from_memory import from_dlpack
from ..tensor import Tensor
from ..tensor.dlpack import DLDeviceType

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule with the memory of a tensor, to be read once."""
    return tensor.__dlpack__()
