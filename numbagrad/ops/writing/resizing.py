"""``resize_`` and ``resize_as_``: another shape in the same memory, which grows if it must.

Elements keep their places in memory, not in the tensor: a transposed matrix that is resized shows
them in the order in which they lie, and a view shows what lies behind it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...autograd.tensor_interface import bump_version
from ...autograd.writes.inplace import before_write
from ...backend import home_of
from ...executor.capture import outside_programs
from ...executor.memory.arrays import new_array, unset
from ...executor.plan.forms import dense_strides
from ...layout import memory_format as MemoryFormat
from ...layout import preserve_format
from ...tensor import Tensor
from ...tensor.leaves import memory_of
from ...transforms.levels import is_transformed
from ...type_names import type_name
from ...warn_once import warn_caller
from ..arguments.requirements import require_tensor
from ..arguments.shapes import nothing_given, sizes_of
from ..methods.registry import method
from ..views.strided import extent, region_of_memory, start_of
from .sole_user import is_sole_user

__all__: list[str] = []


@method()
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Change the shape; memory grows if it must, and new elements have any value.

    The elements stay where they lie in memory, and are shown in its order, or in that of
    ``memory_format``.

    Raises:
        RuntimeError: if the tensor requires grad, outside of ``inference_mode``; for
            ``preserve_format``.

    Warns:
        UserWarning: if memory has to grow that other tensors or arrays seem to use: they keep the
            old one.
    """
    if not sizes:
        raise nothing_given("resize_")
    return _resized(self, sizes_of(sizes), memory_format)


@method()
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """``resize_`` to the shape of another tensor; with ``preserve_format`` to its order as well."""
    require_tensor("resize_as_", the_template, "the_template")
    template = the_template._array
    if memory_format is not preserve_format:
        return _resized(self, template.shape, memory_format)
    _resized(self, template.shape, None)
    strides = [stride // template.itemsize for stride in template.strides]
    return self.as_strided_(template.shape, strides)


def _resized(tensor: Tensor, shape: tuple[int, ...], memory_format: Any) -> Tensor:
    if tensor._requires_grad and not grad_mode.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is not None and not isinstance(memory_format, MemoryFormat):
        raise TypeError(
            "resize_(): argument 'memory_format' must be torch.memory_format, not "
            f"{type_name(memory_format)}"
        )
    if memory_format is preserve_format:
        raise RuntimeError("resize_(): unsupported memory format preserve_format; leave it out")
    if is_transformed(tensor):
        raise RuntimeError("resize_(): samples of vmap and tensors with tangents keep their size")
    before_write(tensor)
    if min(shape, default=0) < 0:
        raise RuntimeError(f"resize_(): sizes must not be negative, but got {list(shape)}")
    if memory_format is None and tensor._array.shape == shape:
        return tensor
    return _laid_anew(tensor, shape, memory_format)


@outside_programs("resize_()")
def _laid_anew(tensor: Tensor, shape: tuple[int, ...], memory_format: Any) -> Tensor:
    order = tuple(range(len(shape)))
    if memory_format is not None and memory_format.order is not None:
        order = memory_format.order_of(len(shape))
    strides = dense_strides(shape, order, 1)
    memory = memory_of(tensor)
    item = tensor._array.itemsize
    left = extent(tensor) - (start_of(tensor._array) - start_of(memory)) // item
    count = math.prod(shape)
    if count > left:
        del memory
        _grow(tensor, count, left)
    elif tensor._viewed is None and tensor._memory is None:
        tensor._memory = memory
    bump_version(tensor)
    tensor._array = region_of_memory(tensor._array, shape, strides)
    return tensor


def _grow(tensor: Tensor, count: int, left: int) -> None:
    """Give a tensor memory for ``count`` elements, with the ``left`` ones that it can reach."""
    if tensor._array.__class__ is np.ndarray and not _owns_its_memory(tensor):
        warn_caller(
            f"resize_(): {count} elements need more memory than there is; another tensor or array "
            "that uses the old memory, as a view does, keeps it and shares no element any more, "
            "which it would in torch; make views after a tensor has its size"
        )
    made = unset(new_array((count,), tensor._array.dtype, home_of(tensor._array)))
    made[:left] = region_of_memory(tensor._array, (left,), (1,))
    tensor._array, tensor._memory, tensor._viewed = made, None, None  # no view any more


def _owns_its_memory(tensor: Tensor) -> bool:
    """Whether nobody else uses the memory, of which the tensor may show a part since it shrank."""
    memory, shown = tensor._memory, tensor._array
    if memory is None:
        del shown
        return is_sole_user(tensor)
    if memory.dtype != shown.dtype:
        return False
    item = shown.itemsize
    strides, offset = [stride // item for stride in shown.strides], start_of(shown)
    offset, shape = (offset - start_of(memory)) // item, shown.shape
    tensor._array, tensor._memory = memory, None
    del memory, shown
    found = is_sole_user(tensor)
    tensor._memory = tensor._array
    tensor._array = region_of_memory(tensor._array, shape, strides, offset)
    return found
