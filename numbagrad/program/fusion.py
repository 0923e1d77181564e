"""Fewer passes over memory: copies forwarded, dead work dropped, pointwise operations in one loop.

``optimise`` takes what a trace noted and returns operations that compute the same. Order is kept
wherever two operations touch the same bytes and one of them writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..executor.plan import cost
from ..executor.plan.operations import Operation, Pointwise, may_raise
from ..executor.plan.views import Memory, Operand, View, overlap
from ..formula import Formula, as_boolean, symbol
from ..formula.expression import Expression, postorder, substitute
from .blocks import apart, recomputed
from .decomposition import with_elements
from .grouping import grouped
from .in_place import written_in_place
from .products import summed, with_epilogues
from .result_aliasing import cut_for_factors
from .rows import (
    COLUMN_TOTAL,
    REDUCTION,
    ROWS,
    TOTAL,
    Computation,
    compute_of,
    placed,
    reduced_space,
    role,
    row_operations,
    row_step,
)
from .simplification import checks_first, forward_copies, in_parts, without_dead, without_fills
from .stacking import stacked
from .tiling import chained

#: The passes by name: each makes operations of operations, and of the memory that stays alive.
_PASSES: dict[str, Callable[[list[Operation], set[Memory]], list[Operation]]] = {
    "elements": lambda operations, alive: with_elements(operations),
    "checks_first": lambda operations, alive: checks_first(operations),
    "fills": lambda operations, alive: without_fills(operations),
    "copies": lambda operations, alive: forward_copies(operations, alive),
    "dead": lambda operations, alive: without_dead(operations, alive),
    "parts": lambda operations, alive: in_parts(operations, alive),
    "sums": lambda operations, alive: summed(operations, alive),
    "loops": lambda operations, alive: fuse(operations, alive),
    "apart": lambda operations, alive: apart(operations, alive),
    "recomputed": lambda operations, alive: recomputed(operations, alive),
    "epilogues": lambda operations, alive: with_epilogues(operations, alive),
    "in_place": lambda operations, alive: written_in_place(operations, alive),
    "chains": lambda operations, alive: chained(operations, alive),
    "stacks": lambda operations, alive: stacked(operations, alive),
    "factors": lambda operations, alive: cut_for_factors(operations, alive),
    "groups": lambda operations, alive: grouped(operations),
}

#: Passes over programs of the CPU; other backends list theirs (``Backend.passes``).
CPU_PASSES = (
    "elements", "checks_first", "fills", "copies", "dead", "parts", "sums", "loops", "dead",
    "apart", "recomputed", "epilogues", "dead", "in_place", "chains", "stacks", "factors",
    "groups",
)  # fmt: skip


def optimise(
    operations: Sequence[Operation], kept: Iterable[Memory], passes: Sequence[str] = CPU_PASSES
) -> list[Operation]:
    """The operations with fewer and larger steps.

    ``kept`` is memory made by them that somebody reads afterwards; what is written to given memory
    always counts as read.
    """
    alive = set(kept)
    remaining = list(operations)
    for name in passes:
        remaining = _PASSES[name](remaining, alive)
    return remaining


# --- loops ----------------------------------------------------------------------------------------


class _Step:
    """One or more operations that will run together.

    Attributes:
        space: the shape that a loop runs over, None for what is no loop. The rows of a space are
            all its dimensions but the last.
        by_rows: whether the loop reduces rows, so that it passes over one after another.
        raises: whether it may raise.
        outside: whether it writes memory that is there before the program.
    """

    def __init__(self, operation: Operation):
        self.members = [operation]
        self.inputs: set[View] = set()
        #: The operands that its operations read and write, by the memory they lie in.
        self.read: dict[Memory, set[View]] = {}
        self.written: dict[Memory, set[View]] = {}
        self.nodes = 0
        self.compute = ""
        self.by_rows = False
        self.raises = may_raise(operation)
        self.outside = False
        self.space: tuple[int, ...] | None = None
        if isinstance(operation, Pointwise):
            self.space = operation.shape
        else:
            self.space = reduced_space(operation)
            self.by_rows = self.space is not None
        if self.space is not None:
            self.compute = compute_of(operation)
        self._note(operation)

    @property
    def loop(self) -> bool:
        """Whether it is a loop that others may join."""
        return self.space is not None

    def _note(self, operation: Operation) -> None:
        self.inputs.update(operation.reads)
        self.nodes += _nodes(operation)
        self.outside = self.outside or _writes_outside(operation)
        for views, known in ((operation.reads, self.read), (operation.writes, self.written)):
            for view in views:
                known.setdefault(view.memory, set()).add(view)

    def join(self, operations: Iterable[Operation], before: bool = False) -> None:
        """Take more operations into the loop, after the present ones or before them."""
        new = list(operations)
        self.members = new + self.members if before else self.members + new
        self.by_rows = self.by_rows or any([not isinstance(x, Pointwise) for x in new])
        for operation in new:
            self._note(operation)

    def conflicts(self, other: _Step) -> bool:
        """Whether the order of this and of another step matters.

        It does if one may raise and the other writes what is there before the program: a run that
        fails leaves behind what the function itself would, no more.
        """
        return (
            (self.raises and other.outside)
            or (self.outside and other.raises)
            or _meet(self.written, other.written)
            or _meet(self.written, other.read)
            or _meet(self.read, other.written)
        )


def _nodes(operation: Operation) -> int:
    if isinstance(operation, Pointwise):
        return len(postorder(operation.formula.outputs))
    return 8


def _meet(views: dict[Memory, set[View]], others: dict[Memory, set[View]]) -> bool:
    """Whether one of some views may share a byte with one of others."""
    return any(
        [
            overlap(view, other)
            for memory in views.keys() & others.keys()
            for view in views[memory]
            for other in others[memory]
        ]
    )


def _writes_outside(operation: Operation) -> bool:
    return not all([view.memory.made for view in operation.writes])


def fuse(operations: list[Operation], kept: set[Memory]) -> list[Operation]:
    """The operations with pointwise ones that can share a loop joined.

    An operation joins the last step it depends on, if that is a loop over the same elements; loops
    that it reads from are moved down to it where nothing in between depends on them; and it joins a
    later loop that reads the same elements anyway.
    """
    steps: list[_Step] = []
    touched: dict[Any, dict[int, _Step]] = {}
    for operation in operations:
        near = _near(operation, touched)
        positions = [k for k, other in enumerate(steps) if id(other) in near]
        step = _Step(operation)
        depends = [k for k in positions if steps[k].conflicts(step)]
        target = _target(steps, operation, depends)
        if target is None:
            target = step
            steps.append(target)
        else:
            target.join([operation])
        if target.loop:
            _pull(steps, target, [steps[k] for k in depends if steps[k] is not target])
        _touch(target, touched)
    emitted: list[Operation] = []
    readers = _readers(steps)
    for k, step in enumerate(steps):
        made = _emit(step, k, readers, kept)
        for each in made:
            each.parts = tuple([member.name for member in step.members])
        emitted += made
    return emitted


#: Stand for a block that is touched by what may raise, and for one by what writes outside.
_RAISES, _OUTSIDE = "raises", "outside"


def _near(operation: Operation, touched: dict[Any, dict[int, _Step]]) -> set[int]:
    """The steps that touch a block that the operation touches, by their ids."""
    keys: list[Any] = [view.memory for view in (*operation.reads, *operation.writes)]
    keys += [_OUTSIDE] * may_raise(operation) + [_RAISES] * _writes_outside(operation)
    return {number for key in keys for number in touched.get(key, ())}


def _touch(step: _Step, touched: dict[Any, dict[int, _Step]]) -> None:
    marks = [_RAISES] * step.raises + [_OUTSIDE] * step.outside
    for key in (*step.read, *step.written, *marks):
        touched.setdefault(key, {})[id(step)] = step


def _target(steps: list[_Step], operation: Operation, depends: list[int]) -> _Step | None:
    """The loop that an operation joins, if any."""
    last = depends[-1] if depends else -1
    if last >= 0 and _fits(steps[last], [operation]):
        return steps[last]
    read = {view for view in operation.reads if view.size > 1}
    for step in reversed(steps[last + 1 :]):
        if step.loop and read & step.inputs and _fits(step, [operation]):
            return step
    return None


def _pull(steps: list[_Step], target: _Step, candidates: list[_Step]) -> None:
    """Move loops that ``target`` depends on down into it, where that changes no order."""
    for step in reversed(candidates):
        if not step.loop:
            continue
        at, end = steps.index(step), steps.index(target)
        if at > end or not _fits(target, step.members, before=True):
            continue
        if any([between.conflicts(step) for between in steps[at + 1 : end]]):
            continue
        target.join(step.members, before=True)
        steps.remove(step)


def _fits(step: _Step, operations: Sequence[Operation], before: bool = False) -> bool:
    """Whether operations can run in the loop of a step, element by element or row by row."""
    space = step.space
    if space is None:
        return False
    nodes = step.nodes
    by_rows = step.by_rows
    for operation in operations:
        found = role(operation, space)
        if found is None or compute_of(operation) != step.compute:
            return False
        by_rows = by_rows or found in (REDUCTION, TOTAL, COLUMN_TOTAL)
        if found == ROWS and not by_rows:
            return False
        nodes += _nodes(operation)
    members = [*operations, *step.members] if before else [*step.members, *operations]
    made = {view.memory for member in members for view in member.writes}
    inputs = {view for member in members for view in member.reads if view.memory not in made}
    if nodes > cost.model.nodes or len(inputs) > cost.model.streams:
        return False
    for mine in step.members:
        for other in operations:
            earlier, later = (other, mine) if before else (mine, other)
            if not _in_place(earlier, later, space, step.compute):
                return False
    return not by_rows or _by_rows(members, space)


def _in_place(a: Operation, b: Operation, space: tuple[int, ...], compute: str) -> bool:
    """Whether ``b`` needs of ``a`` only the element, or the row, that it is at itself."""
    for written in a.writes:
        for view in (*b.reads, *b.writes):
            if overlap(written, view):
                if placed(b, view, space) != placed(a, written, space):
                    return False
                if written.dtype.name not in (compute, "bool"):
                    return False
    for read in a.reads:
        for written in b.writes:
            if overlap(read, written) and placed(a, read, space) != placed(b, written, space):
                return False
    return True


def _by_rows(members: Sequence[Operation], space: tuple[int, ...]) -> bool:
    """Whether operations can run row by row: rows follow each other, and no input is overwritten.

    A row loop may read an input again after it has stored an output.
    """
    made: list[View] = []
    read: list[View] = []
    for member in members:
        total = role(member, space) in (TOTAL, COLUMN_TOTAL)
        used = [placed(member, view, space) for view in member.reads]
        written = [] if total else [placed(member, view, space) for view in member.writes]
        if None in [row_step(view) for view in (*used, *written)]:
            return False
        known = set(made)
        read += [view for view in used if view not in known]
        made += written
    return not any([overlap(a, b) for a in read for b in made])


def _readers(steps: Sequence[_Step]) -> dict[Memory, list[tuple[int, View]]]:
    """Which steps, by their number, read a block of memory, and what of it."""
    readers: dict[Memory, list[tuple[int, View]]] = {}
    for k, step in enumerate(steps):
        for memory, views in step.read.items():
            readers.setdefault(memory, []).extend([(k, view) for view in views])
    return readers


def _emit(
    step: _Step, at: int, readers: dict[Memory, list[tuple[int, View]]], kept: set[Memory]
) -> list[Operation]:
    """The operations of the step with number ``at``."""
    if len(step.members) == 1:
        return step.members
    space = step.space
    assert space is not None
    computation = Computation(space, step.compute)
    for member in step.members:
        if isinstance(member, Pointwise):
            _add_pointwise(computation, member)
        else:
            computation.add(member)
    stored = [v for v in computation.values if _is_needed(v, at, readers, kept)]
    name = "_".join(_names(step))
    if step.by_rows:
        return row_operations(name, computation, stored)
    if not stored:
        return []
    inputs = computation.inputs
    names = [name for name, _ in inputs.values()]
    formula = Formula(names, [computation.values[view] for view in stored])
    operands = {name: (operand, number) for (operand, _), (name, number) in inputs.items()}
    used = [name for name in formula.inputs if name in formula.uses]
    order = {old: f"x{k}" for k, old in enumerate(used)}
    formula = formula.substitute(
        {old: symbol(new) for old, new in order.items()}, list(order.values())
    )
    fused = Pointwise(
        name,
        formula,
        tuple([operands[name][0] for name in used]),
        tuple(stored),
        step.compute,
        tuple([operands[name][1] for name in used]),
    )
    return [fused]


def _add_pointwise(computation: Computation, operation: Pointwise) -> None:
    """Take the formula of an operation into a loop."""
    replacements: dict[str, Expression] = {}
    formula = operation.formula
    for name, operand, number in zip(
        formula.inputs, operation.operands, operation.numbers, strict=True
    ):
        boolean = name in formula.booleans
        key: Operand = operand
        if isinstance(operand, View):
            key = placed(operation, operand, computation.space)
            if key in computation.values:
                value = computation.values[key]
                replacements[name] = as_boolean(value) if boolean else value
                continue
        replacements[name] = computation.input(key, boolean, number)
    made = substitute(formula.outputs, replacements)
    for view, value in zip(operation.outputs, made, strict=True):
        computation.values[placed(operation, view, computation.space)] = value


def _names(step: _Step) -> Iterator[str]:
    for member in step.members[:6]:
        yield member.name
    if len(step.members) > 6:
        yield "etc"


def _is_needed(
    view: View, at: int, readers: dict[Memory, list[tuple[int, View]]], kept: set[Memory]
) -> bool:
    """Whether what a loop, the step with number ``at``, computes for a view is read after it."""
    if not view.memory.made or view.memory in kept:
        return True
    found = readers.get(view.memory, ())
    return any([k > at and overlap(view, read) for k, read in found])


__all__ = ["fuse", "optimise", "without_dead"]
