"""Methods of Tensor that few programs call."""

from __future__ import annotations

from typing import Any

from ..executor.pointwise import scalar_type_name
from ..tensor import Tensor
from .creation import empty_strided
from .functions import float_power
from .inplace import copy_
from .operator import pointwise
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
    made = float_power(self, exponent)
    if made.dtype is not self.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {scalar_type_name(self.dtype)} but the "
            f"operation's result requires dtype {scalar_type_name(made.dtype)}"
        )
    return copy_(self, made)


@method("new_empty_strided")
def _new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
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
