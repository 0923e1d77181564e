"""``ReduceOp``: how a collective joins the elements of several ranks, and which dtypes have it."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

__all__ = ["ReduceOp", "check_reduction"]


class ReduceOp(enum.Enum):
    """How elements of several ranks become one.

    ``AVG`` is the sum divided by the number of ranks, for floating point and complex elements;
    ``BAND``, ``BOR`` and ``BXOR`` are for integers and bool. Of bool, ``SUM`` and ``MAX`` are "or",
    ``PRODUCT`` and ``MIN`` are "and".
    """

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


#: torch's enumeration inside its class; here the class is one.
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]

_BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
_ORDERED = (ReduceOp.MIN, ReduceOp.MAX)


def check_reduction(function: str, kind: np.dtype[Any], op: Any) -> None:
    """Raise unless elements of a dtype can be joined by ``op``.

    Raises:
        TypeError: if ``op`` is no ``ReduceOp``.
        RuntimeError: for bits of floats, an order of complex numbers, an average of integers.
    """
    if not isinstance(op, ReduceOp):
        raise TypeError(
            f"{function}(): op has to be one of torch.distributed.ReduceOp, got {type(op).__name__}"
        )
    if op in _BITWISE and kind.kind in "fcV":
        raise RuntimeError(f"{function}(): cannot use ReduceOp.{op.name} with elements of {kind}")
    if op in _ORDERED and kind.kind == "c":
        raise RuntimeError(f"{function}(): {op.name} is not there for complex tensors")
    if op is ReduceOp.AVG and kind.kind not in "fcV":
        raise RuntimeError(
            f"{function}(): ReduceOp.AVG of integers would round; use SUM, and divide"
        )
