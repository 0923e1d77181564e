"""Complex operands: another operator takes the place of one whose forward knows none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..ops.operators.base import Operator

__all__ = ["call"]


def call(operator: Operator, arguments: Sequence[Any], arrays: list[Any]) -> Any:
    """The operator for complex operands of these kinds.

    Raises:
        NotImplementedError: if it has no meaning for complex numbers.
    """
    return operator.variant(arguments).compute(arguments)
