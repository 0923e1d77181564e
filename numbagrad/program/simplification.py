"""Fewer operations for the same result: checks first, and nothing dead, filled or only copied.

``fusion.py`` calls these before it joins operations into loops. An operation whose operands are
parts of what others wrote as a whole is given those parts.
"""

from __future__ import annotations

import dataclasses

from ..dtype import from_numpy as dtype_of
from ..executor.plan.operations import (
    Call,
    Check,
    Operation,
    Pointwise,
    is_check,
    may_raise,
    renamed,
)
from ..executor.plan.views import Memory, View, covers, overlap
from ..formula import constant
from ..formula.expression import Expression


def checks_first(operations: list[Operation]) -> list[Operation]:
    """The operations with the checks of what no operation before them writes at the front."""
    written: set[Memory] = set()
    checks: list[Operation] = []
    rest: list[Operation] = []
    for operation in operations:
        early = is_check(operation) and not any([v.memory in written for v in operation.reads])
        if early and any([_asks_the_same(operation, other) for other in checks]):
            continue
        (checks if early else rest).append(operation)
        written.update([view.memory for view in operation.writes])
    checks.sort(key=lambda check: isinstance(check, Check))  # those in Python are called before
    return checks + rest


def _asks_the_same(check: Operation, other: Operation) -> bool:
    if isinstance(check, Call) and isinstance(other, Call):
        return check.function is other.function and check.arguments == other.arguments
    if isinstance(check, Check) and isinstance(other, Check):
        return check.kernel is other.kernel and check.args == other.args
    return False


def without_dead(operations: list[Operation], kept: set[Memory]) -> list[Operation]:
    """The operations but those whose results nobody reads, and that cannot raise."""
    needed = set(kept)
    found: list[Operation] = []
    for operation in reversed(operations):
        wanted = [v for v in operation.writes if not v.memory.made or v.memory in needed]
        if not (wanted or may_raise(operation)):
            continue
        found.append(operation)
        needed.update([view.memory for view in operation.reads])
    found.reverse()
    return found


#: Numbers that a formula may know: others are passed to the kernel, which serves them all.
_KNOWN_NUMBERS = (0.0, 1.0, -1.0)


def without_fills(operations: list[Operation]) -> list[Operation]:
    """Pointwise operations that read memory of one known number take the number instead."""
    writes: dict[Memory, int] = {}
    for operation in operations:
        for memory in {view.memory for view in operation.writes}:
            writes[memory] = writes.get(memory, 0) + 1
    filled: dict[Memory, float] = {}
    found: list[Operation] = []
    for operation in operations:
        if isinstance(operation, Pointwise):
            if any([isinstance(x, View) and x.memory in filled for x in operation.operands]):
                operation = _with_numbers(operation, filled)
            (target, *more), (result, *_) = operation.outputs, operation.formula.outputs
            once = target.memory.made and writes[target.memory] == 1 and not more
            if once and result.operation == "constant" and covers(target):
                filled[target.memory] = result.value
        found.append(operation)
    return found


def _with_numbers(operation: Pointwise, filled: dict[Memory, float]) -> Pointwise:
    """The operation with numbers for the operands that are filled with one."""
    formula = operation.formula
    operands, numbers = list(operation.operands), list(operation.numbers)
    known: dict[str, Expression] = {}
    for k, (name, x) in enumerate(zip(formula.inputs, operation.operands, strict=True)):
        if not isinstance(x, View) or x.memory not in filled or dtype_of(x.dtype).is_half:
            continue
        value = filled[x.memory]
        operands[k], numbers[k] = value, dtype_of(x.dtype).name
        exact = x.dtype.name == operation.compute and name not in formula.booleans
        if exact and isinstance(value, float) and value in _KNOWN_NUMBERS:
            known[name] = constant(value)
    kept = [k for k, name in enumerate(formula.inputs) if name not in known]
    if known:
        formula = formula.substitute(known, [formula.inputs[k] for k in kept])
    return dataclasses.replace(
        operation,
        formula=formula,
        operands=tuple([operands[k] for k in kept]),
        numbers=tuple([numbers[k] for k in kept]),
    )


def _is_copy(operation: Operation) -> bool:
    if not isinstance(operation, Pointwise):
        return False
    if len(operation.operands) != 1 or len(operation.outputs) != 1:
        return False
    source, target = operation.operands[0], operation.outputs[0]
    return (
        operation.formula.outputs[0].operation == "input"
        and isinstance(source, View)
        and source.dtype == target.dtype
        and (source.shape, source.strides) == (target.shape, target.strides)
    )


def forward_copies(operations: list[Operation], kept: set[Memory]) -> list[Operation]:
    """Without copies of whole blocks where the original could be used, or made in place.

    The two blocks become one if neither is written after the copy, or if the original is not used
    any more; and if nobody used the new block before.
    """
    names: dict[Memory, Memory] = {}
    dropped = set()
    first: dict[Memory, int] = {}  # the first operation that touches a block
    for at, operation in enumerate(operations):
        for view in (*operation.reads, *operation.writes):
            first.setdefault(view.memory, at)
    for at, operation in enumerate(operations):
        if not _is_copy(operation):
            continue
        assert isinstance(operation, Pointwise)
        source, target = operation.operands[0], operation.outputs[0]
        assert isinstance(source, View)
        old, new = _name(source.memory, names), _name(target.memory, names)
        if not (old.made and new.made and covers(source) and covers(target)):
            continue
        if (old in kept and new in kept) or first[new] < at:
            continue
        later = operations[at + 1 :]
        read = old in kept or any([_name(v.memory, names) is old for o in later for v in o.reads])
        written = any([_name(v.memory, names) in (old, new) for o in later for v in o.writes])
        if read and written:
            continue
        # The block that is kept stays; its array says how it lies.
        if old in kept:
            names[new] = old
        else:
            names[old], first[new] = new, first[old]
        dropped.add(at)
    if not dropped:
        return operations
    return [
        renamed(operation, lambda memory: _name(memory, names))
        for at, operation in enumerate(operations)
        if at not in dropped
    ]


def _name(memory: Memory, names: dict[Memory, Memory]) -> Memory:
    while memory in names:
        memory = names[memory]
    return memory


def in_parts(operations: list[Operation], kept: set[Memory]) -> list[Operation]:
    """Pointwise operations whose result is read in parts, as by ``chunk``, made part by part.

    So each part can join the loop that reads it.
    """
    readers: dict[Memory, list[tuple[Operation, View]]] = {}
    writers: dict[Memory, int] = {}
    for operation in operations:
        for view in operation.reads:
            readers.setdefault(view.memory, []).append((operation, view))
        for view in operation.writes:
            writers[view.memory] = writers.get(view.memory, 0) + 1
    found: list[Operation] = []
    for operation in operations:
        parts: list[Operation] | None = None
        if isinstance(operation, Pointwise) and len(operation.outputs) == 1:
            memory = operation.outputs[0].memory
            if memory.made and memory not in kept and writers[memory] == 1:
                parts = _parts_of(operation, readers.get(memory, []))
        found += [operation] if parts is None else parts
    return found


def _parts_of(
    operation: Pointwise, readers: list[tuple[Operation, View]]
) -> list[Operation] | None:
    """The operation as one for each part that others read, or None if there is no need."""
    output = operation.outputs[0]
    views = list(dict.fromkeys([view for _, view in readers]))
    plain = all([isinstance(reader, Pointwise) for reader, _ in readers])
    if len(views) < 2 or not plain or not output.contiguous:
        return None
    made: list[Operation] = []
    for k, view in enumerate(views):
        start = _start_of(view, output)
        if start is None or any([overlap(view, other) for other in views[:k]]):
            return None
        operands = tuple(
            [
                _part(x.expanded(output.shape), start, view.shape) if isinstance(x, View) else x
                for x in operation.operands
            ]
        )
        made.append(dataclasses.replace(operation, operands=operands, outputs=(view,)))
    return made


def _start_of(view: View, whole: View) -> tuple[int, ...] | None:
    """The index of the first element of a part with all dimensions of the whole, or None."""
    if len(view.shape) != len(whole.shape) or view.dtype != whole.dtype or view.size == 0:
        return None
    rest, start = view.offset - whole.offset, []
    for size, length, step, own in zip(
        view.shape, whole.shape, whole.strides, view.strides, strict=True
    ):
        position, rest = divmod(rest, step) if length > 1 else (0, rest)
        if position + size > length or (size > 1 and own != step):
            return None
        start.append(position)
    return None if rest else tuple(start)


def _part(view: View, start: tuple[int, ...], shape: tuple[int, ...]) -> View:
    offset = sum([k * step for k, step in zip(start, view.strides, strict=True)])
    return dataclasses.replace(view, offset=view.offset + offset, shape=shape)
