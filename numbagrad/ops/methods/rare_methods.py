"""Methods of Tensor that few programs call."""

from __future__ import annotations

import importlib
from typing import Any

from ...dtype import complex128, float64, scalar_type_name
from ...tensor import Tensor
from ..arguments.kinds import Ints
from ..arguments.requirements import require_tensor_or_number
from ..conversion.dtypes import cast
from ..creation.filled import empty_strided
from ..operators.pointwise_operator import pointwise
from .registry import method

__all__: list[str] = []


@method("hardshrink")
def _hardshrink(self: Tensor, lambd: float = 0.5) -> Tensor:
    """The elements outside [-lambd, lambd], zeros for the others."""
    return pointwise("hardshrink")(self, float(lambd))


@method("float_power_")
def _float_power_(self: Tensor, exponent: Any) -> Tensor:
    """``float_power`` written into the tensor, which has to be float64 or complex128.

    Raises:
        RuntimeError: for another dtype.
    """
    require_tensor_or_number("float_power_", exponent, "exponent", 2)
    others = [self, exponent] if isinstance(exponent, Tensor) else [self]
    is_complex = isinstance(exponent, complex) or any([x.is_complex() for x in others])
    needed = complex128 if is_complex else float64
    if self.dtype is not needed:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {scalar_type_name(self.dtype)} but the "
            f"operation's result requires dtype {scalar_type_name(needed)}"
        )
    # In place from the start: a copy of what was computed would change what its node has saved.
    if isinstance(exponent, Tensor):
        return self.pow_(cast(exponent, needed.numpy))
    return self.pow_(complex(exponent) if is_complex else float(exponent))


@method("new_empty_strided")
def _new_empty_strided(
    self: Tensor,
    size: Ints,
    stride: Ints,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of these sizes and strides whose elements are not set, of this one's dtype."""
    return empty_strided(
        size, stride, dtype=self.dtype if dtype is None else dtype, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


@method("__rdiv__")
def _reflected_quotient(self: Tensor, other: Any) -> Any:
    """``other / self``: the method's name in torch of old."""
    return self.__rtruediv__(other)


#: Versions of the array API standard that are in the one that ``numbagrad.array_api`` follows.
_ARRAY_API = ("2021.12", "2022.12", "2023.12", "2024.12")


@method("__array_namespace__")
def _array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """``numbagrad.array_api``, the functions of the Python array API standard.

    Raises:
        ValueError: for a version of the standard that is not known.
    """
    if api_version is not None and api_version not in _ARRAY_API:
        raise ValueError(
            f"api_version {api_version!r} is not known; there are {', '.join(_ARRAY_API)}"
        )
    return importlib.import_module("numbagrad.array_api")


@method("to_device")
def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device, as the array API has it: ``to(device)``.

    Raises:
        ValueError: for a stream, which no device here has.
    """
    if stream is not None:
        raise ValueError(f"to_device(): devices have no streams, but got stream={stream!r}")
    return self.to(device)
