"""Costs of operations of programs, by definition: arithmetic, and memory read and written.

For people and for ratios: ``explanation.py`` prints these numbers, ``program/profiling.py``
divides them by time. Elementary functions count as one operation, though a kernel does more.
"""

from __future__ import annotations

from collections import Counter

from ..executor.plan.operations import (
    Call,
    Check,
    Kernel,
    Opaque,
    Operation,
    Pointwise,
    Product,
    Reduce,
    RowLoop,
    Rowwise,
)
from ..formula.expression import postorder
from .bundles import Chain, Group

_FREE = frozenset(("input", "constant", "cast"))


def flops(operation: Operation) -> int | None:
    """Arithmetic operations of one run; None where no formula says, as for a user's function."""
    if isinstance(operation, Product):
        work = 2 * operation.c.size * operation.a.shape[-1] * len(operation.terms)
        return work + (0 if operation.epilogue is None else flops(operation.epilogue) or 0)
    if isinstance(operation, Pointwise):
        return operation.outputs[0].size * _nodes(operation.formula.outputs)
    if isinstance(operation, RowLoop):
        reduced = [value for _, _, value in operation.reductions]
        summed = [total.value for total in operation.totals]
        written = [value for view, value in operation.outputs if view.strides[-1] != 0]
        combined = len(reduced) + len(summed)
        return operation.elements * (_nodes([*reduced, *summed, *written]) + combined)
    if isinstance(operation, Reduce):
        mapped, _ = operation.program.formulas
        return operation.source.size * (1 + (0 if mapped is None else _nodes(mapped.outputs)))
    if isinstance(operation, Rowwise):
        return operation.inputs[0].size * len(operation.inputs)
    if isinstance(operation, Chain):
        times = operation.units * operation.tiles
        every, last = (
            sum([flops(member) or 0 for member in members])
            for members in (operation.members, operation.shorter or operation.members)
        )
        return (times - 1) * every + last
    if isinstance(operation, Group):
        return sum([flops(member) or 0 for member in operation.members])
    assert isinstance(operation, (Call, Check, Kernel, Opaque)), operation
    return None


def _nodes(expressions: object) -> int:
    return len([x for x in postorder(expressions) if x.operation not in _FREE])  # type: ignore[arg-type]


def space(operation: Operation) -> str:
    """The sizes of an operation, as text: ``64×10``, or ``64×100, 100×10 -> 64×10``."""
    if isinstance(operation, RowLoop):
        return _sizes(operation.space)
    if isinstance(operation, Pointwise):
        return _sizes(operation.shape)
    if isinstance(operation, Product):
        a, b, c = (_sizes(view.shape) for view in (operation.a, operation.b, operation.c))
        times = len(operation.terms)
        return f"{a}, {b} -> {c}" if times == 1 else f"{times} times {a}, {b} -> {c}"
    if isinstance(operation, Group):
        spaces = Counter([space(member) for member in operation.members])
        return "; ".join([f"{count} times {each}" for each, count in spaces.items()])
    if isinstance(operation, Chain):
        return f"{operation.units} × {operation.tiles} tiles of {operation.rows} rows"
    read = [_sizes(view.shape) for view in operation.reads]
    written = ", ".join([_sizes(view.shape) for view in operation.writes])
    return f"{', '.join(read[:4])} -> {written}"


def _sizes(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "one element"


__all__ = ["flops", "space"]
