"""``Tensor.storage()`` and ``set_``: the memory behind a tensor, counted in elements.

Bytes are counted by ``UntypedStorage`` of ``untyped_storage.py``, which this builds on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd.grad_mode import state as grad_mode
from ...autograd.hooks.tensor_hooks import fit_gradients
from ...autograd.node import replace_accumulator
from ...autograd.tensor_interface import alias, bump_version
from ...autograd.writes.inplace import before_write, check_inplace, recording
from ...dtype import FROM_TYPE_NUM
from ...dtype import dtype as DType
from ...executor.capture import outside_programs
from ...executor.families.indexing import strided_view
from ...executor.memory.arrays import values_on_host
from ...executor.plan.forms import contiguous
from ...executor.plan.sharing import reach
from ...tensor import Tensor
from ...untyped_storage import UntypedStorage
from ..arguments.kinds import NOT_GIVEN
from ..arguments.shapes import sizes_of
from ..methods.registry import method

__all__ = ["TypedStorage", "UntypedStorage"]


class TypedStorage(UntypedStorage):
    """The block of memory behind a tensor and all its views, as a row of elements."""

    __slots__ = ("_elements",)

    def __init__(self, tensor: Tensor) -> None:
        super().__init__(tensor._array)
        memory = self._owner
        whole = memory if memory.flags.c_contiguous else memory.T
        self._elements = whole.reshape(-1).view(tensor._array.dtype)

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return FROM_TYPE_NUM[self._elements.dtype.num]

    def untyped(self) -> UntypedStorage:
        """The same memory counted in bytes."""
        return UntypedStorage(self._owner)

    def element_size(self) -> int:
        """Bytes an element."""
        return self._elements.itemsize

    def size(self) -> int:
        """Number of elements."""
        return self._elements.size

    __len__ = size

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._values().tolist()

    def __getitem__(self, index: Any) -> Any:
        return self._values()[index].tolist()

    def _values(self) -> Any:
        return half.readable(values_on_host(self._elements, "the values of a storage"))

    @outside_programs("a write to a storage")
    def __setitem__(self, index: Any, value: Any) -> None:
        half.assign(self._elements, index, np.asarray(value))


@method()
def storage(input: Tensor) -> TypedStorage:
    """The block of memory that this tensor is a view of, as elements of its dtype."""
    return TypedStorage(input)


@method()
def set_(
    input: Tensor,
    source: Any = NOT_GIVEN,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Let the tensor refer to the memory of a tensor or storage, or without one to none.

    ``size`` and ``stride`` say which elements, counted from ``storage_offset``; by default all.

    Raises:
        RuntimeError: if the dtypes differ, or if autograd would have to follow: where this tensor
            or the source has a history that a mode records.
    """
    if recording(input):
        check_inplace(input)
        raise RuntimeError("set_: the memory of a tensor with a history cannot be replaced")
    if isinstance(source, Tensor) and source.requires_grad and grad_mode.enabled:
        raise RuntimeError("set_: the memory of a tensor that requires grad needs no_grad() here")
    before_write(input)
    kind = input._array.dtype
    if input._producer is not None:
        fit_gradients(input)  # those of the new elements are for the old ones, or none
    if source is None:
        raise TypeError("set_(): argument 'source' must be Tensor or a storage, not NoneType")
    if source is NOT_GIVEN:
        input._array = np.empty(0, kind)
        replace_accumulator(input)
        bump_version(input)
        return input
    if isinstance(source, Tensor) and size is None:
        array = source._array
    else:
        array = _region(source, storage_offset, size, stride)
    if array.dtype != kind:
        raise RuntimeError(
            f"set_: the source has dtype {FROM_TYPE_NUM[array.dtype.num]}, but the tensor "
            f"{input.dtype}; convert one with .to(dtype)"
        )
    input._array = array
    replace_accumulator(input)  # as in torch: the old one knows the old shape
    if isinstance(source, Tensor):
        input._version_cell = alias(source)._version_cell
    bump_version(input)
    return input


def _region(source: Any, offset: int, size: Any, stride: Any) -> np.ndarray[Any, Any]:
    """The elements of a storage, or of that of a tensor, by sizes and strides."""
    if isinstance(source, Tensor):
        source = TypedStorage(source)
    elements = source._elements
    shape = (elements.size - offset,) if size is None else sizes_of((size,))
    item = elements.itemsize
    if stride is None:
        strides = [step // item for step in contiguous(shape, elements.dtype).strides]
    else:
        strides = list(sizes_of((stride,)))
    last = offset + reach(shape, strides) - 1
    if 0 not in shape and not 0 <= last < elements.size:
        raise RuntimeError(
            f"set_: sizes {list(shape)}, strides {strides} and storage offset {offset} reach "
            f"beyond the {elements.size} elements of the storage"
        )
    return strided_view(elements, shape, tuple([s * item for s in strides]), offset * item)
