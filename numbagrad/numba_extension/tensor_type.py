"""``TensorType``, the Numba type of a tensor, and how tensors get in and out of compiled functions.

Numba calls what is registered here when it types, compiles and calls a function. The type is an
array type of its own: inside a function a tensor is an array, and it comes out as the same tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.boxing import box_array, unbox_array
from numba.core.datamodel import models
from numba.core.typing.typeof import Purpose, typeof
from numba.extending import NativeValue, box, lower_cast, register_model, typeof_impl, unbox

from ..autograd.grad_mode import state as grad_mode
from ..dtype import from_numpy as dtype_of
from ..executor import capture
from ..tensor import Tensor

__all__ = ["TensorType"]

_REQUIRES_GRAD = (
    "a Tensor that requires grad was passed to a function compiled by Numba, which autograd cannot "
    "record. Pass tensor.detach() if the gradient shall not flow through it, or call the function "
    "in the forward of an autograd.Function whose backward computes the gradient."
)
_TRANSFORMED = (
    "a Tensor whose elements are not what its memory holds (a pending conjugate or negative, or "
    "one under a transformation) was passed to a function compiled by Numba. Pass resolve_conj() "
    "or resolve_neg() of it, or call the function in the forward of an autograd.Function."
)
_CONSTANT = (
    "a Tensor is no constant of a compiled function, as its values may change; pass it as an "
    "argument, or tensor.numpy().copy() to freeze its values"
)


class TensorType(types.Array):
    """The Numba type of a tensor: that of the ndarray it wraps, which it becomes in any operation.

    Slices, copies and results of operations are ordinary arrays. A function with explicit
    signatures takes tensors where they say so: ``TensorType(types.float32, 2, "A")`` is one of two
    dimensions.
    """

    def __init__(
        self, dtype: Any, ndim: int, layout: Any, readonly: bool = False, aligned: bool = True
    ) -> None:
        kind = ("" if aligned else "unaligned ") + ("readonly " if readonly else "")
        name = f"{kind}tensor({dtype}, {ndim}d, {layout})"
        super().__init__(dtype, ndim, layout, readonly=readonly, name=name, aligned=aligned)

    @property
    def box_type(self) -> type:
        """The Python type of values of this type."""
        return Tensor

    def __repr__(self) -> str:
        flags = f"readonly={not self.mutable}, aligned={self.aligned}"
        return f"TensorType({self.dtype!r}, {self.ndim}, {self.layout!r}, {flags})"


@typeof_impl.register(Tensor)
def _type_of_tensor(tensor: Tensor, context: Any) -> TensorType:
    """Numba asks for the type of every tensor of every call, hence the checks that belong to one.

    Raises:
        RuntimeError: if the call would have to be recorded.
        TypeError: for float16 and bfloat16.
        ValueError: if the tensor is a global or free variable of a compiled function.
    """
    if tensor._requires_grad and grad_mode.enabled:
        raise RuntimeError(_REQUIRES_GRAD)
    if context.purpose is Purpose.constant:
        raise ValueError(_CONSTANT)
    capture.refuse("a function compiled by Numba, given a tensor")
    array = tensor._array
    if array.__class__ is not np.ndarray:
        raise RuntimeError(_TRANSFORMED)
    key = (array.dtype.num, array.ndim, array.flags.num)
    found = _types.get(key)
    return _types.setdefault(key, _type_of_array(array)) if found is None else found


#: By number of the dtype, dimensions and flags: Numba takes 10 µs to make a type.
_types: dict[tuple[int, int, int], TensorType] = {}


def _type_of_array(array: np.ndarray[Any, Any]) -> TensorType:
    kind = dtype_of(array.dtype)
    if kind.is_half:
        raise TypeError(
            f"Numba compiles no arithmetic of {kind.name} for the CPU; pass tensor.float(), or "
            "tensor.view(torch.int16) for its bits"
        )
    typ = typeof(array)
    return TensorType(typ.dtype, typ.ndim, typ.layout, not typ.mutable, typ.aligned)


register_model(TensorType)(models.ArrayModel)


@unbox(TensorType)
def _unbox_tensor(typ: TensorType, tensor: Any, c: Any) -> NativeValue:
    """The array header of a tensor; its ``parent`` is the tensor, kept alive with the memory."""
    header = cgutils.alloca_once(c.builder, c.context.get_value_type(typ))
    failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
    ndarray = c.pyapi.object_getattr_string(tensor, "_array")
    with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, ndarray)):
        unboxed = unbox_array(typ, ndarray, c)
        c.builder.store(unboxed.is_error, failed)
        with cgutils.if_likely(c.builder, c.builder.not_(unboxed.is_error)):
            array = c.context.make_array(typ)(c.context, c.builder, value=unboxed.value)
            c.context.nrt.decref(c.builder, typ, unboxed.value)
            # Arrays made from this one may outlive the call, and `tensor.data = other` replaces
            # the memory of a tensor: both are held.
            owners = c.pyapi.tuple_pack([ndarray, tensor])
            data = c.builder.bitcast(array.data, c.pyapi.voidptr)
            array.meminfo = c.pyapi.nrt_meminfo_new_from_pyobject(data, owners)
            c.pyapi.decref(owners)
            array.parent = tensor
            c.builder.store(array._getvalue(), header)
        c.pyapi.decref(ndarray)
    return NativeValue(c.builder.load(header), is_error=c.builder.load(failed))


@box(TensorType)
def _box_tensor(typ: TensorType, value: Any, c: Any) -> Any:
    """The tensor that was passed in; in a loop shared by threads, which has only that, an array."""
    tensor = c.context.make_array(typ)(c.context, c.builder, value=value).parent
    boxed = cgutils.alloca_once_value(c.builder, tensor)
    is_known = cgutils.is_not_null(c.builder, tensor)
    with c.builder.if_else(is_known, likely=True) as (known, unknown):
        with known:
            c.pyapi.incref(tensor)
            c.context.nrt.decref(c.builder, typ, value)
        with unknown:
            c.builder.store(box_array(typ, value, c), boxed)
    return c.builder.load(boxed)


@lower_cast(TensorType, types.Array)
def _tensor_as_array(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    """Both are one header: a variable that holds a tensor or an array is an array."""
    return value
