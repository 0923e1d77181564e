"""``torch.types``: types for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, Union

from .autograd.graph import GradientEdge
from .device import device
from .dtype import dtype
from .layout import layout
from .size import Size
from .tensor import Tensor
from .untyped_storage import UntypedStorage as Storage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
_TensorOrTensorsOrGradEdge = Union[Tensor, Sequence[Tensor], GradientEdge, Sequence[GradientEdge]]  # noqa: UP007
_dtype = dtype
_device = device
_layout = layout
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_size = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007
_symsize = _size
_dispatchkey = Any
Number = Union[int, float, bool]  # noqa: UP007
PySymType = Any
Device = Union[device, str, int, None]  # noqa: UP007
FileLike = Union[str, os.PathLike[str], IO[bytes]]  # noqa: UP007
