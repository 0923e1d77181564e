"""Expressions of rows cut into stages: which loop over the columns computes and combines what.

Called for the row loops of programs (``program/row_stages.py``) and for operators along one
dimension (``executor/families/rowwise.py``). A stage is a loop over the columns that computes what
is known of the row so far, and combines it; ``kernels/rowwise/rows.py`` and
``kernels/rowwise/scan.py`` make kernels from that.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...formula import Expression, Formula, print_numba, symbol
from ...formula.expression import BITWISE, CLASSIFICATIONS, COMPARISONS, postorder
from ...kernels.pointwise.source import Operand
from ...kernels.rowwise import rows
from ...kernels.vector_math import cpu_lowering
from . import cost

#: Operations not worth a variable of their own, or whose result is a truth value.
_NOT_HOISTED = frozenset(("input", "constant", *COMPARISONS, *CLASSIFICATIONS, *BITWISE))


@dataclasses.dataclass(frozen=True)
class Work:
    """The computation on every row.

    Attributes:
        compute: the dtype of the arithmetic.
        variables: the inputs.
        elements: those that differ from element to element.
        reductions: variable, combination, and what is combined, in an order in which each needs
            none behind it. The combination "pick" is of a node ``pick(value, column)``.
        stores: outputs with a value for every element.
        row_stores: outputs with one value a row.
        totals: outputs with one value a chunk of rows: combination, and the value of an element.
        column_totals: outputs with a row of values a chunk: the same, for each column.
        on_cpu: whether functions are printed as sequences of the CPU's instructions.
    """

    compute: str
    variables: Sequence[str]
    elements: frozenset[str]
    reductions: Sequence[tuple[str, str, Expression]]
    stores: Sequence[tuple[Operand, Expression]]
    row_stores: Sequence[tuple[Operand, Expression]] = ()
    totals: Sequence[tuple[Operand, str, Expression]] = ()
    column_totals: Sequence[tuple[Operand, str, Expression]] = ()
    on_cpu: bool = True

    def with_shared_nodes(self) -> Work:
        """The same with its expressions as one graph: what occurs twice is one node."""
        stored, summed = (*self.stores, *self.row_stores), (*self.totals, *self.column_totals)
        expressions = [part for _, kind, x in self.reductions for part in _parts(kind, x)]
        expressions += [x for _, x in stored]
        expressions += [x for _, _, x in summed]
        names = [*self.variables, *[name for name, _, _ in self.reductions]]
        shared = iter(Formula(names, expressions).outputs)
        return dataclasses.replace(
            self,
            reductions=[
                (name, kind, _joined(kind, [next(shared) for _ in _parts(kind, x)]))
                for name, kind, x in self.reductions
            ],
            stores=[(operand, next(shared)) for operand, _ in self.stores],
            row_stores=[(operand, next(shared)) for operand, _ in self.row_stores],
            totals=[(operand, kind, next(shared)) for operand, kind, _ in self.totals],
            column_totals=[
                (operand, kind, next(shared)) for operand, kind, _ in self.column_totals
            ],
        )


def _parts(kind: str, value: Expression) -> Sequence[Expression]:
    """The values to compute for a reduction."""
    return value.operands if kind == "pick" else (value,)


def _joined(kind: str, parts: list[Expression]) -> Expression:
    return Expression("pick", tuple(parts)) if kind == "pick" else parts[0]


class _Stages:
    """Expressions, each in the first loop over columns that can compute it."""

    def __init__(self, work: Work):
        self.elements = work.elements
        self.stage_of_variable = dict.fromkeys(work.variables, 0)
        self._known: dict[int, tuple[Expression, int, bool]] = {}
        self.combined: list[tuple[int, str, str, Expression]] = []
        #: A value known of one element before a loop: its stage, variable, value and column.
        self.picked: list[tuple[int, str, Expression, Expression]] = []
        for name, kind, value in work.reductions:
            stage = self.of(value)[0]
            if kind == "pick":
                self.stage_of_variable[name] = stage
                element, column = value.operands
                self.picked.append((stage, name, element, column))
                continue
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


class Cut:
    """Work cut into stages.

    ``keep`` is what a value costs at least that is kept for later stages (``cost.model``).

    Attributes:
        before: statements before the first stage.
        stages: the loops over the columns, in order.
        places: how many rows of intermediate values they keep.
    """

    def __init__(self, work: Work, keep: float | None = None):
        self._work = work = work.with_shared_nodes()
        self._plan = plan = _Stages(work)
        #: Values that are stored, with their stage: of elements, of rows, and those summed up.
        self._stores = [(plan.of(x)[0], operand, x) for operand, x in work.stores]
        self._row_stores = [(plan.of(x)[0], operand, x) for operand, x in work.row_stores]
        self._sums = [(plan.of(x)[0], operand, kind, x) for operand, kind, x in work.totals]
        self._column_sums = [
            (plan.of(x)[0], operand, kind, x) for operand, kind, x in work.column_totals
        ]
        roots = [(stage, value) for stage, _, _, value in plan.combined]
        roots += [(stage, value) for stage, _, value in self._stores]
        roots += [(stage, value) for stage, _, _, value in (*self._sums, *self._column_sums)]
        ends = [stage for stage, _ in roots] + [stage for stage, _, _ in self._row_stores]
        ends += [stage for stage, *_ in plan.picked]
        count = 1 + max(ends, default=0)
        self._roots: list[list[Expression]] = [[] for _ in range(count)]
        for stage, value in roots:
            self._roots[stage].append(value)
        self._kept = _kept(self._roots, plan, cost.model.keep if keep is None else keep)
        self._hoisted = _Hoisted(plan, work)
        self.before = self._statements(0)
        stages = [self._stage(k) for k in range(count)]
        self.stages, self.positions = _with_shared_positions(stages)

    def _statements(self, stage: int) -> list[str | rows.Pick]:
        """Statements on the row, for what is known from a stage on."""
        wanted = [x for roots in self._roots for x in roots]
        picked = [(name, x, column) for at, name, x, column in self._plan.picked if at == stage]
        picks = [self._pick(name, x, column) for name, x, column in picked]
        return [*picks, *self._hoisted.statements(stage, wanted, self._kept)]

    def _pick(self, name: str, value: Expression, column: Expression) -> rows.Pick:
        """The expression of a value for one element of the row."""
        lines, (result,) = _printed([self._hoisted.replace(value, {})], self._work, f"{name}_")
        used = self._hoisted.used([value], {}) & self._plan.elements
        reads = [x for x in self._work.variables if x in used]
        return rows.Pick(name, str(column.value), lines, result, reads)

    def _stage(self, k: int) -> rows.Stage:
        combined = [(name, kind, x) for at, name, kind, x in self._plan.combined if at == k]
        stored = [(operand, x) for at, operand, x in self._stores if at == k]
        new = [(position, x) for position, (x, at, _) in enumerate(self._kept.values()) if at == k]
        sums = [(operand, kind, x) for at, operand, kind, x in self._sums if at == k]
        column_sums = [(operand, kind, x) for at, operand, kind, x in self._column_sums if at == k]
        wanted = [x for _, _, x in combined] + [x for _, x in stored] + [x for _, x in new]
        wanted += [x for _, _, x in (*sums, *column_sums)]
        replaced = {key: name for key, (_, first, name) in self._kept.items() if first < k}
        lines, results = _printed(
            [self._hoisted.replace(x, replaced) for x in wanted], self._work, f"s{k}_"
        )
        used = self._hoisted.used(wanted, replaced)
        numbers = {name: position for position, (_, _, name) in enumerate(self._kept.values())}
        after, row_stores = self._after(k)
        found = iter(results)
        return rows.Stage(
            lines=lines,
            combined=[(name, kind, next(found)) for name, kind, _ in combined],
            stores=[(operand, next(found)) for operand, _ in stored],
            kept=[(position, next(found)) for position, _ in new],
            reads=[x for x in self._work.variables if x in used & self._plan.elements],
            found={name: position for name, position in numbers.items() if name in used},
            after=after,
            row_stores=row_stores,
            totals=[(operand, kind, next(found)) for operand, kind, _ in sums],
            column_totals=[(operand, kind, next(found)) for operand, kind, _ in column_sums],
        )

    def _after(self, k: int) -> tuple[list[str | rows.Pick], list[tuple[Operand, str]]]:
        """Statements behind stage ``k``, and the values of the row that are known then."""
        lines = self._statements(k + 1)
        stores = []
        for at, operand, value in self._row_stores:
            if max(at - 1, 0) == k:
                more, (result,) = _printed(
                    [self._hoisted.replace(value, {})], self._work, f"{operand.name}_"
                )
                lines += more
                stores.append((operand, result))
        return lines, stores


def _kept(
    roots: list[list[Expression]], plan: _Stages, least: float
) -> dict[int, tuple[Expression, int, str]]:
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
            again = first.get(id(node), stage) < stage and not _is_bits(node)
            if again and _cost_of(node, plan, kept) > least:
                kept[id(node)] = node, first[id(node)], f"k{len(kept)}"
                continue
            pending += reversed(node.operands)
        for key in seen:
            first.setdefault(key, stage)
    return kept


#: Operations whose results are not whole for whole operands.
_NO_BITS = frozenset(("from_bits", "cast", *COMPARISONS, *CLASSIFICATIONS))


def _is_bits(node: Expression) -> bool:
    """Whether a value is a whole number made of the bits of floats: variables hold floats."""
    pending, seen = [node], set()
    while pending:
        each = pending.pop()
        if each.operation == "bits":
            return True
        if id(each) not in seen and each.operation not in _NO_BITS:
            seen.add(id(each))
            pending += each.operands
    return False


def _cost_of(node: Expression, plan: _Stages, kept: dict[int, Any]) -> float:
    """The cost of computing a value again from the known values of the row."""
    rowwise = {id(x) for x in postorder((node,)) if not plan.of(x)[1]}
    return cost.model.of(node, set(kept), rowwise)


def _with_shared_positions(stages: list[rows.Stage]) -> tuple[list[rows.Stage], int]:
    """The stages with kept values in as few rows of scratch memory as possible, and how many.

    A value may take the place of one that is read for the last time in the loop that makes it.
    """
    last = {position: k for k, stage in enumerate(stages) for position in stage.found.values()}
    positions: dict[int, int] = {}
    taken_until: list[int] = []
    for k, stage in enumerate(stages):
        for own, _ in stage.kept:
            free = [j for j, until in enumerate(taken_until) if until <= k]
            if not free:
                taken_until.append(0)
            positions[own] = position = free[0] if free else len(taken_until) - 1
            taken_until[position] = max(last.get(own, k), k + 1)
    return [
        dataclasses.replace(
            stage,
            kept=[(positions[own], value) for own, value in stage.kept],
            found={name: positions[own] for name, own in stage.found.items()},
        )
        for stage in stages
    ], len(taken_until)


class _Hoisted:
    """Parts of expressions that are the same for a whole row, computed once."""

    def __init__(self, plan: _Stages, work: Work):
        self._plan = plan
        self._work = work
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
                plain = part.operation in _NOT_HOISTED or _is_bits(part)
                at, elementwise = self._plan.of(part)
                if not (plain or elementwise or at != stage or id(part) in self._names):
                    found[id(part)] = part
        if not found:
            return []
        parts = list(found.values())
        lines, results = _printed([self.replace(x, {}) for x in parts], self._work, f"h{stage}_")
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


def _printed(expressions: list[Expression], work: Work, prefix: str) -> tuple[list[str], list[str]]:
    """Statements for expressions, with temporaries of their own, and the names of the results."""
    names = sorted({x.value for x in postorder(expressions) if x.operation == "input"})
    lowering = cpu_lowering() if work.on_cpu else {}
    lines, results = print_numba(Formula(names, expressions), work.compute, lowering)
    pattern = re.compile(r"\bt(\d+)\b")
    replacement = rf"{prefix}\1"
    return (
        [pattern.sub(replacement, line) for line in lines],
        [pattern.sub(replacement, result) for result in results],
    )


__all__ = ["Cut", "Work"]
