"""Tensors made from data: ``tensor``, ``as_tensor``, ``from_numpy`` and their relatives.

Users call them; ``methods/legacy.py`` uses ``array_of`` too. Python's numbers become what torch
makes of them; arrays of NumPy are copied or shared. No gradient flows through what is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import backend_for, device_of, foreign, may_share
from ...dtype import bfloat16, bool_, complex_of, get_default_dtype, int64, promote_types
from ...dtype import dtype as DType
from ...dtype import from_numpy as dtype_of
from ...executor.memory.arrays import constant, values_on_host
from ...number_range import SAFE
from ...tensor import Tensor, new_tensor
from ...tensor.dlpack import is_capsule
from ...transforms.unwrapping import resolved
from ...untyped_storage import UntypedStorage
from ...warn_once import warn_caller
from ..arguments.requirements import converted, home_of_new, leaf, numpy_dtype
from ..arguments.shared_parameters import TENSOR_OPTIONS, shares
from ..methods.registry import method
from ..operators.array_function import array_function
from .from_memory import check_array, from_dlpack, from_numpy, frombuffer, has_buffer

__all__ = ["as_tensor", "asarray", "tensor"]


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf with a copy of ``data``: a number, nested sequences of numbers, or an array.

    Without ``dtype``, Python floats become the default dtype, ints int64 and bools bool.

    Raises:
        ValueError: if nested sequences are ragged, or an int does not fit in 64 bits.
        TypeError, RuntimeError: for data that are not numbers, or too large for the dtype.
    """
    where = home_of_new("tensor", device, None, pin_memory)
    if isinstance(data, Tensor):
        warn_caller(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than torch.tensor(sourceTensor).",
        )
    if dtype is None:
        array = _array_of_numbers(data)
        return leaf(array_of(data, None) if array is None else array, requires_grad, where)
    return leaf(array_of(data, numpy_dtype("tensor", dtype)), requires_grad, where)


def _array_of_numbers(data: Any) -> np.ndarray[Any, Any] | None:
    """``array_of`` a float, or a list of nothing but floats or ints; None for all other data."""
    if data.__class__ is float:
        least = most = data
    elif data.__class__ is list and data and len(types := set(map(type, data))) == 1:
        if int in types:
            made = np.array(data)
            return constant(made) if made.dtype == np.int64 else None
        if float not in types:
            return None
        least, most = min(data), max(data)
    else:
        return None
    kind = get_default_dtype().numpy
    # The conversion may overflow, which is no error here.
    if kind.kind == "V" or not -SAFE < least <= most < SAFE:
        return None
    return constant(np.array(data, kind))


_converted = array_function()(converted)


def array_of(data: Any, kind: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """New memory with the elements of ``data``, of type ``kind`` or of the one they call for."""
    if isinstance(data, Tensor):
        if foreign(data._array) is not None:
            return converted(data._elements(), kind or data._array.dtype)
        return _converted(resolved(data)._array, kind or data._array.dtype)
    if isinstance(data, np.ndarray):
        check_array(data)
        return constant(converted(data, kind or data.dtype))
    if isinstance(data, (bool, int, float, complex, np.generic)):
        return constant(_array_of_leaves([data], kind).reshape(()))
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if hasattr(data, "__cuda_array_interface__"):
        return array_of(_adopted(data), kind)
    if hasattr(data, "__array__") and not isinstance(data, Sequence):
        return array_of(np.asarray(data), kind)
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")) or isinstance(data, dict):
        raise _no_number(data, kind)
    leaves, shape = _flattened(data)
    return constant(_array_of_leaves(leaves, kind).reshape(shape))


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (list, tuple, range)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _flattened(data: Any) -> tuple[list[Any], tuple[int, ...]]:
    """The elements of nested sequences in order, and the shape of the nest.

    Raises:
        ValueError, TypeError: as torch for sequences whose lengths or depths differ.
    """
    level = [data]
    shape: list[int] = []
    while level and _is_sequence(level[0]):
        length = len(level[0])
        for one in level:
            if not _is_sequence(one):
                raise TypeError(
                    f"not a sequence: {one!r}, where its neighbours in dim {len(shape)} are"
                )
            if len(one) != length:
                raise ValueError(
                    f"expected sequence of length {length} at dim {len(shape)} (got {len(one)})"
                )
        shape.append(length)
        level = list(chain.from_iterable(level))
    if level and isinstance(level[0], str):
        raise ValueError(f"too many dimensions '{type(level[0]).__name__}'")
    for kind in set(map(type, level)):
        if issubclass(kind, (list, tuple)):
            raise TypeError(f"'{kind.__name__}' object cannot be interpreted as an integer")
    return level, tuple(shape)


def _array_of_leaves(leaves: list[Any], kind: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    types = set(map(type, leaves))
    if not types <= {bool, int, float, complex}:
        leaves = [_plain(one, kind) for one in leaves]
    inferred = _inferred(leaves)
    if kind is None:
        kind = inferred.numpy if inferred is not None else get_default_dtype().numpy
    if complex in types and kind.kind in "fiu":
        raise _no_number(1j, kind)
    if kind.kind in "fbcV" or not leaves:
        return _without_overflow(leaves, kind)
    values = np.array(leaves, dtype=np.float64) if float in types else _integers(leaves)
    return as_integers(values, kind)


def _without_overflow(leaves: list[Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of what is no integer; what a dtype cannot hold is infinite."""
    with np.errstate(over="ignore"):
        if kind.kind == "V":
            return half.converted(np.array(leaves, dtype=np.float32), kind)
        return np.array(leaves, dtype=kind)


class _Bfloat16(np.float32):
    """The value of an element of bfloat16, for which NumPy has no type."""


def _plain(value: Any, kind: np.dtype[Any] | None) -> Any:
    """A number from what counts as one; NumPy's numbers stay, since they have a dtype."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    array = value
    if isinstance(value, Tensor):
        array = values_on_host(value._elements(), "the value of a tensor as a Python number")
    if isinstance(array, np.ndarray):
        if array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        rounded = isinstance(value, Tensor) and value._array.dtype.kind == "V"
        array = half.readable(array).reshape(())[()]
        array = _Bfloat16(array) if rounded else array
    if not isinstance(array, np.generic) or array.dtype.kind not in "fiubc":
        raise _no_number(value, kind)
    if kind is not None and kind.kind in "fiu" and array.dtype.kind == "c":
        raise _no_number(1j, kind)
    if kind is not None and kind.kind not in "fcV" and array.dtype.kind in "fV":
        raise TypeError(
            "only integer tensors of a single element can be converted to an index"
            if isinstance(value, Tensor)
            else f"'numpy.{type(array).__name__}' object cannot be interpreted as an integer"
        )
    return array


def _no_number(value: Any, kind: np.dtype[Any] | None) -> Exception:
    """The error for what is not a number where one of type ``kind`` is called for."""
    name = type(value).__name__
    if kind is None:
        if isinstance(value, str):
            return TypeError(f"new(): invalid data type '{name}'")
        return RuntimeError(f"Could not infer dtype of {name}")
    if kind.kind in "fV":
        return TypeError(f"must be real number, not {name}")
    return TypeError(f"'{name}' object cannot be interpreted as an integer")


def _inferred(leaves: list[Any]) -> DType | None:
    """The dtype that these numbers call for, or None if there are none."""
    found: DType | None = None
    for each in set(map(type, leaves)):
        if each is _Bfloat16:
            own = bfloat16
        else:
            own = dtype_of(np.dtype(each)) if issubclass(each, np.generic) else _number_dtype(each)
        found = own if found is None else promote_types(found, own)
    return found


def _number_dtype(kind: type) -> DType:
    if issubclass(kind, complex):
        return complex_of(get_default_dtype())
    return bool_ if kind is bool else int64 if issubclass(kind, int) else get_default_dtype()


def _integers(leaves: list[Any]) -> np.ndarray[Any, Any]:
    try:
        return np.array(leaves, dtype=np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def as_integers(values: np.ndarray[Any, Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers as an integer type that holds them all; negative ones wrap in unsigned types."""
    limits = np.iinfo(kind)
    wraps = kind.kind == "u" and values.dtype.kind not in "fV"
    least = -limits.max if wraps else limits.min
    # Not "any outside", which NaN would pass; and the largest int64 is no float64.
    bound = float(limits.max) if values.dtype.kind in "fV" else limits.max
    inside = (values >= least) & (
        values < bound if kind == np.int64 and values.dtype.kind in "fV" else values <= bound
    )
    if not inside.all():
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
    return values.astype(np.int64).astype(kind)


def _adopted(data: Any) -> Tensor:
    """A tensor on the memory of an object of a GPU."""
    where: Any = backend_for("cuda")
    return new_tensor(where.adopt(data))


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor: the same memory, and for a tensor its history, where dtypes agree."""
    where = backend_for(device)
    kind = None if dtype is None else numpy_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        if device is not None and where is not foreign(data._array):
            data = data.to(device)
        return data if kind is None or data._array.dtype == kind else data.to(dtype)
    if hasattr(data, "__cuda_array_interface__"):
        made = _adopted(data)
        return as_tensor(made, dtype, device)
    if where is None and isinstance(data, np.ndarray) and (kind is None or data.dtype == kind):
        return from_numpy(data)
    return leaf(array_of(data, kind), False, where)


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``obj`` as a tensor; ``copy`` says whether memory must (True) or must not (False) be new.

    Memory is shared with tensors, arrays, storages, capsules of DLPack and objects with Python's
    buffer protocol, whose bytes are of ``dtype`` or of the default one.

    Raises:
        ValueError: for ``copy=False`` where the memory cannot be shared.
    """
    if isinstance(obj, (Tensor, np.ndarray)):
        made = as_tensor(obj, dtype, device)
        source = obj._array if isinstance(obj, Tensor) else obj
        shared = made._array is source or may_share(made._array, source)
        if copy is False and not shared:
            raise ValueError("can't alias arbitrary sequence or dtype: asarray(copy=False)")
        if shared and copy:
            made = made.clone()
        return made.requires_grad_() if requires_grad else made
    shown = _on_memory_of(obj, dtype)
    if shown is not None:
        made = as_tensor(shown.clone() if copy else shown, dtype, device)
        return made.requires_grad_() if requires_grad else made
    if copy is False:
        raise ValueError("can't alias arbitrary sequence: asarray(copy=False)")
    made = as_tensor(obj, dtype, device)
    return leaf(made._array, requires_grad)


def _on_memory_of(obj: Any, dtype: Any) -> Tensor | None:
    """A tensor on the memory of a storage, a capsule or a buffer; None for other objects."""
    if isinstance(obj, UntypedStorage):
        return from_numpy(obj._bytes())
    if is_capsule(obj):
        return from_dlpack(obj)
    if isinstance(obj, (np.generic, np.ndarray, Tensor)) or not has_buffer(obj):
        return None
    return frombuffer(obj, dtype=get_default_dtype() if dtype is None else dtype)


@method()
@shares(TENSOR_OPTIONS, name="new_tensor")
def _new_tensor(self: Tensor, data: Any, *, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """``tensor(data)`` of the dtype of this tensor."""
    kind = self.dtype if dtype is None else dtype
    device = device_of(self._array) if device is None else device
    return tensor(data, dtype=kind, device=device, requires_grad=requires_grad)
