"""Tensors filled with one number: ``zeros``, ``full``, ``ones_like``, ``new_zeros``, ``eye``.

Users call them. Memory is allocated and filled by NumPy; nothing here is recorded. What the
arguments mean is in ``arguments/requirements.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import backend_for, device_of, home_of
from ...dtype import dtype as DType
from ...dtype import from_numpy as dtype_of
from ...dtype import get_default_dtype, scalar_dtype
from ...executor.families.conversion import dense_like, in_order
from ...executor.memory.arrays import constant, filled, new_array, set_all, unset
from ...executor.plan.forms import Form
from ...layout import contiguous_format, preserve_format
from ...number_range import checked_number
from ...tensor import Tensor
from ...tensor.sparse_array import SparseArray, could_not_run
from ...transforms.levels import is_transformed
from ...transforms.unwrapping import like_samples, new_samples
from ...type_names import type_name
from ..arguments.kinds import Ints, takes
from ..arguments.requirements import leaf, numpy_dtype, require_tensor, shape_of
from ..arguments.shared_parameters import SIZES, TENSOR_OPTIONS, shares
from ..methods.registry import method

__all__ = [
    "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "full", "full_like", "ones",
    "ones_like", "scalar_tensor", "zeros", "zeros_like",
]  # fmt: skip

Number = bool | int | float


def _uniform(name: str, allocate: Callable[..., np.ndarray[Any, Any]], content: str) -> Any:
    """``zeros``, ``ones`` or ``empty``."""

    def function(
        shape: Any, *, dtype: Any, where: Any, requires_grad: bool, memory_format: Any = None
    ) -> Tensor:
        kind = numpy_dtype(name, dtype)
        if memory_format is None or memory_format.order is None:
            return leaf(allocate(shape, kind, where), requires_grad)
        order = memory_format.order_of(len(shape))
        array = allocate(tuple([shape[dim] for dim in order]), kind, where)
        return leaf(array.transpose(np.argsort(order).tolist()), requires_grad)

    function.__doc__ = f"A tensor of the given sizes, {content}."
    return shares(SIZES, TENSOR_OPTIONS, name=name)(function)


def _uniform_like(name: str, fill: Number | None, content: str) -> Any:
    """``zeros_like``, ``ones_like`` or ``empty_like``."""

    def function(
        input: Tensor, *, dtype: Any, device: Any, requires_grad: bool, memory_format: Any = None
    ) -> Tensor:
        if input.__class__ is not Tensor:
            require_tensor(name, input)
        if is_transformed(input):
            return like_samples(
                input,
                lambda value: function(
                    value, dtype=dtype, device=device, requires_grad=requires_grad,
                    memory_format=memory_format,
                ),
            )  # fmt: skip
        array = empty_array_like(name, input, dtype, device, memory_format)
        if fill is None:
            unset(array)
        else:
            set_all(array, fill)
        return leaf(array, requires_grad)

    function.__doc__ = f"A tensor of the size, and by default the dtype, of ``input``, {content}."
    return shares(TENSOR_OPTIONS, name=name)(function)


def empty_array_like(
    function: str, input: Tensor, dtype: Any, device: Any, memory_format: Any
) -> np.ndarray[Any, Any]:
    """Memory of the shape of ``input``, in the order of its strides unless told otherwise."""
    array = input._array
    if array.__class__ is SparseArray:
        raise could_not_run(array, function)
    where = home_of(array) if device is None else backend_for(device)
    kind = numpy_dtype(function, dtype, array.dtype)
    if memory_format is contiguous_format:
        return new_array(array.shape, kind, where)
    if memory_format is None or memory_format is preserve_format:
        return dense_like(array, kind, where)
    return in_order(array.shape, kind, memory_format.order_of(array.ndim), where)


def _unset(shape: tuple[int, ...], kind: np.dtype[Any], where: Any) -> Any:
    return unset(new_array(shape, kind, where))


def _all(value: Number) -> Callable[..., np.ndarray[Any, Any]]:
    return lambda shape, kind, where: filled(shape, kind, value, where)


zeros = _uniform("zeros", _all(0), "filled with 0")
ones = _uniform("ones", _all(1), "filled with 1")
empty = _uniform("empty", _unset, "whose elements are not set")
zeros_like = _uniform_like("zeros_like", 0, "filled with 0")
ones_like = _uniform_like("ones_like", 1, "filled with 1")
empty_like = _uniform_like("empty_like", None, "whose elements are not set")


@shares(TENSOR_OPTIONS)
def full(size: Ints, fill_value: Any, *, dtype: Any, where: Any, requires_grad: bool) -> Tensor:
    """A tensor of the given sizes filled with one number, whose type decides the dtype."""
    value = _number("full", fill_value) if isinstance(fill_value, Tensor) else fill_value
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type_name(size)}"
        )
    if isinstance(fill_value, Tensor):
        kind = numpy_dtype("full", dtype, fill_value._array.dtype)
    else:
        kind = numpy_dtype("full", dtype, _dtype_of_number("full", value).numpy)
    array = filled(shape_of("full", (), size), kind, checked_number(value, kind), where)
    return leaf(array, requires_grad)


@shares(TENSOR_OPTIONS)
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of the size and the dtype of ``input`` filled with one number."""
    if input.__class__ is not Tensor:
        require_tensor("full_like", input)
    if is_transformed(input):
        return like_samples(
            input,
            lambda value: full_like(
                value, fill_value, dtype=dtype, device=device, requires_grad=requires_grad,
                memory_format=memory_format,
            ),
        )  # fmt: skip
    array = empty_array_like("full_like", input, dtype, device, memory_format)
    value = _number("full_like", fill_value) if isinstance(fill_value, Tensor) else fill_value
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise _no_number("full_like", value)
    set_all(array, checked_number(value, array.dtype))
    return leaf(array, requires_grad)


@shares(TENSOR_OPTIONS)
def scalar_tensor(s: Number, *, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """A tensor without dimensions; by default of the default dtype, for ints too."""
    kind = dtype if dtype is not None else get_default_dtype()
    return full((), s, dtype=kind, device=device, requires_grad=requires_grad)


@shares(TENSOR_OPTIONS)
def empty_strided(
    size: Ints, stride: Ints, *, dtype: Any, where: Any, requires_grad: bool
) -> Tensor:
    """A tensor of the given sizes and strides (in elements) whose elements are not set."""
    kind = numpy_dtype("empty_strided", dtype)
    shape = shape_of("empty_strided", (), size)
    steps = tuple(stride)
    if len(steps) != len(shape) or any(step < 0 for step in steps):
        raise RuntimeError(
            f"empty_strided: expected one stride >= 0 a dimension, but got size {list(shape)} and "
            f"stride {list(steps)}"
        )
    strides = tuple([step * kind.itemsize for step in steps])
    return leaf(unset(Form(tuple(shape), strides, kind).with_gaps()), requires_grad, where)


@shares(TENSOR_OPTIONS)
def empty_permuted(
    size: Ints, physical_layout: Ints, *, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    """A tensor without gaps whose dimensions lie in memory in a given order, outermost first.

    Raises:
        RuntimeError: unless ``physical_layout`` has every dimension once.
    """
    shape, order = tuple(size), tuple(physical_layout)
    if len(shape) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    for position, dim in enumerate(order):
        if not 0 <= dim < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got "
                f"{dim} at index {position})"
            )
    if len(set(order)) != len(order):
        raise RuntimeError(f"Duplicate dim not allowed in physical_layout {list(order)}")
    strides, step = [1] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return empty_strided(shape, strides, dtype=dtype, device=device, requires_grad=requires_grad)


def _dtype_of_number(function: str, value: Any) -> DType:
    if isinstance(value, np.generic):
        return dtype_of(value.dtype)
    if isinstance(value, (bool, int, float, complex)):
        return scalar_dtype(value)
    raise _no_number(function, value)


def _no_number(function: str, value: Any) -> TypeError:
    return TypeError(f"{function}(): argument 'fill_value' must be Number, not {type_name(value)}")


def _number(function: str, value: Tensor) -> Any:
    """The number that a tensor without dimensions holds."""
    if value._array.ndim:
        raise _no_number(function, value)
    return value.item()


@takes("n: int", "n: int, m: int")
@shares(TENSOR_OPTIONS)
def eye(n: int, m: int | None = None, *, dtype: Any, where: Any, requires_grad: bool) -> Tensor:
    """A matrix of n rows and m (or n) columns with ones on the diagonal and zeros elsewhere."""
    columns = n if m is None else m
    for name, size in (("n", n), ("m", columns)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = numpy_dtype("eye", dtype)
    made = constant(half.converted(np.eye(n, columns), kind))
    return leaf(made, requires_grad, where)


# --- of the dtype of a tensor ---------------------------------------------------------------------


def _new_filled(name: str, function: Callable[..., Tensor]) -> None:
    """``Tensor.new_zeros`` and its relatives."""

    def new(self: Tensor, shape: Any, *, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
        kind = self.dtype if dtype is None else dtype
        device = device_of(self._array) if device is None else device

        options = {"dtype": kind, "device": device, "requires_grad": requires_grad}
        if is_transformed(self):
            return new_samples(self, shape, lambda shape: function(shape, **options))
        return function(shape, **options)

    new.__doc__ = f"``{name[4:]}`` of the dtype of this tensor."
    method(name)(shares(SIZES, TENSOR_OPTIONS, name=name)(new))


for _function in (zeros, ones, empty):
    _new_filled(f"new_{_function.__name__}", _function)


@method()
@shares(TENSOR_OPTIONS, name="new_full")
def _new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    """``full`` of the dtype of this tensor."""
    kind = self.dtype if dtype is None else dtype
    device = device_of(self._array) if device is None else device

    options = {"dtype": kind, "device": device, "requires_grad": requires_grad}
    if is_transformed(self):
        shape = shape_of("new_full", (), size)
        return new_samples(self, shape, lambda shape: full(shape, fill_value, **options))
    return full(size, fill_value, **options)
