"""Blocks of a program made smaller: what is used in parts, and what is cheaper to compute twice.

``fusion.optimise`` calls both when loops are fused. ``apart`` gives each part of a block that is
only ever used in parts a block of its own; ``recomputed`` has readers far away compute a value
again instead of keeping it for them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..executor.plan import cost
from ..executor.plan.forms import contiguous
from ..executor.plan.operations import Operation, Pointwise, Product, Reduce, Rowwise, with_views
from ..executor.plan.views import Memory, View, overlap
from ..formula import Expression, Formula, symbol
from ..formula.expression import substitute
from .index import OperationIndex


def apart(operations: Sequence[Operation], kept: set[Memory]) -> list[Operation]:
    """The operations with a block for each part of one that nobody uses as a whole."""
    used: dict[Memory, set[View]] = {}
    whole: set[Memory] = set(kept)
    for operation in operations:
        simple = isinstance(operation, (Pointwise, Product, Reduce, Rowwise))
        # What is read before it is written was made by another program.
        whole.update([x.memory for x in operation.reads if x not in used.get(x.memory, ())])
        for view in (*operation.reads, *operation.writes):
            used.setdefault(view.memory, set()).add(view)
            if not (simple and view.memory.made):
                whole.add(view.memory)
    replaced: dict[View, View] = {}
    for memory, views in used.items():
        if memory not in whole:
            replaced.update(_own_blocks(memory, list(views)))
    if not replaced:
        return list(operations)
    return [with_views(x, lambda view: replaced.get(view, view)) for x in operations]


def _own_blocks(memory: Memory, views: list[View]) -> dict[View, View]:
    """Blocks for the views of one, if they overlap nowhere and leave some of it unused."""
    size = sum([view.size * view.dtype.itemsize for view in views])
    if size >= memory.nbytes or any([0 in view.strides or view.size == 0 for view in views]):
        return {}
    if any([overlap(view, other) for k, view in enumerate(views) for other in views[:k]]):
        return {}
    return {view: _dense(view) for view in views}


def _dense(view: View) -> View:
    """A new block for the elements of a view, in C order."""
    memory = Memory.scratch(view.size * view.dtype.itemsize)
    return View(memory, 0, *contiguous(view.shape, view.dtype))


# --- what is computed again -----------------------------------------------------------------------

_CHEAP = frozenset(("add", "sub", "mul", "neg"))


def recomputed(operations: Sequence[Operation], kept: set[Memory]) -> list[Operation]:
    """The operations with cheap values computed by readers far away, from what these keep anyway.

    As in a recurrence, where backward reads a difference and, besides, both that it is made of.
    """
    index = OperationIndex(operations)
    for at, operation in enumerate(operations):
        if isinstance(operation, Pointwise) and len(operation.outputs) > 1:
            for output in operation.outputs:
                _compute_again(index, at, output, kept)
    return index.remaining()


def _compute_again(index: OperationIndex, at: int, output: View, kept: set[Memory]) -> None:
    """Do without an output of the loop at a place, if its readers can compute it."""
    maker, memory = index.operations[at], output.memory
    assert isinstance(maker, Pointwise)
    if not memory.made or memory in kept or index.writers(memory) != [at]:
        return
    number, readers = maker.outputs.index(output), index.readers(memory)
    if not readers or readers[0] - at < cost.model.far or len(maker.outputs) == 1:
        return
    for k in readers:
        reader = index.operations[k]
        if not isinstance(reader, Pointwise) or not _reads_only(reader, output, maker):
            return
    found = _Cheap(maker, number)
    if found.value is None:
        return
    for leaf in found.leaves.values():
        if not _stays(index, leaf, at, readers, kept):
            return
    outputs = [x for k, x in enumerate(maker.outputs) if k != number]
    results = [x for k, x in enumerate(maker.formula.outputs) if k != number]
    _put(index, at, maker, Formula(maker.formula.inputs, results), outputs=tuple(outputs))
    for k in readers:
        reader = index.operations[k]
        assert isinstance(reader, Pointwise)
        _read_leaves(index, k, reader, output, found)


def _put(
    index: OperationIndex,
    at: int,
    before: Pointwise,
    formula: Formula,
    **changes: tuple[object, ...],
) -> None:
    made = dataclasses.replace(before, formula=formula, **changes)  # type: ignore[arg-type]
    made.parts = before.parts
    index.put(at, made)


def _reads_only(reader: Pointwise, output: View, maker: Pointwise) -> bool:
    """Whether a loop over the same elements reads an output of another as it was stored."""
    same = reader.shape == maker.shape and reader.compute == maker.compute == output.dtype.name
    names = [
        name
        for name, x in zip(reader.formula.inputs, reader.operands, strict=True)
        if isinstance(x, View) and x == output
    ]
    whole = all([x == output for x in reader.reads if x.memory is output.memory])
    return same and whole and not set(names) & reader.formula.booleans


class _Cheap:
    """An output of a loop in terms of its inputs and of what it stores besides.

    Attributes:
        value: the expression, None if there is none that is cheap.
        leaves: the view of each variable in it.
    """

    def __init__(self, maker: Pointwise, number: int):
        outputs = maker.formula.outputs
        self._stored = {
            id(x): view
            for k, (x, view) in enumerate(zip(outputs, maker.outputs, strict=True))
            if k != number and view.dtype.name == maker.compute and x.operation != "input"
        }
        self._inputs = {
            name: x
            for name, x in zip(maker.formula.inputs, maker.operands, strict=True)
            if isinstance(x, View) and x.dtype.name == maker.compute
            and name not in maker.formula.booleans and x.expanded(maker.shape) == x
            and not any([overlap(x, written) for written in maker.outputs])
        }  # fmt: skip
        self.leaves: dict[str, View] = {}
        self._steps = 0
        self.value = self._of(outputs[number])

    def _of(self, node: Expression) -> Expression | None:
        view = self._stored.get(id(node))
        if node.operation == "input":
            view = self._inputs.get(node.value)
            if view is None:
                return None
        if view is not None:
            name = f"kept{[*self.leaves.values(), view].index(view)}"
            self.leaves[name] = view
            return symbol(name)
        self._steps += 1
        if node.operation not in _CHEAP or self._steps > cost.model.recompute:
            return None
        operands = [self._of(x) for x in node.operands]
        known = tuple([x for x in operands if x is not None])
        if len(known) < len(operands):
            return None
        return Expression(node.operation, known, node.value)


def _stays(
    index: OperationIndex, leaf: View, at: int, readers: list[int], kept: set[Memory]
) -> bool:
    """Whether a view holds what it held in the loop at a place until the last of the readers."""
    last = readers[-1]
    needed = not leaf.memory.made or leaf.memory in kept
    if not needed and max(index.readers(leaf.memory), default=-1) < last:
        return False
    return not index.written([leaf], at, last + 1)


def _read_leaves(
    index: OperationIndex, at: int, reader: Pointwise, output: View, found: _Cheap
) -> None:
    """Have a loop compute a value from what it is made of."""
    formula, value = reader.formula, found.value
    assert value is not None
    names, operands, numbers = list(formula.inputs), list(reader.operands), list(reader.numbers)
    known: dict[str, Expression] = {}
    for leaf, view in found.leaves.items():
        same = [
            name
            for name, x in zip(names, operands, strict=True)
            if x == view and name not in formula.booleans
        ]
        if not same:
            same = [f"again{len(names)}"]
            names.append(same[0])
            operands.append(view)
            numbers.append(None)
        known[leaf] = symbol(same[0])
    (again,) = substitute((value,), known)
    replaced = [name for name, x in zip(names, operands, strict=True) if x == output]
    left = [k for k, name in enumerate(names) if name not in replaced]
    formula = formula.substitute(dict.fromkeys(replaced, again), [names[k] for k in left])
    _put(
        index, at, reader, formula,
        operands=tuple([operands[k] for k in left]), numbers=tuple([numbers[k] for k in left]),
    )  # fmt: skip


__all__ = ["apart", "recomputed"]
