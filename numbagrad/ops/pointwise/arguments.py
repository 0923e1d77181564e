"""Torch's checks of factors, rounding modes and ``out`` of pointwise functions.

``functions.py`` and ``writing/inplace.py`` ask here for arguments other than the common ones; which
operands have to be Tensors is in ``arguments/operand_kinds.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ...type_names import type_name
from ..arguments.requirements import is_complex_number

__all__: list[str] = []

#: Functions that have no ``out`` in torch.
WITHOUT_OUT = frozenset("isfinite isinf isnan relu".split())

#: Functions whose ``out`` is of bools, and those whose ``out`` has the dtype of the result.
_BOOL_OUT = frozenset("isneginf isposinf signbit".split())
SAME_OUT = frozenset(
    (
        "abs bitwise_not ceil clamp clamp_max clamp_min floor frac heaviside lerp nan_to_num neg "
        "round round_decimals sgn sign trunc"
    ).split()
)


def check_out_dtype(name: str, operands: tuple[Any, ...], out: Tensor) -> None:
    """Raise torch's errors for an ``out`` of another dtype than these functions write."""
    if name in _BOOL_OUT and out._array.dtype.kind != "b":
        raise RuntimeError(f"{name}() does not support non-boolean outputs; got {out.dtype}")


def check_same_dtype(name: str, operands: tuple[Any, ...], result: Tensor, out: Tensor) -> None:
    """Raise a RuntimeError unless ``out`` has the dtype of the result.

    An absolute value of complex numbers may be of any real dtype.
    """
    of_parts = operands[0].dtype.is_complex and not result.dtype.is_complex
    if result.dtype is not out.dtype and not of_parts:
        raise RuntimeError(f"{name}(): expected out of dtype {result.dtype}, but found {out.dtype}")


def _kind_of(operand: Any) -> str:
    """NumPy's letter of a Tensor or number."""
    if isinstance(operand, Tensor):
        return operand._array.dtype.kind
    return np.asarray(operand).dtype.kind


def check_alpha(function: str, alpha: Any, *operands: Any) -> None:
    """Raise torch's errors for a factor that the operands do not take.

    Raises:
        TypeError: for what is no number.
        RuntimeError: for a bool, unless the result is of bools.
    """
    if isinstance(alpha, Tensor):
        scalar = alpha._array.ndim == 0 and not alpha._requires_grad
    else:
        scalar = isinstance(alpha, (bool, int, float, complex, np.generic))
    if not scalar:
        raise TypeError(f"{function}(): argument 'alpha' must be Number, not {type_name(alpha)}")
    if is_complex_number(alpha) and all([_kind_of(x) != "c" for x in operands]):
        raise RuntimeError(
            f"{function}(): For non-complex input tensors, argument alpha must not be a complex "
            f"number, but got {alpha}"
        )
    if isinstance(alpha, bool) and any([_kind_of(x) != "b" for x in operands]):
        raise RuntimeError(
            f"{function}(): Boolean alpha only supported for Boolean results; give 0 or 1"
        )


def check_value(function: str, value: Any, *operands: Any) -> None:
    """Raise torch's error for a complex factor of operands that are not complex."""
    if is_complex_number(value) and all([_kind_of(x) != "c" for x in operands]):
        raise RuntimeError(
            f"{function}(): value cannot be converted to type float without overflow: argument "
            "'value' is a complex number; give a real one"
        )


def not_a_rounding(function: str, rounding_mode: Any) -> Exception:
    """The error of a ``rounding_mode`` that there is not."""
    if not isinstance(rounding_mode, str):
        return TypeError(
            f"{function}(): argument 'rounding_mode' must be str, not {type_name(rounding_mode)}"
        )
    return RuntimeError(
        f"{function} expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"'{rounding_mode}'"
    )
