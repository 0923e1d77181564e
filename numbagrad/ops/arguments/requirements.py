"""Arguments of functions that make tensors: sizes, dtypes, numbers and ``out``.

The functions of ``ops/creation/`` and ``ops/conversion/`` share them. Nothing here is recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd.grad_mode import state as grad_mode
from ...autograd.tensor_interface import bump_version
from ...autograd.writes.inplace import before_write
from ...backend import Backend, backend_for
from ...dtype import PYTHON_TYPES, get_default_dtype, scalar_type_name
from ...dtype import dtype as DType
from ...dtype import from_numpy as dtype_of
from ...executor.memory.arrays import held_by, in_new_memory
from ...layout import layout as Layout
from ...layout import strided
from ...number_range import check_bits
from ...tensor import Tensor, new_tensor
from ...type_names import given_for_tensor, type_name
from ...warn_once import warn_caller


def numpy_dtype(function: str, dtype: Any, default: np.dtype[Any] | None = None) -> np.dtype[Any]:
    """The NumPy type of a ``dtype`` argument; None stands for ``default`` or the default dtype."""
    if dtype is None:
        return get_default_dtype().numpy if default is None else default
    if isinstance(dtype, DType):
        return dtype.numpy
    if isinstance(dtype, type) and dtype in PYTHON_TYPES:
        return PYTHON_TYPES[dtype].numpy
    raise TypeError(
        f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
    )


def home_of_new(
    function: str, device: Any, layout: Any = None, pin_memory: Any = False
) -> Backend | None:
    """The backend of the device that is to hold what a function makes; None for the CPU.

    Raises:
        NotImplementedError: for another layout than ``strided``: all tensors are dense.
        RuntimeError: if the memory is to be pinned.
        TypeError: for a layout that is none.
    """
    if pin_memory or (layout is not None and layout is not strided):
        require_strided(function, layout, pin_memory)
    return backend_for(device)


def require_strided(function: str, layout: Any, pin_memory: Any = False) -> None:
    """Raise unless a function is asked for a dense tensor in ordinary memory."""
    if layout is not None and layout is not strided:
        if not isinstance(layout, Layout):
            raise TypeError(
                f"{function}(): argument 'layout' must be torch.layout, not {type_name(layout)}"
            )
        raise NotImplementedError(
            f"{function}(): layout={layout} is not available in numbagrad: all tensors are dense; "
            "leave layout out"
        )
    if pin_memory:
        raise RuntimeError(
            f"{function}(): pin_memory=True is not available in numbagrad: new tensors are in "
            "ordinary memory; where there is a GPU, call pin_memory() of the tensor"
        )


def kind_of_new(
    function: str, dtype: Any, default: np.dtype[Any] | None = None, *, without: str = ""
) -> np.dtype[Any]:
    """The NumPy type of what a function makes: ``numpy_dtype``, which it may have no numbers of.

    Args:
        without: kinds (NumPy's letters) that the function has no numbers of.

    Raises:
        NotImplementedError: for a dtype ``without`` names.
    """
    kind = numpy_dtype(function, dtype, default)
    if kind.kind in without:
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{scalar_type_name(dtype_of(kind))}'; give another"
            " dtype"
        )
    return kind


def is_complex_number(value: Any) -> bool:
    """Whether a number, which is no Tensor, is complex."""
    return isinstance(value, (complex, np.complexfloating))


def require_real(function: str, argument: str, value: Any, kind: str = "float") -> None:
    """Raise the errors of an argument that takes a real number: for what is none, or complex."""
    check_bits(value)
    if is_complex_number(value):
        raise RuntimeError(
            f"{function}(): value cannot be converted to type {kind} without overflow: argument "
            f"'{argument}' is a complex number; give a real one"
        )
    if isinstance(value, Tensor):
        if value._array.ndim == 0:
            return
    elif isinstance(value, (bool, int, float, np.generic)):
        return
    raise TypeError(f"{function}(): argument '{argument}' must be Number, not {type_name(value)}")


def shape_of(function: str, arguments: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """The shape given as ``(2, 3)``, ``([2, 3],)`` or ``size=(2, 3)``."""
    plain: Any = arguments if size is None else size
    if plain.__class__ is tuple and plain:
        if plain[0].__class__ is tuple and size is None and len(plain) == 1:
            plain = plain[0]
        for length in plain:
            if length.__class__ is not int or length < 0:
                break
        else:
            if plain:
                return plain
    given: Sequence[Any] = arguments
    if size is not None:
        given = size if isinstance(size, (tuple, list)) else (size,)
    elif not arguments:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    elif len(arguments) == 1:
        if isinstance(arguments[0], (tuple, list)):
            given = arguments[0]
        elif not hasattr(arguments[0], "__index__"):
            raise TypeError(
                f"{function}(): argument 'size' (position 1) must be tuple of ints, not "
                f"{type(arguments[0]).__name__}"
            )
    lengths = tuple([_length(function, k, length) for k, length in enumerate(given, 1)])
    if lengths and min(lengths) < 0:
        raise RuntimeError(
            f"{function}: Dimension size must be non-negative, but got shape {list(lengths)}."
        )
    return lengths


def _length(function: str, position: int, length: Any) -> int:
    try:
        if position == 1 and length.__class__ is bool:
            raise TypeError
        return operator.index(length)
    except TypeError:
        raise TypeError(
            f"{function}(): argument 'size' must be tuple of ints, but found element of type "
            f"{type(length).__name__} at pos {position}"
        ) from None


def refuse_complex(function: str, array: np.ndarray[Any, Any]) -> None:
    """Raise if the elements are complex, for what needs an order or has no rule for them."""
    if array.dtype.kind == "c":
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{scalar_type_name(dtype_of(array.dtype))}'"
        )


def require_tensor(function: str, value: Any, argument: str = "input", position: int = 1) -> None:
    """Raise a TypeError that names the function and the argument unless ``value`` is a Tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not "
            f"{given_for_tensor(value)}"
        )


def require_tensor_or_number(function: str, value: Any, argument: str, position: int) -> None:
    """Raise a TypeError that names the function and the argument unless it is one of the two."""
    if not isinstance(value, (Tensor, bool, int, float, complex, np.generic)):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor or Number, "
            f"not {given_for_tensor(value)}"
        )


def check_elements(function: str, values: Sequence[Any], position: int = 1) -> None:
    """Raise a TypeError for the first of several values that is no Tensor."""
    for index, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{function}(): expected Tensor as element {index} in argument {position - 1}, but "
                f"got {given_for_tensor(value)}"
            )


def tensors_of(function: str, given: Sequence[Any], position: int = 1) -> list[Tensor]:
    """Tensors that were given one by one, or as one sequence."""
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = given[0]
    check_elements(function, given, position)
    return list(given)


def leaf(array: np.ndarray[Any, Any], requires_grad: bool, where: Backend | None = None) -> Tensor:
    """A new leaf of this memory; ``where`` is the backend that is to hold it if another does."""
    if where is not None:
        array = held_by(where, array)
    if requires_grad and array.dtype.kind not in "fcV":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return new_tensor(array, bool(requires_grad))


def refuse_gradients(function: str, *tensors: Tensor) -> None:
    """Raise if autograd would have to follow what is written into an ``out``."""
    if grad_mode.enabled and any([x.requires_grad for x in tensors]):
        raise RuntimeError(
            f"{function}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )


def resize_output(out: Tensor, shape: tuple[int, ...]) -> None:
    """Give an ``out`` of another shape memory of its own, with a warning if it had elements."""
    if out._array.shape == shape:
        return
    if out._array.size:
        warn_caller(
            "An output with one or more elements was resized since it had shape "
            f"{list(out._array.shape)}, which does not match the required output shape "
            f"{list(shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
            "will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
        )
    out._array = np.empty(shape, out._array.dtype)


def write(out: Tensor, array: np.ndarray[Any, Any]) -> Tensor:
    """Put the elements of ``array`` into ``out``, which gets their shape."""
    before_write(out)
    if out._array.shape != array.shape:
        out._array = np.empty(array.shape, out._array.dtype)
    half.copy_into(out._array, array)
    bump_version(out)
    return out


def converted(array: np.ndarray[Any, Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A dense copy of ``array`` as ``kind``, without NumPy's warnings for what does not fit."""
    if array.dtype == kind:
        return in_new_memory(array) if array.flags.c_contiguous else array.copy("K")
    return half.converted(array, kind)
