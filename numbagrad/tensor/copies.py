"""Copies of Tensors as objects: ``copy``, ``deepcopy`` and pickle."""

from __future__ import annotations

import copy
import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import half_precision as half
from ..autograd import tensor_interface
from ..autograd.node import has_no_history
from ..backend import address_of, backend_for, foreign
from ..dtype import bfloat16
from ..dtype import dtype as DType
from ..executor import capture
from ..torch_homes import module_here
from .leaves import memory_of, with_own_memory
from .sparse_array import SparseArray
from .state import new_version_cell, under_transformation

if TYPE_CHECKING:
    from .tensor import Tensor

Array = np.ndarray[Any, Any]

_new = object.__new__

#: Attributes that describe the place of a tensor in a graph or in memory; copies leave them behind.
_NOT_COPIED = frozenset((
    "_hooks", "_retains_grad", "_post_accumulate_grad_hooks", "_view_origin", "_unrecorded_at",
    "_made_by", "_accumulator", "_grad_dtype", "_unused_hooks", "_uses", "_memory", "_detached_at",
))  # fmt: skip


def shallow(tensor: Tensor) -> Tensor:
    """Another Tensor on the same memory, with the same attributes."""
    source = tensor_interface.alias(tensor)
    return rebuilt(
        type(tensor), source._array, source._version_cell, tensor._requires_grad,
        _attributes(tensor),
    )  # fmt: skip


def deep(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """A Tensor on a copy of the memory; ``memo`` is that of ``copy.deepcopy``.

    Raises:
        RuntimeError: for a tensor with a history.
    """
    if not has_no_history(tensor):
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. Copy tensor.detach() instead."
        )
    if id(tensor) in memo:
        return memo[id(tensor)]
    where = foreign(tensor._array)
    if where is None and tensor._array.__class__ is not np.ndarray:  # a copy has no tangent
        return copy.deepcopy(under_transformation().values_of(tensor), memo)
    attributes = {k: copy.deepcopy(v, memo) for k, v in _attributes(tensor).items()}
    if where is None:
        array, memory = _duplicate(tensor, memo)
    else:
        array, memory = _copied_there(tensor._array), None
    made = rebuilt(type(tensor), array, new_version_cell(), tensor._requires_grad, attributes)
    if memory is not None:
        made._memory = memory
    memo[id(tensor)] = made
    return made


def _duplicate(tensor: Tensor, memo: dict[int, Any]) -> tuple[Array, Array | None]:
    """A copy of an array, and of the memory of which it is a view if there is more of that.

    Memory is copied once for each memo, so that tensors that share it have copies that share it.
    """
    array, memory = tensor._array, memory_of(tensor)
    if not memory.size or not memory.flags.forc:
        return array.copy("K"), None
    place: Any = ("memory", address_of(memory), memory.nbytes)
    if place not in memo:
        memo[place] = memory.copy("K")
        memo.setdefault(id(memo), []).append(memory)  # as deepcopy keeps what it knows by place
    copied = memo[place]
    if array is memory and (array.dtype, array.strides) == (copied.dtype, copied.strides):
        return copied, None
    elements = (copied if copied.flags.c_contiguous else copied.T).reshape(-1).view(np.uint8)
    offset = address_of(array) - address_of(memory)
    return np.ndarray(array.shape, array.dtype, elements, offset, array.strides), copied


#: A class in a pickle: None is Tensor, and a tuple the module and the name of one.
_Named: TypeAlias = "type[Tensor] | tuple[str, str] | None"


def reduced(tensor: Tensor) -> tuple[Any, ...]:
    """The result of ``__reduce_ex__``, for pickle."""
    capture.refuse("a pickle of a tensor")
    if (where := foreign(tensor._array)) is not None:
        own = _named_in_pickles(type(tensor)), _attributes(tensor)
        if not where.has_elements:
            form = tuple(tensor.shape), tensor._array.strides, tensor.dtype
            return _unpickled_form, (where.device_type, *form, tensor._requires_grad, *own)
        position = where.device_type, where.index_of(tensor._array)
        return _unpickled_there, (*position, tensor.cpu(), *own)
    array = half.converted(tensor._elements("values_of"), tensor._array.dtype)
    return unpickled, (
        _named_in_pickles(type(tensor)),
        array,
        tuple(sorted(range(tensor.ndim), key=lambda axis: -array.strides[axis])),
        tensor._requires_grad,
        _attributes(tensor),
    )


def _unpickled_form(
    kind: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: DType,
    requires_grad: bool,
    cls: _Named = None,  # which pickles of earlier releases lack, and the attributes
    attributes: dict[str, Any] | None = None,
) -> Tensor:
    """A tensor of a device whose tensors have no elements; strides in bytes."""
    where: Any = backend_for(kind)
    made = where.allocate(shape, strides, dtype.numpy)
    return rebuilt(_class_of(cls), made, new_version_cell(), requires_grad, attributes or {})


def _unpickled_there(
    kind: str,
    index: int | None,
    tensor: Tensor,
    cls: _Named = None,
    attributes: dict[str, Any] | None = None,
) -> Tensor:
    """A tensor unpickled on another device: a leaf there.

    Raises:
        AssertionError, RuntimeError: if there is no such device.
    """
    moved = tensor.detach().to(kind if index is None else f"{kind}:{index}")
    cell = new_version_cell()
    return rebuilt(_class_of(cls), moved._array, cell, tensor.requires_grad, attributes or {})


def leaf_of_class(cls: type[Tensor], source: Tensor, requires_grad: bool) -> Any:
    """A leaf of class ``cls`` with the memory and the version of ``source``."""
    if requires_grad and source._array.dtype.kind not in "fcV":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if source._array.__class__ is SparseArray:
        raise NotImplementedError(
            f"{cls.__name__}(): numbagrad has sparse tensors as buffers, but no parameters that "
            "are sparse: let their values be a parameter"
        )
    alias = tensor_interface.alias(source)
    made = rebuilt(cls, alias._array, alias._version_cell, requires_grad, {})
    return with_own_memory(source, made)


def _attributes(tensor: Tensor) -> dict[str, Any]:
    """Attributes that copies of a tensor have too: its gradient, and those that users set."""
    found = {name: value for name, value in vars(tensor).items() if name not in _NOT_COPIED}
    return found if tensor._accumulated is None else {**found, "_grad": tensor._accumulated}


def rebuilt(
    cls: type[Tensor],
    array: Array,
    version_cell: list[int] | None,
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    """A leaf of class ``cls`` with this memory."""
    made: Tensor = _new(cls)
    made._array = array
    made._requires_grad = requires_grad
    made._producer = None
    made._output_nr = 0
    made._version_cell = version_cell
    made._viewed = None
    others = dict(attributes)
    made._accumulated = others.pop("_grad", None)
    vars(made).update(others)
    return made


def _copied_there(array: Any) -> Any:
    """A copy of an array of another backend."""
    from ..executor.families.conversion import convert  # which few programs copy by

    return convert(array, array.dtype)


def _named_in_pickles(kind: type[Tensor]) -> _Named:
    """The class, or None for Tensor itself; where it has torch's module for a while, its own."""
    if kind is tensor_interface.Tensor:
        return None
    own = module_here(kind)
    return kind if own == kind.__module__ else (own, kind.__qualname__)


def _class_of(named: _Named) -> type[Tensor]:
    """The class that ``_named_in_pickles`` has given this name."""
    if isinstance(named, tuple):
        found: type[Tensor] = getattr(importlib.import_module(named[0]), named[1])
        return found
    return named or tensor_interface.Tensor


def unpickled(
    cls: _Named,
    array: Array,
    order: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    """A tensor from what ``reduced`` gave to pickle; ``order`` is that of the dimensions."""
    dense = np.ascontiguousarray(array.transpose(order))
    positions = sorted(range(array.ndim), key=order.__getitem__)
    memory = dense.reshape([array.shape[axis] for axis in order]).transpose(positions)
    if memory.dtype.kind == "V":
        memory = memory.view(bfloat16.numpy)  # the one object that kernels know it by
    return rebuilt(_class_of(cls), memory, new_version_cell(), requires_grad, attributes)


#: Pickles of all versions know it by this name.
unpickled.__module__, unpickled.__qualname__ = "numbagrad.tensor", "_unpickled"
