"""Half precision: forwards that do not know float16 and bfloat16 get float32.

Their results are rounded once, to the dtype that the operator says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..executor.families.conversion import has_half, widened
from .bits import HALF

if TYPE_CHECKING:
    from ..ops.operators.base import Operator

__all__ = ["call", "computed"]


def call(operator: Operator, arguments: Sequence[Any], arrays: list[Any]) -> Any:
    """The operator with its forward in float32; its node keeps the operands as they are."""
    return operator.finish(_in_float32(operator, arrays), arguments)


def computed(operator: Operator, arrays: list[Any]) -> Any:
    """The results of the forward of an operator, computed in float32 if they have to be."""
    if operator.layers & HALF and has_half(arrays):
        return _in_float32(operator, arrays)
    return operator.run(arrays)


def _in_float32(operator: Operator, arrays: list[Any]) -> Any:
    return operator.rounded(operator.run([widened(x) for x in arrays]), arrays)
