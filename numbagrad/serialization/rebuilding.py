"""The functions that checkpoints call to rebuild tensors, with torch's arguments.

A file may call them with anything, so each checks what it is given. ``pickler.py`` writes the
calls; ``torch_names.py`` says under which names of torch they are found.
"""

from __future__ import annotations

import _codecs
import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from ..backend import backend_for
from ..dtype import dtype as DType
from ..layout import sparse_coo, sparse_csr, strided
from ..nn.parameter import Buffer, Parameter
from ..tensor import Tensor, leaf_of_class
from ..tensor.copies import rebuilt
from ..tensor.state import new_version_cell
from .storages import StoredMemory
from .values import check, checked_span


def rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    """A tensor as files of before 2018 have it."""
    return _view(storage, _dtype_of(storage), offset, size, stride, False, None)


def rebuild_tensor_v2(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor on a storage of its dtype; offset and strides in elements."""
    _check_hooks(backward_hooks)
    return _view(storage, _dtype_of(storage), offset, size, stride, requires_grad, metadata)


def rebuild_tensor_v3(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor on a storage whose bytes are read as ``dtype``."""
    _check_hooks(backward_hooks)
    check(type(storage) is StoredMemory and type(dtype) is DType, "a tensor has storage and dtype")
    return _view(storage, dtype, offset, size, stride, requires_grad, metadata)


def rebuild_meta_tensor(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """A tensor of the device ``meta``, whose elements are in no file; strides in elements."""
    check(isinstance(dtype, DType), "a dtype is none")
    check(type(requires_grad) is bool, "requires_grad is no bool")
    check(isinstance(size, tuple) and isinstance(stride, tuple), "a form is none")
    shape, strides = tuple(size), tuple([step * dtype.itemsize for step in stride])
    checked_span(dtype.numpy, 0, shape, strides)
    where: Any = backend_for("meta")
    made = where.allocate(shape, strides, dtype.numpy)
    return rebuilt(Tensor, made, new_version_cell(), requires_grad, {})


def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Parameter:
    """A parameter with the memory of a tensor."""
    _check_hooks(backward_hooks)
    check(isinstance(data, Tensor), "a parameter is made of a tensor")
    check(type(requires_grad) is bool, "requires_grad is no bool")
    found: Parameter = leaf_of_class(Parameter, data, requires_grad)
    return found


def rebuild_parameter_with_state(
    data: Any, requires_grad: Any, backward_hooks: Any, state: Any
) -> Parameter:
    """The same with attributes."""
    made = rebuild_parameter(data, requires_grad, backward_hooks)
    return _with_attributes(made, state)


def rebuild_from_type_v2(function: Any, kind: Any, arguments: Any, state: Any) -> Tensor:
    """A tensor of a class and with attributes, of what another of these functions makes."""
    check(any(function is each for each in TENSORS), "a tensor is made by another function")
    check(isinstance(kind, type) and issubclass(kind, Tensor), "a tensor has a class of tensors")
    check(type(arguments) is tuple, "a function takes a tuple of arguments")
    made: Tensor = function(*arguments)
    if kind is Tensor and type(state) is dict and state.get("_is_buffer") is True:
        kind = Buffer
    if type(made) is not kind:
        made = leaf_of_class(kind, made, made.requires_grad)
    return _with_attributes(made, state)


_LAYOUTS = {repr(each): each for each in (strided, sparse_coo, sparse_csr)}


def layout_of_name(name: Any) -> Any:
    """The layout that is called so, of those that tensors have here."""
    check(type(name) is str and name in _LAYOUTS, "tensors are strided, or sparse as COO or CSR")
    return _LAYOUTS[name]


#: The layouts of tensors that are not made, as their storages are not read.
_WAITING: ContextVar[list[Any] | None] = ContextVar("sparse tensors without storages", default=None)


@contextlib.contextmanager
def before_storages() -> Iterator[list[Any]]:
    """A first reading of a file whose storages come last, and the layouts of its sparse tensors.

    Places are copied and checked as they are made, which is possible in a second reading only.
    """
    waiting: list[Any] = []
    token = _WAITING.set(waiting)
    try:
        yield waiting
    finally:
        _WAITING.reset(token)


def rebuild_sparse_tensor(kind: Any, data: Any) -> Tensor:
    """A sparse tensor of its places, its values and its size, which are checked.

    In :func:`before_storages` the values stand for it.
    """
    check(kind is sparse_coo or kind is sparse_csr, "a sparse tensor is of the layout COO or CSR")
    check(type(data) is tuple and len(data) in (3, 4), "a sparse tensor has places and values")
    *tensors, size = data[:3] if kind is sparse_coo else data
    check(all(isinstance(each, Tensor) for each in tensors), "places and values are tensors")
    check(isinstance(size, tuple) and all(type(x) is int for x in size), "a size has integers")
    if (waiting := _WAITING.get()) is not None:
        waiting.append(kind)
        values: Tensor = tensors[-1]
        return values
    return _sparse_tensor(kind, (*tensors, size), data[3:] == (True,))


def _sparse_tensor(kind: Any, given: tuple[Any, ...], is_coalesced: bool) -> Tensor:
    from ..sparse import conversion  # which few files need

    try:
        if kind is sparse_csr:
            return conversion.sparse_csr_tensor(*given)
        return conversion.sparse_coo_tensor(*given, is_coalesced=is_coalesced)
    except (RuntimeError, TypeError) as error:
        check(False, str(error))
        raise


TENSORS = (rebuild_tensor, rebuild_tensor_v2, rebuild_tensor_v3, rebuild_parameter,
           rebuild_parameter_with_state)  # fmt: skip


def encoded(text: Any, encoding: Any) -> bytes:
    """Bytes as protocol 2 of pickle has them: the characters of a text."""
    check(type(text) is str and type(encoding) is str, "bytes are written as a text")
    check(encoding == "latin1", "bytes are written as latin1")
    return _codecs.encode(text, "latin1")


def _dtype_of(storage: Any) -> DType:
    check(
        type(storage) is StoredMemory and storage.dtype is not None,
        "a tensor is made of a storage of its dtype",
    )
    found: DType = storage.dtype
    return found


def _check_hooks(hooks: Any) -> None:
    check(hooks is None or (type(hooks) in (OrderedDict, dict) and not hooks), "hooks are no data")


def _view(
    storage: StoredMemory,
    dtype: DType,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    metadata: Any,
) -> Tensor:
    check(type(requires_grad) is bool, "requires_grad is no bool")
    if requires_grad:
        check(dtype.has_fractions, f"a tensor of {dtype} requires no gradient")
    if type(size) is not tuple and isinstance(size, tuple):
        size = tuple(size)
    array = storage.array(dtype, offset, size, stride)
    made = rebuilt(Tensor, array, new_version_cell(), False, {})
    if storage.backend is None and array.nbytes != storage.held.nbytes:
        made._memory = storage.held
    for flag, function in (("conj", Tensor.conj), ("neg", Tensor._neg_view)):
        if _has(metadata, flag):
            made = function(made)
    return made.requires_grad_() if requires_grad else made


def _has(metadata: Any, flag: str) -> bool:
    """Whether the elements of a tensor are still to be conjugated, or to be negated."""
    check(metadata is None or type(metadata) is dict, "the metadata of a tensor are a dict")
    return bool(metadata) and metadata.get(flag) is True


def _with_attributes(made: Any, state: Any) -> Any:
    if type(state) is tuple and len(state) == 2:  # attributes, and those in slots
        check(state[1] is None or type(state[1]) is dict, "attributes are a dict")
        state = {**(state[0] or {}), **(state[1] or {})}
    check(type(state) is dict, "attributes are a dict")
    for name, value in state.items():
        check(type(name) is str, "the name of an attribute is text")
        if name == "_is_buffer" and type(made) is Buffer:  # which its class says here
            continue
        free = not hasattr(Tensor, name) and not name.startswith("__")
        check(free, f"a tensor cannot be given its attribute {name!r}")
        setattr(made, name, value)
    return made


__all__ = [
    "TENSORS", "before_storages", "encoded", "layout_of_name", "rebuild_from_type_v2",
    "rebuild_parameter",
    "rebuild_parameter_with_state", "rebuild_sparse_tensor", "rebuild_tensor",
    "rebuild_tensor_v2", "rebuild_tensor_v3",
]  # fmt: skip
