"""The kernel of a row loop: its expressions cut into stages and printed.

Called by ``lowering.py``. A stage is a loop over the columns that computes what is known of the row
so far, and combines it; ``kernels/rows.py`` makes the text of the kernel from that.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...dtype import from_numpy as dtype_of
from ...formula import Expression, Formula, print_numba, symbol
from ...formula.expression import BITWISE, CLASSIFICATIONS, COMPARISONS, postorder
from ...kernels import layout, rows, rowwise
from ...kernels.pointwise import Operand as KernelOperand
from ...kernels.vector_math import CPU_LOWERING
from .. import library
from ..memory import stream_bytes
from . import cost
from .graph import Memory, RowLoop, View, numbered_apart
from .launch import Launch
from .rows import CHUNK, row_step

#: What is not worth a variable of its own, or is a truth value.
_NOT_HOISTED = frozenset(("input", "constant", *COMPARISONS, *CLASSIFICATIONS, *BITWISE))


class _Stages:
    """The expressions of a row loop, each in the first loop over columns that can compute it."""

    def __init__(self, operation: RowLoop):
        self.operation = operation
        self.elements = {
            x.name
            for x in operation.inputs
            if isinstance(x.operand, View) and x.operand.strides[-1] != 0
        }
        self.stage_of_variable = {x.name: 0 for x in operation.inputs}
        self._known: dict[int, tuple[Expression, int, bool]] = {}
        self.combined: list[tuple[int, str, str, Expression]] = []
        for name, kind, value in operation.reductions:
            stage = self.of(value)[0]
            self.stage_of_variable[name] = stage + 1
            self.combined.append((stage, name, kind, value))

    def of(self, node: Expression) -> tuple[int, bool]:
        """The stage that can compute a node, and whether it differs from element to element."""
        for each in postorder((node,), known=self._known):
            if each.operation == "input":
                found = self.stage_of_variable[each.value], each.value in self.elements
            else:
                parts = [self._known[id(x)][1:] for x in each.operands]
                stage = max([part[0] for part in parts], default=0)
                found = stage, any([part[1] for part in parts])
            self._known[id(each)] = (each, *found)
        return self._known[id(node)][1:]


def lower_rows(operation: RowLoop) -> list[Launch]:
    """The launch of a row loop."""
    count, columns = int(np.prod(operation.space[:-1])), operation.space[-1]
    inputs = [_operand(x.name, x.operand, x.number) for x in operation.inputs]
    outputs = [_operand(f"out{k}", view, None) for k, (view, _) in enumerate(operation.outputs)]
    totals = [
        KernelOperand(f"sum{k}", operation.compute, layout.UNIT)
        for k in range(len(operation.totals))
    ]
    operands = [x.operand for x in operation.inputs] + [view for view, _ in operation.outputs]
    operands += [total.partials for total in operation.totals]
    numbers = iter(numbered_apart([x if isinstance(x, View) else None for x in operands]))
    inputs, outputs, totals = (
        [dataclasses.replace(x, memory=next(numbers)) for x in each]
        for each in (inputs, outputs, totals)
    )
    cut = _Cut(operation, outputs, totals)
    streamed = frozenset(
        [x.name for x, (view, _) in zip(outputs, operation.outputs, strict=True) if _streams(view)]
    )
    long = rowwise.cut(count, columns, 1)[0] == rowwise.LONG_ROWS
    text = rows.source(
        operation.name, [*inputs, *outputs, *totals], operation.compute,
        frozenset([x.name for x in inputs]), cut.before, cut.stages,
        frozenset([x.name for x in operation.inputs if x.boolean]), cut.places, streamed, long,
    )  # fmt: skip
    code = "formula" if long else "rows"
    kernel = library.generated(operation.name, operation.commented(text), code=code)
    chunks = -(-count // operation.chunk)
    words = np.zeros(rows.OPERANDS + rows.OPERAND_WORDS * len(operands), dtype=np.int64)
    words[[rows.COLUMNS, rows.ROWS, rows.ELEMENTS]] = columns, count, operation.elements
    words[rows.CHUNK] = operation.chunk
    grain = 1 if operation.elements >= 2 * CHUNK else chunks
    launch = Launch(operation.name, kernel, words, chunks, grain, [], work=operation.elements)
    if cut.places or streamed:
        size = rows.scratch_bytes(columns, cut.places, len(streamed), operation.compute)
        words[rows.SCRATCH_BYTES] = size
        launch.addresses.append((rows.SCRATCH, Memory.scratch(size * chunks), 0))
    for k, operand in enumerate(operands):
        word = rows.OPERANDS + rows.OPERAND_WORDS * k
        if isinstance(operand, View):
            launch.addresses.append((word, operand.memory, operand.offset))
            partial = k >= len(operation.inputs) + len(operation.outputs)
            step = operand.strides[0] if partial else row_step(operand)
            assert step is not None  # rows of a loop follow each other
            words[word + 1] = step
            words[word + 2] = operand.strides[-1] if operand.strides else 0
        else:
            dtype = operation.inputs[k].number
            assert dtype is not None  # what is no view is a number
            launch.numbers.append((word, operand, dtype))
    return [launch]


def _streams(view: View) -> bool:
    """Whether an output is written past the caches: rows of memory too large to stay in them."""
    item = view.dtype.itemsize
    large = view.size * item >= stream_bytes()
    return large and view.strides[-1] == item and view.shape[-1] * item >= layout.STREAM_ROW_BYTES


def _operand(name: str, operand: Any, number: str | None) -> KernelOperand:
    if not isinstance(operand, View):
        assert number is not None
        return KernelOperand(name, number, layout.ZERO)
    step, item = operand.strides[-1], operand.dtype.itemsize
    kind = layout.UNIT if step == item else layout.ZERO if step == 0 else layout.STRIDED
    return KernelOperand(name, dtype_of(operand.dtype).name, kind)


def _with_shared_nodes(operation: RowLoop) -> RowLoop:
    """The row loop with its expressions as one graph: what occurs twice is one node."""
    expressions = [x for _, _, x in operation.reductions] + [x for _, x in operation.outputs]
    expressions += [total.value for total in operation.totals]
    names = [x.name for x in operation.inputs] + [name for name, _, _ in operation.reductions]
    shared = iter(Formula(names, expressions).outputs)
    return dataclasses.replace(
        operation,
        reductions=tuple([(name, kind, next(shared)) for name, kind, _ in operation.reductions]),
        outputs=tuple([(view, next(shared)) for view, _ in operation.outputs]),
        totals=tuple([dataclasses.replace(x, value=next(shared)) for x in operation.totals]),
    )


class _Cut:
    """A row loop cut into stages.

    Attributes:
        before: statements before the first stage.
        stages: the loops over the columns, in order.
        places: how many rows of intermediate values they keep.
    """

    def __init__(
        self, operation: RowLoop, outputs: list[KernelOperand], totals: list[KernelOperand]
    ):
        operation = _with_shared_nodes(operation)
        self._operation = operation
        self._plan = plan = _Stages(operation)
        #: Values that are stored, with their stage: of elements, of rows, and those summed up.
        self._stores: list[tuple[int, KernelOperand, Expression]] = []
        self._row_stores: list[tuple[int, KernelOperand, Expression]] = []
        for operand, (view, value) in zip(outputs, operation.outputs, strict=True):
            known = self._row_stores if view.strides[-1] == 0 else self._stores
            known.append((plan.of(value)[0], operand, value))
        self._sums = [
            (plan.of(total.value)[0], operand, total)
            for operand, total in zip(totals, operation.totals, strict=True)
        ]
        roots = [(stage, value) for stage, _, _, value in plan.combined]
        roots += [(stage, value) for stage, _, value in self._stores]
        roots += [(stage, total.value) for stage, _, total in self._sums]
        ends = [stage for stage, _ in roots] + [stage for stage, _, _ in self._row_stores]
        count = 1 + max(ends, default=0)
        self._roots: list[list[Expression]] = [[] for _ in range(count)]
        for stage, value in roots:
            self._roots[stage].append(value)
        self._kept = _kept(self._roots, plan)
        self._hoisted = _Hoisted(plan, operation.compute)
        self.before = self._statements(0)
        stages = [self._stage(k) for k in range(count)]
        self.stages, self.places = _with_shared_places(stages)

    def _statements(self, stage: int) -> list[str]:
        """Statements on the row, for what is known from a stage on."""
        wanted = [x for roots in self._roots for x in roots]
        return self._hoisted.statements(stage, wanted, self._kept)

    def _stage(self, k: int) -> rows.Stage:
        combined = [(name, kind, x) for at, name, kind, x in self._plan.combined if at == k]
        stored = [(operand, x) for at, operand, x in self._stores if at == k]
        new = [(place, x) for place, (x, at, _) in enumerate(self._kept.values()) if at == k]
        sums = [(operand, total) for at, operand, total in self._sums if at == k]
        wanted = [x for _, _, x in combined] + [x for _, x in stored] + [x for _, x in new]
        wanted += [total.value for _, total in sums]
        replaced = {key: name for key, (_, first, name) in self._kept.items() if first < k}
        lines, results = _printed(
            [self._hoisted.replace(x, replaced) for x in wanted], self._operation.compute, f"s{k}_"
        )
        used = self._hoisted.used(wanted, replaced)
        numbers = {name: place for place, (_, _, name) in enumerate(self._kept.values())}
        after, row_stores = self._after(k)
        found = iter(results)
        stage = rows.Stage(
            lines=lines,
            combined=[(name, kind, next(found)) for name, kind, _ in combined],
            stores=[(operand, next(found)) for operand, _ in stored],
            kept=[(place, next(found)) for place, _ in new],
            reads=[x.name for x in self._operation.inputs if x.name in used & self._plan.elements],
            found={name: place for name, place in numbers.items() if name in used},
            after=after,
            row_stores=row_stores,
        )
        totals = [(operand, total, next(found)) for operand, total in sums]
        return dataclasses.replace(
            stage,
            totals=[(o, t.combine, x) for o, t, x in totals if not t.by_columns],
            column_totals=[(o, t.combine, x) for o, t, x in totals if t.by_columns],
        )

    def _after(self, k: int) -> tuple[list[str], list[tuple[KernelOperand, str]]]:
        """Statements behind stage ``k``, and the values of the row that are known then."""
        lines = self._statements(k + 1)
        stores = []
        for at, operand, value in self._row_stores:
            if max(at - 1, 0) == k:
                more, (result,) = _printed(
                    [self._hoisted.replace(value, {})], self._operation.compute, f"{operand.name}_"
                )
                lines += more
                stores.append((operand, result))
        return lines, stores


def _kept(roots: list[list[Expression]], plan: _Stages) -> dict[int, tuple[Expression, int, str]]:
    """Values worth keeping from one loop for later ones: node, first loop, and variable, by id."""
    kept: dict[int, tuple[Expression, int, str]] = {}
    first: dict[int, int] = {}
    for stage, wanted in enumerate(roots):
        pending = list(reversed(wanted))
        seen: set[int] = set()
        while pending:
            node = pending.pop()
            if id(node) in seen or id(node) in kept or not plan.of(node)[1]:
                continue
            seen.add(id(node))
            if first.get(id(node), stage) < stage and _is_dear(node, plan, kept):
                kept[id(node)] = node, first[id(node)], f"k{len(kept)}"
                continue
            pending += reversed(node.operands)
        for key in seen:
            first.setdefault(key, stage)
    return kept


def _is_dear(node: Expression, plan: _Stages, kept: dict[int, Any]) -> bool:
    """Whether a value is rather kept than computed again from what is known of the row."""
    rowwise = {id(x) for x in postorder((node,)) if not plan.of(x)[1]}
    return cost.model.of(node, set(kept), rowwise) > cost.model.keep


def _with_shared_places(stages: list[rows.Stage]) -> tuple[list[rows.Stage], int]:
    """The stages with kept values in as few rows of scratch memory as possible, and how many.

    A value may take the place of one that is read for the last time in the loop that makes it.
    """
    last = {place: k for k, stage in enumerate(stages) for place in stage.found.values()}
    places: dict[int, int] = {}
    taken_until: list[int] = []
    for k, stage in enumerate(stages):
        for own, _ in stage.kept:
            free = [j for j, until in enumerate(taken_until) if until <= k]
            if not free:
                taken_until.append(0)
            places[own] = place = free[0] if free else len(taken_until) - 1
            taken_until[place] = max(last.get(own, k), k + 1)
    return [
        dataclasses.replace(
            stage,
            kept=[(places[own], value) for own, value in stage.kept],
            found={name: places[own] for name, own in stage.found.items()},
        )
        for stage in stages
    ], len(taken_until)


class _Hoisted:
    """Parts of expressions that are the same for a whole row, computed once."""

    def __init__(self, plan: _Stages, compute: str):
        self._plan = plan
        self._compute = compute
        self._names: dict[int, tuple[Expression, str]] = {}

    def statements(
        self, stage: int, wanted: Iterable[Expression], kept: dict[int, Any]
    ) -> list[str]:
        """Statements for the parts that are known from ``stage`` on."""
        found: dict[int, Expression] = {}
        for node in postorder(wanted):
            if not self._plan.of(node)[1]:
                continue
            for part in node.operands:
                plain = part.operation in _NOT_HOISTED
                at, elementwise = self._plan.of(part)
                if not (plain or elementwise or at != stage or id(part) in self._names):
                    found[id(part)] = part
        if not found:
            return []
        parts = list(found.values())
        lines, results = _printed([self.replace(x, {}) for x in parts], self._compute, f"h{stage}_")
        for part, result in zip(parts, results, strict=True):
            name = f"w{len(self._names)}"
            self._names[id(part)] = part, name
            lines.append(f"{name} = {result}")
        return lines

    def replace(self, node: Expression, kept: dict[int, str]) -> Expression:
        """An expression in terms of what was computed before."""
        done: dict[int, Expression] = {}
        known = {**{k: name for k, (_, name) in self._names.items()}, **kept}
        if id(node) in known:
            return symbol(known[id(node)])
        for each in postorder((node,), known=known):
            operands = tuple(
                [symbol(known[id(x)]) if id(x) in known else done[id(x)] for x in each.operands]
            )
            same = all([a is b for a, b in zip(operands, each.operands, strict=True)])
            done[id(each)] = each if same else Expression(each.operation, operands, each.value)
        return done[id(node)]

    def used(self, wanted: Iterable[Expression], kept: dict[int, str]) -> set[str]:
        """The variables of expressions in terms of what was computed before."""
        replaced = [self.replace(x, kept) for x in wanted]
        return {node.value for node in postorder(replaced) if node.operation == "input"}


def _printed(
    expressions: list[Expression], compute: str, prefix: str
) -> tuple[list[str], list[str]]:
    """Statements for expressions, with temporaries of their own, and the names of the results."""
    names = sorted({x.value for x in postorder(expressions) if x.operation == "input"})
    lines, results = print_numba(Formula(names, expressions), compute, CPU_LOWERING)
    pattern = re.compile(r"\bt(\d+)\b")
    replacement = rf"{prefix}\1"
    return (
        [pattern.sub(replacement, line) for line in lines],
        [pattern.sub(replacement, result) for result in results],
    )


__all__ = ["lower_rows"]
