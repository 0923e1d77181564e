"""Arrays and arguments as a trace sees them: where they lie, and what joins are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..backend import is_array
from ..executor.plan.operations import (
    Array,
)
from .input_numbers import is_given

#: Operators that only copy their first argument, in C order.
COPIES = frozenset(("clone", "unsafe_view"))


def _parts_of_cat(made: Array, dim: int, arrays: list[Array]) -> list[tuple[Array, Array]]:
    parts, start = [], 0
    dim %= made.ndim
    before = (slice(None),) * dim
    for array in arrays:
        if array.shape != (0,) or made.ndim == 1:
            end = start + array.shape[dim]
            parts.append((array, made[before + (slice(start, end),)]))
            start = end
    return parts


def _parts_of_stack(made: Array, dim: int, arrays: list[Array]) -> list[tuple[Array, Array]]:
    before: tuple[Any, ...] = (slice(None),) * (dim % made.ndim)
    # The ellipsis keeps the part of a vector an array, where NumPy would make a number of it.
    return [(x, made[before + (k, ...)]) for k, x in enumerate(arrays)]


#: Operators that only copy arrays into the parts of a new one: pairs of array and part.
PARTS = {"cat": _parts_of_cat, "stack": _parts_of_stack}


def plain(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands with plain numbers in the place of those that a program is given."""
    return tuple([x.plain() if is_given(x) else x for x in operands])


def launched(program: Any, operands: tuple[Any, ...], into: bool) -> Any:
    return (program.write if into else program.run)(*operands)


def name_of(function: Any) -> str:
    inner = getattr(function, "func", function)  # of a partial function
    return getattr(inner, "__name__", type(inner).__name__)


def returned(outputs: tuple[Array, ...], into: bool) -> Any:
    """The result of a pointwise call with these outputs."""
    if into:
        return None
    return outputs if len(outputs) > 1 else outputs[0]


def concrete(value: Any) -> Any:
    """A number as the constant it is for this program."""
    return value.concrete() if is_given(value) else value


def root_of(array: Array) -> Array:
    """The ndarray that owns the memory of an array, or the last one before foreign memory."""
    root = array
    base: Any = array.base
    while base is not None:
        if is_array(base):
            root = base
        base = getattr(base, "base", None)  # what stands between a strided view and its array
    return root


def arrays_in(value: Any) -> Iterator[Array]:
    """The arrays among arguments, which may be nested in lists and tuples."""
    if is_array(value):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from arrays_in(each)
