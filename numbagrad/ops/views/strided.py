"""as_strided, and regions: parts of a memory by size, stride and offset, with their gradients.

A view whose base was written later, and a base that was written through a view, have histories in
terms of regions; ``autograd/writes/regions.py`` makes those nodes from the operators defined here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd import tensor_interface
from ...autograd.writes.regions import Geometry
from ...backend import address_of, foreign, refuse_foreign
from ...executor.capture import outside_programs
from ...executor.families.indexing import strided_view
from ...executor.memory.arrays import assign, filled, set_all
from ...executor.plan.sharing import reach
from ...tensor import Tensor
from ...tensor.leaves import memory_of
from ...transforms.batching import stacked
from ...transforms.layouts import shows_as
from ...transforms.levels import is_batched
from ..arguments.kinds import Ints
from ..arguments.shapes import sizes_of
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator
from ..operators.view_operator import ViewOperator
from ..writing.inplace import reshape_in_place

__all__ = ["as_strided", "view_region"]

Array = np.ndarray[Any, Any]


def overlaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two indices may mean one element."""
    end = 1
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1:
            if stride < end:
                return True
            end += (size - 1) * stride
    return False


def region_of_memory(storage: Array, shape: Any, strides: Sequence[int], offset: int = 0) -> Array:
    """The elements that lie ``offset`` and so many strides, in elements, behind the first one."""
    size = storage.itemsize
    return strided_view(storage, shape, tuple([s * size for s in strides]), offset * size)


def _storage(
    geometry: Geometry, dtype: Any, like: Array | None = None
) -> tuple[Array, Array, Array]:
    """Memory of zeros for a base, as a whole, as the base and as the region.

    It is of the backend of the array that it is to be ``like``.
    """
    before = max(0, -geometry.offset)
    start = before + geometry.offset
    length = max(
        before + reach(geometry.base_shape, geometry.base_strides),
        start + reach(geometry.shape, geometry.strides),
        1,
    )
    storage = filled((length,), dtype, 0, foreign(like))
    base = region_of_memory(storage, geometry.base_shape, geometry.base_strides, before)
    region = region_of_memory(storage, geometry.shape, geometry.strides, start)
    return storage, base, region


def _shared(storage: Array, geometry: Geometry) -> tuple[Array, Array] | None:
    """Where in the storage each element of the base is, and how many are at each place.

    None if no two are at one, which is so unless the base is an expanded tensor or the like.
    """
    if not overlaps(geometry.base_shape, geometry.base_strides):
        return None
    refuse_foreign("as_strided of what repeats", storage)
    before = max(0, -geometry.offset)
    numbers = np.arange(storage.size)
    positions = region_of_memory(numbers, geometry.base_shape, geometry.base_strides, before)
    counts = np.bincount(positions.reshape(-1), minlength=storage.size)
    return positions, np.maximum(counts, 1)


def _read(input: Array, geometry: Geometry) -> Array:
    storage, base, region = _storage(geometry, input.dtype, input)
    shared = _shared(storage, geometry)
    if shared is None:
        assign(base, input)
    elif input.dtype.kind == "V":
        return half.converted(_read(half.readable(input), geometry), input.dtype)
    else:  # elements at one place count as their mean: the adjoint of ``_spread``
        positions, counts = shared
        np.add.at(storage, positions, input)
        storage /= counts.astype(storage.real.dtype)
    return region.copy("C")


def _clear(input: Array, geometry: Geometry) -> Array:
    _, base, region = _storage(geometry, input.dtype, input)
    assign(base, input)
    set_all(region, 0, made=False)
    return base.copy("C")


def _replace(input: Array, region: Array, geometry: Geometry) -> Array:
    _, base, target = _storage(geometry, input.dtype, input)
    assign(base, input)
    assign(target, region)
    return base.copy("C")


def _spread(input: Array, geometry: Geometry) -> Array:
    storage, base, region = _storage(geometry, input.dtype, input)
    if overlaps(geometry.shape, geometry.strides):
        refuse_foreign("as_strided of what repeats", input)
        positions = np.arange(storage.size)
        start = max(0, geometry.offset)
        np.add.at(
            storage, region_of_memory(positions, geometry.shape, geometry.strides, start), input
        )
    else:
        assign(region, input)
    shared = _shared(storage, geometry)
    if shared is not None:  # what made one element into several adds their gradients up again
        storage /= shared[1].astype(storage.real.dtype)
    return base.copy("C")


def _of_samples(geometry: Geometry, size: int) -> Geometry:
    """The geometry of as many samples in a memory of their own, one behind the other."""
    apart = _storage(geometry, np.dtype(np.bool_))[0].size
    made = Geometry.__new__(Geometry)
    made.base_shape, made.shape = (size, *geometry.base_shape), (size, *geometry.shape)
    made.base_strides = (apart, *geometry.base_strides)
    made.strides = (apart, *geometry.strides)
    made.offset, made.given_offset = geometry.offset, geometry.given_offset
    made.parted = made.lazy_conj = None
    return made


def _view_of_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The same part of the memory of each sample.

    Raises:
        RuntimeError: if that reaches beyond the elements of the sample.
    """
    input, geometry = arguments
    array = input._array
    begin, end = geometry.offset, geometry.offset + reach(geometry.shape, geometry.strides)
    length = reach(array.shape[1:], [stride // array.itemsize for stride in array.strides[1:]])
    if begin < end and (begin < 0 or end > length):
        raise RuntimeError(
            f"result = tensor.as_strided({list(geometry.shape)}, {list(geometry.strides)}, {begin})"
            f" can access memory outside of `tensor`. `result` can access some memory in range "
            f"[{begin}, {end}], but `tensor` can only access some memory in range [0, {length}]. "
            "This is not supported inside of vmap, please try to rewrite the `as_strided` call as "
            "a sequence of PyTorch view operations"
        )
    strides = (array.strides[0] // array.itemsize, *geometry.strides)
    made: Tensor = operator(
        input, Geometry(array, (size, *geometry.shape), strides, geometry.offset)
    )
    return made


def _tangent_of_view(operator: Any, primals: Any, tangents: Any, results: Any) -> tuple[Tensor]:
    """The same part of the memory of the tangent, or a copy where that lies otherwise."""
    input, geometry = primals
    tangent = tangents[0]
    if shows_as(input._array, tangent._array, geometry):
        return (operator(tangent, geometry),)
    return (read_region(tangent, geometry),)


read_region = TensorOperator(
    "as_strided_backward_backward",
    lambda input, geometry: _read(input, geometry),
    {"input": lambda grad, geometry: spread_region(grad, geometry)},
    batch=stacked(geometry=_of_samples),
    takes_half=True,
    portable=True,
)
spread_region = TensorOperator(
    "as_strided_backward",
    lambda input, geometry: _spread(input, geometry),
    {"input": lambda grad, geometry: read_region(grad, geometry)},
    batch=stacked(geometry=_of_samples),
    portable=True,
)
clear_region = TensorOperator(
    "copy_slices_backward",
    lambda input, geometry: _clear(input, geometry),
    {"input": lambda grad, geometry: clear_region(grad, geometry)},
    batch=stacked(geometry=_of_samples),
    takes_half=True,
    portable=True,
)
replace_region = TensorOperator(
    "copy_slices",
    lambda input, region, geometry: _replace(input, region, geometry),
    {
        "input": lambda grad, geometry: clear_region(grad, geometry),
        "region": lambda grad, geometry: read_region(grad, geometry),
    },
    batch=stacked(geometry=_of_samples),
    takes_half=True,
    portable=True,
)
tensor_interface.register(
    read_region=read_region,
    spread_region=spread_region,
    clear_region=clear_region,
    replace_region=replace_region,
)

#: ``view_region(input, geometry)``: ``as_strided`` with a region that is known to be in the memory.
view_region = ViewOperator(
    "as_strided",
    lambda input, geometry: region_of_memory(
        input, geometry.shape, geometry.strides, geometry.offset
    ),
    lambda grad, geometry: spread_region(grad, geometry),
    batch=_view_of_samples,
    tangent=_tangent_of_view,
)


def start_of(array: Array) -> int:
    """The address of the first element."""
    return address_of(array)


@method()
def storage_offset(input: Tensor) -> int:
    """How many elements the first element lies behind the start of the memory."""
    return _offset_in_memory(input)


@outside_programs("the place of a tensor in its memory")
def _offset_in_memory(input: Tensor) -> int:
    array, memory = input._array, memory_of(input)
    return 0 if array is memory else (start_of(array) - start_of(memory)) // array.itemsize


def extent(input: Tensor) -> int:
    """How many elements of its dtype the memory has that a tensor is a view of."""
    memory = memory_of(input)
    if memory.flags.c_contiguous:
        return memory.nbytes // input._array.itemsize
    elements = reach(memory.shape, [stride // memory.itemsize for stride in memory.strides])
    return elements * memory.itemsize // input._array.itemsize


@method()
def as_strided(
    input: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Tensor:
    """A view of the memory of ``input`` by sizes, strides and the offset of its first element.

    Raises:
        RuntimeError: if that reaches beyond the memory, or a stride is negative.
    """
    return view_region(input, _region_of(input, size, stride, storage_offset))


@method()
def as_strided_(
    self: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Tensor:
    """``as_strided`` in place."""
    geometry = _region_of(self, size, stride, storage_offset)
    return reshape_in_place(self, lambda x: view_region(x, geometry))


@outside_programs("as_strided() with an offset from the beginning of the memory")
def _from_the_start(offset: int) -> int:
    return offset


def _region_of(input: Tensor, size: Any, stride: Any, storage_offset: int | None) -> Geometry:
    """The view of ``as_strided``, checked."""
    shape, strides = sizes_of((size,)), sizes_of((stride,))
    if len(shape) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(shape, default=0) < 0:
        raise RuntimeError(f"as_strided: sizes must not be negative, got {list(shape)}")
    if min(strides, default=0) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(strides)}"
        )
    memory = memory_of(input)
    item = input._array.itemsize  # which the memory of a real part does not have
    own = 0 if memory is input._array else (start_of(input._array) - start_of(memory)) // item
    offset = own if storage_offset is None else _from_the_start(storage_offset)
    if offset < 0:
        raise RuntimeError(f"as_strided: storage offset must not be negative, got {offset}")
    size_of_memory = extent(input)
    beyond = offset + reach(shape, strides) > size_of_memory and 0 not in shape
    if beyond and not is_batched(input):  # the rule for samples has an error of its own
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {item} requiring a storage size of "
            f"{(offset + reach(shape, strides)) * item} are out of bounds for storage of size "
            f"{size_of_memory * item}"
        )
    geometry = Geometry(input._array, shape, strides, offset - own)
    geometry.given_offset = storage_offset
    return geometry


@method()
def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal, of a matrix or of a tensor of equal sizes.

    With ``wrap`` the diagonal of a matrix with more rows than columns starts again below.
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    strides = input.stride()
    count = min(shape)
    as_strided(input, (count,), (sum(strides),)).fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > count + 1:
        fill_diagonal_(input.narrow(0, count + 1, shape[0] - count - 1), fill_value, wrap)
    return input
