"""Checks of arguments of the functions of this folder: numbers, sizes, ranks and dtypes.

The names of annotations are read by ``ops/arguments/errors.py``, which refuses arguments of other
kinds before a call; the functions are called where a look at an argument costs nothing that counts.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ...dtype import scalar_type_name
from ...number_range import check_bits
from ...ops.arguments.requirements import is_complex_number
from ...tensor import Tensor
from ...type_names import type_name

__all__ = [
    "Reduction", "one_dtype", "option", "real_number", "refuse_kinds",
    "require_elements", "require_floats", "require_vector",
]  # fmt: skip

#: The name of a reduction. Of any other value the loss says, with a ValueError, that it is none.
Reduction: TypeAlias = str


def real_number(function: str, value: Any, argument: str, position: int) -> float:
    """An option that is a number, as a float.

    Raises:
        TypeError: if it is no number.
        RuntimeError: if it is a complex one, which no element of the result could be.
    """
    if isinstance(value, Tensor):
        if value._array.ndim or value._array.dtype.kind == "c":
            shape = list(value._array.shape)
            raise TypeError(
                f"{function}(): argument '{argument}' (position {position}) must be Number, not a "
                f"Tensor of shape {shape}; give a number"
            )
        return float(value)
    check_bits(value)
    if is_complex_number(value):
        if value.imag:
            raise RuntimeError(
                f"{function}(): argument '{argument}' (position {position}) is {value}, which "
                "cannot be converted to type float without overflow; give a real number"
            )
        return float(value.real)
    if not isinstance(value, (int, float, np.number, np.bool_)):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Number, not "
            f"{type_name(value)}"
        )
    return float(value)


def option(function: str, value: Any, argument: str, kind: type, position: int = 0) -> None:
    """Raise a TypeError unless a value is of a kind: for functions that nothing checks before."""
    if not isinstance(value, kind):
        where = f" (position {position})" if position else ""
        raise TypeError(
            f"{function}(): argument '{argument}'{where} must be {kind.__name__}, not "
            f"{type_name(value)}"
        )


# --- dtypes ---------------------------------------------------------------------------------------


def refuse_kinds(function: str, value: Tensor, kinds: str, argument: str = "input") -> None:
    """Raise if a tensor is of one of these kinds, which are NumPy's letters."""
    if value._array.dtype.kind in kinds:
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{scalar_type_name(value.dtype)}': argument "
            f"'{argument}' has dtype {value.dtype}, convert it with .to(dtype)"
        )


def require_floats(function: str, **values: Tensor | None) -> None:
    """Raise a RuntimeError for the first tensor that is of no floating dtype."""
    for name, value in values.items():
        if value is not None and value._array.dtype.kind not in "fV":
            raise RuntimeError(
                f"{function}(): argument '{name}' must be of a floating dtype, but it has dtype "
                f"{value.dtype}; convert it with .to(dtype)"
            )


def one_dtype(function: str, input: Tensor, **values: Tensor | None) -> None:
    """Raise a RuntimeError for the first tensor of another dtype than the input."""
    for name, value in values.items():
        if value is not None and value._array.dtype != input._array.dtype:
            raise RuntimeError(
                f"{function}(): argument '{name}' must be of the dtype of the input, "
                f"{input.dtype}, but it has dtype {value.dtype}; convert it with .to(dtype)"
            )


def not_differentiable(function: str, name: str) -> RuntimeError:
    """The error for an argument that requires grad, though torch has no derivative for it."""
    return RuntimeError(
        f"The function '{function}' is not differentiable with respect to argument '{name}'. This "
        "input cannot have requires_grad True."
    )


# --- shapes ---------------------------------------------------------------------------------------


def require_vector(function: str, size: int, **values: Tensor | None) -> None:
    """Raise a RuntimeError for the first tensor that is no vector of ``size`` elements."""
    for name, value in values.items():
        if value is not None and value._array.shape != (size,):
            raise RuntimeError(
                f"{function}(): argument '{name}' should contain {size} elements in one dimension, "
                f"one for each channel, but it has shape {list(value._array.shape)}"
            )


def require_elements(function: str, input: Tensor, first: int) -> None:
    """Raise if a dimension from the ``first`` on, of those behind the batch, has no elements."""
    shape = input._array.shape
    if 0 in shape[first:]:
        raise RuntimeError(
            f"{function}(): Expected input to have non-zero size for non-batch dimensions, but got "
            f"input with sizes {list(shape)} with dimension {shape.index(0, first)} being empty"
        )
