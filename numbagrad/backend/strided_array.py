"""Arrays that describe themselves and make views as ndarrays do, over memory of any kind.

A backend derives its class of arrays from ``StridedArray``: it adds where the memory is and how
other libraries take it. Elements are read and written by the backend alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from .registry import backend_of, device_of

Shape = tuple[int, ...]
Same = TypeVar("Same", bound="StridedArray")


class StridedArray:
    """Elements of a block of memory.

    Attributes:
        block: the memory, which lives as long as somebody holds it; has an ``address``.
        shape, strides, dtype: as of an ndarray; strides in bytes.
        base: the array of the whole block of which this is a view; None for that itself.
    """

    __slots__ = ("block", "_offset", "shape", "strides", "dtype", "base", "__weakref__")
    __array_priority__ = 0

    def __init__(
        self,
        block: Any,
        offset: int,
        shape: Sequence[int],
        strides: Sequence[int],
        dtype: np.dtype[Any],
        base: StridedArray | None = None,
    ):
        self.block, self._offset = block, offset
        self.shape, self.strides, self.dtype = tuple(shape), tuple(strides), dtype
        self.base: StridedArray | None = base
        if base is not None and base.base is not None:
            self.base = base.base

    # --- what it is ---

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def address(self) -> int:
        """The address of the first element in the memory of the device."""
        return int(self.block.address) + self._offset

    @property
    def flags(self) -> SimpleNamespace:
        """Whether the elements lie in C order, and that they can be written."""
        expected = strides_in_order(self.shape, self.itemsize)
        steps = zip(self.shape, self.strides, expected, strict=True)
        dense = not self.size or all([n == 1 or own == step for n, own, step in steps])
        return SimpleNamespace(c_contiguous=dense, writeable=True)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    # --- views ---

    def view_of(
        self: Same, shape: Sequence[int], strides: Sequence[int], offset: int = 0, dtype: Any = None
    ) -> Same:
        """A view of the same memory, ``offset`` bytes behind the first element."""
        position = self._offset + offset
        return type(self)(self.block, position, shape, strides, dtype or self.dtype, self)

    def view(self: Same, dtype: Any = None) -> Same:
        """The same elements, or the same bits as elements of another dtype of the same size."""
        wanted = self.dtype if dtype is None else np.dtype(dtype)
        if wanted.itemsize == self.itemsize:
            return self.view_of(self.shape, self.strides, dtype=wanted)
        if not self.shape or self.strides[-1] != self.itemsize:
            raise ValueError("the last dimension must be contiguous to change the size of elements")
        size, left = divmod(self.shape[-1] * self.itemsize, wanted.itemsize)
        if left:
            raise ValueError("the last dimension is no multiple of the size of the new dtype")
        shape, strides = (*self.shape[:-1], size), (*self.strides[:-1], wanted.itemsize)
        return self.view_of(shape, strides, dtype=wanted)

    def transpose(self: Same, *axes: Any) -> Same:
        """The dimensions in another order, by default reversed."""
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = [d % self.ndim for d in axes] if axes else list(range(self.ndim))[::-1]
        return self.view_of([self.shape[k] for k in order], [self.strides[k] for k in order])

    @property
    def T(self: Same) -> Same:
        """The dimensions reversed."""
        return self.transpose()

    @property
    def real(self: Same) -> Same:
        """The real parts of elements, in place."""
        return self._part(0) if self.dtype.kind == "c" else self

    @property
    def imag(self: Same) -> Same:
        """The imaginary parts of complex elements, in place."""
        return self._part(self.itemsize // 2)

    def _part(self: Same, offset: int) -> Same:
        if self.dtype.kind != "c":
            raise TypeError(f"elements of {self.dtype} have no parts")
        part = np.dtype(f"f{self.itemsize // 2}")
        return self.view_of(self.shape, self.strides, offset, part)

    def swapaxes(self: Same, first: int, second: int) -> Same:
        """Two dimensions exchanged."""
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.transpose(order)

    def __getitem__(self: Same, key: Any) -> Same:
        entries = list(key if isinstance(key, tuple) else (key,))
        if not all([x is None or x is Ellipsis or isinstance(x, int | slice) for x in entries]):
            raise TypeError("views are made by ints, slices, None and Ellipsis")
        missing = self.ndim - sum([x is not None and x is not Ellipsis for x in entries])
        position = entries.index(Ellipsis) if Ellipsis in entries else len(entries)
        entries[position : position + 1] = [slice(None)] * missing
        shape: list[int] = []
        strides: list[int] = []
        offset = dim = 0
        for entry in entries:
            if entry is None:
                shape.append(1)
                strides.append(0)
                continue
            size, step = self.shape[dim], self.strides[dim]
            dim += 1
            if isinstance(entry, slice):
                chosen = range(size)[entry]
                offset += (chosen.start if len(chosen) else 0) * step
                shape.append(len(chosen))
                strides.append(step * chosen.step)
            else:
                offset += range(size)[entry] * step
        return self.view_of(shape, strides, offset)

    def reshape(self: Same, *shape: Any) -> Same:
        """The same elements in another shape: a view where strides allow it, else a copy."""
        wanted = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        if -1 in wanted:
            known = -math.prod(wanted)
            wanted[wanted.index(-1)] = self.size // known if known else 0
        if tuple(wanted) == self.shape:
            return self.view_of(self.shape, self.strides)
        if math.prod(wanted) != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {wanted}")
        strides = strides_of_reshaped(self, wanted)
        if strides is not None:
            return self.view_of(wanted, strides)
        made = self.copy()
        made.shape = tuple(wanted)
        made.strides = strides_in_order(made.shape, made.itemsize)
        return made

    def copy(self: Same, order: str = "C") -> Same:
        """A new array of the same elements: in C order, or ("K") in the order that they have."""
        made: Same = backend_of(self).copied(self, order)
        return made

    # --- what nobody may do ---

    def _refuse(self, *arguments: Any, **options: Any) -> Any:
        """Raise for whoever reads elements past the backend."""
        raise TypeError(
            f"can't convert {device_of(self)} device type tensor to numpy. Use Tensor.cpu() to "
            "copy the tensor to host memory first."
        )

    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __setitem__ = __iter__ = __bool__ = __int__ = __float__ = __index__ = __contains__ = _refuse


def strides_in_order(shape: Sequence[int], itemsize: int) -> Shape:
    """The strides of elements side by side in C order; a dimension of size 0 counts as one."""
    strides: list[int] = []
    step = itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def strides_of_reshaped(array: StridedArray, shape: Sequence[int]) -> Sequence[int] | None:
    """The strides of the same memory in another shape; None if it has to be copied."""
    if array.flags.c_contiguous:
        return strides_in_order(shape, array.itemsize)
    old = [(n, s) for n, s in zip(array.shape, array.strides, strict=True) if n != 1]
    strides: list[int] = []
    position = 0
    rest, step = 1, 0  # of the group of old dimensions that is being taken apart
    for size in shape:
        if size == 1:
            strides.append(0)
            continue
        if rest == 1:
            (rest, step), position = old[position], position + 1
            step *= rest
        while rest % size:  # the next old dimension has to follow without a gap
            if position == len(old):
                return None
            more, inner = old[position]
            if step // rest != more * inner:
                return None
            position += 1
            rest, step = rest * more, inner * rest * more
        rest //= size
        step //= size
        strides.append(step)
    return strides
