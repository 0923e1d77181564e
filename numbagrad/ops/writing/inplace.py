"""Methods that write a tensor in place and are variants of nothing: fill, copy, and shapes.

Those that follow from an operator are made by ``methods/variants.py``; what a write does to
histories is in ``autograd/writes/inplace.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd.grad_mode import inference_mode
from ...autograd.hooks import tensor_hooks as hooks
from ...autograd.tensor_interface import bump_version
from ...autograd.writes.inplace import (
    before_write,
    check_inplace,
    recording,
    take_history,
    write_inplace,
)
from ...backend import foreign
from ...dispatch import layers
from ...executor.memory.arrays import (
    assign,
    constant,
    filled_like,
    new_array,
    set_all,
    values_on_host,
)
from ...executor.plan.sharing import check_written_once, refuse_overlap
from ...tensor import Tensor, new_tensor
from ...tensor.leaves import assign_data
from ...transforms.batching import aligned, stacked
from ...transforms.levels import is_transformed
from ...type_names import type_name
from .. import pointwise as table  # noqa: F401 - fills the register
from ..arguments.requirements import require_tensor, require_tensor_or_number
from ..arguments.shapes import check_broadcast
from ..conversion.dtypes import as_element, cast
from ..methods.registry import install_form, method
from ..operators.tensor_operator import TensorOperator
from ..views.expand import sum_to_size
from ..views.view import squeeze, swapaxes, t, transpose, unsqueeze

__all__: list[str] = []

_ndarray = np.ndarray

# --- fill and copy --------------------------------------------------------------------------------


def zeros_for(grad: Tensor) -> Tensor:
    """The gradient of what was overwritten."""
    array = grad._array
    return new_tensor(filled_like(array, array.shape, array.dtype, 0))


_zero = TensorOperator(
    "zero",
    lambda input: filled_like(input, input.shape, input.dtype, 0),
    {"input": lambda grad: zeros_for(grad)},
    batch=stacked(),
    takes_half=True,
    portable=True,
)
_fill = TensorOperator(
    "fill",
    lambda input, value: np.full_like(input, value),
    {"input": lambda grad: zeros_for(grad), "value": lambda grad: grad.sum()},
    # A value of samples is copied instead.
    batch=lambda operator, size, arguments, mapped: operator(*arguments),
)


def is_elsewhere(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are on different devices."""
    return foreign(one._array) is not foreign(other._array)


def _copied(input: np.ndarray[Any, Any], src: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    where = foreign(input)
    if where is None:
        return np.array(half.converted(np.broadcast_to(src, input.shape), input.dtype))
    made = new_array(input.shape, input.dtype, where)
    where.copy(made, src)
    return made


def _copy_of_samples(operator: Any, size: int, arguments: list[Any], mapped: list[bool]) -> Tensor:
    """The result of ``_copy`` for all samples: the source, repeated to the shape of the input."""
    input, source, _ = arguments
    shape = input._array.shape[mapped[0] :]
    source = aligned(source, mapped[1], len(shape))
    return cast(source.expand((size, *shape)), input._array.dtype, copy=True)


_copy = TensorOperator(
    "copy",
    lambda input, src, kind: _copied(input, src),
    {
        "input": lambda grad: zeros_for(grad),
        "src": lambda grad, src_shape, kind: cast(sum_to_size(grad, src_shape), kind),
    },
    grad_fn="CopyBackwards",
    batch=_copy_of_samples,
    takes_half=True,
    portable=True,
)
_copy._node._namespace = "torch::autograd::"


@method("zero_")
def zero_(input: Tensor) -> Tensor:
    """Write zeros."""
    if layers.everywhere and layers.asks(zero_):
        return layers.descend(zero_, (input,), {})
    if not recording(input) and not is_transformed(input):
        before_write(input)
        set_all(input._array, 0, made=False)
        bump_version(input)
        return input
    return write_inplace(input, _zero, lambda array: set_all(array, 0, made=False))


@method("fill_")
def fill_(input: Tensor, value: Any) -> Tensor:
    """Write one value, a number or a tensor without dimensions."""
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value._array.ndim} dimensions."
        )
    if not isinstance(value, Tensor):
        require_tensor_or_number("fill_", value, "value", 2)
    value = as_element(value, input._array.dtype)
    if isinstance(value, Tensor) and is_transformed(value):
        return copy_(input, value)
    number = value
    if isinstance(value, Tensor) and foreign(value._array) is foreign(input._array) is not None:
        source = value._array  # which nobody reads
        return write_inplace(input, _fill, lambda array: assign(array, source), value)
    if isinstance(value, Tensor):
        number = values_on_host(value._elements(), "fill_() with the value of a tensor")[()]
    return write_inplace(input, _fill, lambda array: set_all(array, number, made=False), value)


@method("copy_")
def copy_(input: Tensor, src: Tensor | bool | int | float, non_blocking: bool = False) -> Tensor:
    """Write the elements of ``src``, broadcast and cast to the dtype of this tensor."""
    if non_blocking is not False and non_blocking is not True:
        raise TypeError(
            "copy_(): argument 'non_blocking' (position 2) must be bool, not "
            f"{type_name(non_blocking)}"
        )
    if src.__class__ is not Tensor and not isinstance(src, Tensor):
        if not isinstance(src, (bool, int, float, complex)):
            require_tensor("copy_", src, "other")
        src = new_tensor(constant(np.array(src)))
    source = src._array
    if source.__class__ is not _ndarray or input._array.__class__ is not _ndarray:
        if is_elsewhere(src, input):
            src = src.to(input.device)
            source = src._array
    if source.shape != input._array.shape:
        check_broadcast(source.shape, input._array.shape)
    if 0 in input._array.strides and src is not input:
        check_written_once(input._array)
    if source.base is not None or input._array.base is not None:
        refuse_overlap(input._array, (source,))
    if not recording(input, src) and not is_transformed((input, src)):
        before_write(input)
        assign(input._array, source)
        bump_version(input)
        return input
    return write_inplace(input, _copy, lambda array: assign(array, source), src, source.dtype)


# --- shape ----------------------------------------------------------------------------------------


def reshape_in_place(tensor: Tensor, view: Callable[[Tensor], Tensor]) -> Tensor:
    """Give ``tensor`` the shape of ``view(tensor)``; its memory stays."""
    recorded = recording(tensor)
    before_write(tensor)
    if recorded:
        check_inplace(tensor)
    elif tensor._producer is not None and not tensor._is_view():
        hooks.fit_gradients(tensor)
    # A view knows where it lies in its base, also if it was given another shape unrecorded.
    follows = recorded or (tensor._producer is not None and tensor._is_view())
    history = tensor._requires_grad, tensor._producer, tensor._output_nr
    if follows and not recorded:
        with inference_mode(False):  # which records whatever was switched off
            made = view(new_tensor(tensor._array, *history))
    else:
        made = view(new_tensor(tensor._array, *history))
    tensor._array = made._array
    bump_version(tensor)
    if follows:
        take_history(tensor, made._producer, made._output_nr)
    return tensor


def _install_reshaping(view: Callable[..., Tensor], name: str) -> None:
    """Install the method that gives a tensor the shape of ``view`` of it."""

    def reshape(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        return reshape_in_place(self, lambda x: view(x, *arguments, **options))

    reshape.__doc__ = f"``{view.__name__}`` in place."
    install_form(reshape, view, name)


_install_reshaping(t, "t_")
_install_reshaping(transpose, "transpose_")
_install_reshaping(transpose, "swapdims_")
_install_reshaping(swapaxes, "swapaxes_")
_install_reshaping(squeeze, "squeeze_")
_install_reshaping(unsqueeze, "unsqueeze_")


@method()
def set_data(self: Tensor, new_data: Tensor) -> None:
    """Let the tensor refer to the memory of ``new_data``."""
    assign_data(self, new_data)
