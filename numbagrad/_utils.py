"""``torch._utils``: small things that libraries take from the inside of torch."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from .compiler import is_compiling
from .dtype import dtype as DType
from .tensor import Tensor

__all__ = ["ExceptionWrapper", "classproperty", "is_compiling"]


class classproperty:
    """A property of a class."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)


class ExceptionWrapper:
    """An error as text, to be raised in another thread or process.

    Args:
        exc_info: as ``sys.exc_info()`` returns it; by default the error that is handled.
        where: what was done.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import sys

        info: Any = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = info[0]
        self.exc_msg = "".join(traceback.format_exception(*info))
        self.where = where

    def reraise(self) -> None:
        """Raise it, with the traceback of where it happened in its text."""
        name = self.exc_type.__name__
        text = f"Caught {name} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(text)
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


def _element_size(dtype: Any) -> int:
    """The bytes of an element of a dtype."""
    if not isinstance(dtype, DType):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of tensors, one behind the other."""
    from .ops.views.join import cat

    return cat([each.contiguous().view(-1) for each in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Parts of a tensor of one dimension, of the shapes of ``tensors``."""
    parts = flat.split([each.numel() for each in tensors])
    return tuple(part.view(each.shape) for part, each in zip(parts, tensors, strict=True))


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one type, in order, of up to ``size_limit`` bytes where one is less."""
    groups: dict[str, tuple[list[Tensor], int]] = {}
    for each in tensors:
        kind, size = each.type(), each.numel() * each.element_size()
        group, filled = groups.get(kind, ([], 0))
        if group and filled + size > size_limit:
            yield group
            group, filled = [], 0
        groups[kind] = ([*group, each], filled + size)
    yield from [group for group, _ in groups.values()]


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device; -1 for the CPU where that is allowed."""
    from .device import device as Device

    if isinstance(device, int):
        return device
    found = Device(device) if device is not None else Device("cpu")
    if found.type == "cpu" and (allow_cpu or optional):
        return -1
    if found.index is None:
        raise ValueError(f"Expected a torch.device with a specified index, but got: {device}")
    return found.index


def _get_available_device_type() -> str | None:
    """The kind of accelerator that is there, or None."""
    from .cuda import is_available

    return "cuda" if is_available() else None


def _get_device_module(device_type: str) -> Any:
    """``torch.cuda`` and its kin.

    Raises:
        RuntimeError: for a kind of device that there is no module for.
    """
    from . import torch_alias

    found = getattr(torch_alias.package(), device_type, None)
    if found is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        )
    return found
