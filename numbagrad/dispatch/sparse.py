"""Sparse Tensors: operators and public functions that know them are others, of ``sparse/``.

A launcher says no to what is no ndarray, so nothing asks before a call: ``call`` is a layer of
``descent.py``, and a public function that meets a sparse Tensor before its operator does has raised
``SparseRead`` when it looks here (``ops/arguments/check.py``). The tables are filled by
``sparse/members.py``, which is imported before there are such Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from ..tensor.sparse_array import SparseArray, SparseRead, could_not_run

if TYPE_CHECKING:
    from ..ops.operators.base import Operator

__all__ = ["FUNCTIONS", "OPERATORS", "WRITES", "are_among", "call", "write"]

#: By the name of a public function what computes it where there are sparse Tensors.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
#: The same by the name of an operator, called with its arguments.
OPERATORS: dict[str, Callable[..., Any]] = {}
#: By the name of an operator what writes its result into a Tensor, called with that before.
WRITES: dict[str, Callable[..., Any]] = {}


def are_among(values: Sequence[Any]) -> bool:
    """Whether one of the Tensors among some values is sparse."""
    return any([isinstance(x, Tensor) and x._array.__class__ is SparseArray for x in values])


def write(operator: Operator, output: Tensor, operands: Sequence[Any]) -> None:
    """The operator in place, unrecorded, where the output or an operand is sparse."""
    function = WRITES.get(operator.name)
    if function is None:
        raise _refused(operator.name, (output, *operands))
    function(output, *operands)


def _refused(name: str, arguments: Sequence[Any]) -> SparseRead:
    flat = [x for item in arguments for x in (item if item.__class__ is list else [item])]
    found = next(x for x in flat if isinstance(x, Tensor) and x._array.__class__ is SparseArray)
    return could_not_run(found._array, name)


def call(operator: Operator, arguments: Sequence[Any], arrays: list[Any]) -> Any:
    """The operator on Tensors of which some are sparse.

    Raises:
        SparseRead: torch's error, for one that knows no such Tensors.
    """
    function = OPERATORS.get(operator.name)
    if function is None:
        raise _refused(operator.name, arguments)
    return function(*arguments)
