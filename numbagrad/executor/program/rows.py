"""Row loops: which operations can run row by row, what they compute, and their kernel.

``fusion.py`` asks what an operation does to a space of rows (``role``, ``placed``) and collects
expressions; ``lower_rows`` cuts them into stages and prints the kernel of ``kernels/rows.py``.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...dtype import from_numpy as dtype_of
from ...formula import Expression, Formula, constant, exp, log, print_numba, symbol, trace
from ...formula.expression import (
    BITWISE,
    CLASSIFICATIONS,
    COMPARISONS,
    postorder,
    substitute,
)
from ...kernels import layout, rows
from ...kernels.pointwise import Operand as KernelOperand
from ...kernels.vector_math import CPU_LOWERING
from .. import library
from ..memory import stream_bytes
from ..reduction import Reduction, ReductionProgram
from ..rowwise import Softmax, SoftmaxGradient
from . import cost
from .graph import (
    Input,
    Memory,
    Operation,
    Pointwise,
    Reduce,
    RowLoop,
    Rowwise,
    Total,
    View,
    numbered_apart,
)

Shape = tuple[int, ...]

#: What is not worth a variable of its own, or is a truth value.
_NOT_HOISTED = frozenset(("input", "constant", *COMPARISONS, *CLASSIFICATIONS, *BITWISE))

#: Elements of a space from which on a single row is too much for one thread.
_LONG_ROW = 1 << 16

#: Elements of a chunk of rows that is worth a thread.
_CHUNK = 1 << 14

#: Elements of a row into which a space that is one run is cut.
_FLAT_ROW = 1024

#: At most so many chunks: each has partial results, and room for rows of intermediate values.
_CHUNKS = 64

ELEMENTS, ROWS, REDUCTION = "elements", "rows", "reduction"
COLUMN_TOTAL, TOTAL = "column total", "total"


def reduced_space(operation: Operation) -> Shape | None:
    """The space of an operation that reduces, or None if no row loop can do it."""
    if isinstance(operation, Rowwise):
        shape = operation.inputs[0].shape
        known = isinstance(operation.program, (Softmax, SoftmaxGradient))
        fits = known and operation.dim == len(shape) - 1
    elif isinstance(operation, Reduce):
        shape = operation.source.shape
        definition = operation.program.definition
        compute = operation.source.dtype.name
        dtypes = definition.dtypes_of(dtype_of(operation.source.dtype), operation.program.requested)
        fits = compute in ("float32", "float64") and set(dtypes) == {compute}
        fits = fits and _kind_of_mask(operation) is not None
    else:
        return None
    if not fits or not shape or 0 in shape:
        return None
    if isinstance(operation, Reduce) and _kind_of_mask(operation) != REDUCTION:
        return shape if operation.shift is None else None
    total = int(np.prod(shape))
    enough = total // shape[-1] >= 8 or total <= _LONG_ROW
    return shape if enough and shape[-1] > 1 else None


def _kind_of_mask(operation: Reduce) -> str | None:
    """Which dimensions are reduced: the last, all but the last, or all."""
    rank = len(operation.source.shape)
    every = (1 << rank) - 1
    mask = operation.mask & every
    if rank == 0:
        return None
    if mask == every:
        return TOTAL
    if mask == 1 << (rank - 1):
        return REDUCTION
    return COLUMN_TOTAL if mask == every >> 1 else None


def compute_of(operation: Operation) -> str:
    """The dtype that an operation of a loop computes in."""
    if isinstance(operation, Pointwise):
        return operation.compute
    if isinstance(operation, Reduce):
        return operation.source.dtype.name
    assert isinstance(operation, Rowwise)
    return operation.inputs[0].dtype.name


def role(operation: Operation, space: Shape) -> str | None:
    """What an operation does in a loop over ``space``, or None if it cannot be part of it."""
    if isinstance(operation, Pointwise):
        if operation.shape == space:
            return ELEMENTS
        if space and operation.shape in (space[:-1], (*space[:-1], 1)):
            return ROWS
        return None
    if reduced_space(operation) != space:
        return None
    return _kind_of_mask(operation) if isinstance(operation, Reduce) else REDUCTION


def placed(operation: Operation, view: View, space: Shape) -> View:
    """A view that an operation uses, as large as the space; rows have a last stride of 0."""
    shape = view.shape
    if isinstance(operation, Reduce) and view is operation.output:
        if _kind_of_mask(operation) != REDUCTION:
            return view  # known when the loop is through: nobody in it can read it
    if isinstance(operation, Pointwise):
        if operation.shape == space:
            return view.expanded(space)
        view = view.expanded(operation.shape)
        return View(view.memory, view.offset, space, (*_outer(view, space), 0), view.dtype)
    if shape == space:
        return view
    # One value a row, in the order of the rows.
    strides = _outer(view, space) if len(shape) >= len(space) - 1 else None
    if strides is None or shape not in (space[:-1], (*space[:-1], 1)):
        step = view.dtype.itemsize
        dense = []
        for size in reversed(space[:-1]):
            dense.append(step)
            step *= size
        strides = tuple(reversed(dense))
    return View(view.memory, view.offset, space, (*strides, 0), view.dtype)


def _outer(view: View, space: Shape) -> tuple[int, ...]:
    return view.strides[: len(space) - 1]


def row_step(view: View) -> int | None:
    """Bytes from one row of a placed view to the next, or None if they do not follow each other."""
    step, run = 0, 1
    for size, stride in zip(reversed(view.shape[:-1]), reversed(view.strides[:-1]), strict=True):
        if size == 1:
            continue
        if run == 1:
            step = stride
        elif stride != step * run:
            return None
        run *= size
    return step


# --- what operations compute ----------------------------------------------------------------------


class Computation:
    """The expressions of a loop, collected operation by operation."""

    def __init__(self, space: Shape, compute: str):
        self.space = space
        self.compute = compute
        self.values: dict[View, Expression] = {}
        self.inputs: dict[tuple[Any, bool], tuple[str, str | None]] = {}
        self.reductions: list[tuple[str, str, Expression]] = []
        self.totals: list[tuple[Reduce, Expression]] = []

    def input(self, operand: Any, boolean: bool, number: str | None) -> Expression:
        """The variable of an operand that the loop reads."""
        name, _ = self.inputs.setdefault(
            (operand, boolean), (f"x{len(self.inputs)}", number)
        )
        return symbol(name)

    def read(self, operation: Operation, view: View) -> Expression:
        """What a view holds where an operation reads it."""
        key = placed(operation, view, self.space)
        found = self.values.get(key)
        return self.input(key, False, None) if found is None else found

    def add(self, operation: Operation) -> None:
        """Take in a reduction."""
        if isinstance(operation, Reduce):
            self._reduce(operation)
        else:
            assert isinstance(operation, Rowwise)
            self._softmax(operation)

    def _combined(self, kind: str, value: Expression) -> Expression:
        name = f"r{len(self.reductions)}"
        self.reductions.append((name, kind, value))
        return symbol(name)

    def _reduce(self, operation: Reduce) -> None:
        definition = operation.program.definition
        mapped, final = operation.program.formulas
        value = self.read(operation, operation.source)
        known = {"x": value}
        if operation.shift is not None:
            known["shift"] = self.read(operation, operation.shift)
        if operation.parameter is not None:
            known["p"] = constant(operation.parameter)
        if mapped is not None:
            (value,) = substitute(mapped.outputs, known)
        if _kind_of_mask(operation) != REDUCTION:
            self.totals.append((operation, value))
            return
        total = self._combined(definition.combine, value)
        if final is not None:
            number = self.input(self.space[-1], False, self.compute)
            known |= {"total": total, "number": number}
            (total,) = substitute(final.outputs, known)
        self.values[placed(operation, operation.output, self.space)] = total

    def _softmax(self, operation: Rowwise) -> None:
        program = operation.program
        given = [self.read(operation, view) for view in operation.inputs]
        if isinstance(program, SoftmaxGradient):
            grad, y = given
            summed = trace(eval(f"lambda grad, y: {program.summed}"))
            total = self._combined("add", *substitute(summed.outputs, {"grad": grad, "y": y}))
            gradient = trace(program.gradient)
            names = dict(zip(gradient.inputs, (grad, y, total), strict=True))
            (made,) = substitute(gradient.outputs, names)
        else:
            shifted = given[0] - self._combined("maximum", given[0])
            powers = exp(shifted)
            total = self._combined("add", powers)
            made = shifted - log(total) if program.name == "log_softmax" else powers / total
        self.values[placed(operation, operation.outputs[0], self.space)] = made


# --- from expressions to operations ---------------------------------------------------------------


@functools.cache
def _joining(combine: str) -> ReductionProgram:
    """The reduction that joins partial results."""
    return ReductionProgram(Reduction(f"join_{combine}", combine))


def row_operations(
    name: str, computation: Computation, stored: list[View]
) -> list[Operation]:
    """The row loop of a computation, and what joins the results of its chunks."""
    space, item = computation.space, np.dtype(computation.compute).itemsize
    wanted = [(view, computation.values[view]) for view in stored]
    used = _used([*[x for _, x in wanted], *[x for _, x in computation.totals]], computation)
    inputs = [
        Input(name, operand, boolean, number)
        for (operand, boolean), (name, number) in computation.inputs.items()
        if name in used
    ]
    reductions = [x for x in computation.reductions if x[0] in used]
    rows_, columns = int(np.prod(space[:-1])), space[-1]
    elements = rows_ * columns
    by_columns = [_kind_of_mask(x) == COLUMN_TOTAL for x, _ in computation.totals]
    views = [x.operand for x in inputs if isinstance(x.operand, View)] + stored
    if computation.totals and not reductions and not any(by_columns) and _is_run(views, space):
        columns = min(_FLAT_ROW, elements)
        rows_ = -(-elements // columns)
        space = (rows_, columns)
        inputs = [dataclasses.replace(x, operand=_as_rows(x.operand, space)) for x in inputs]
        wanted = [(_as_rows(view, space), value) for view, value in wanted]
    chunk = max(1, _CHUNK // columns)
    chunk = max(chunk, -(-rows_ // _CHUNKS))
    chunks = -(-rows_ // chunk)
    totals: list[Total] = []
    after: list[Operation] = []
    for (operation, value), columnwise in zip(computation.totals, by_columns, strict=True):
        combine = operation.program.definition.combine
        shape = (columns,) if columnwise else ()
        made = operation.output
        result = View(made.memory, made.offset, shape, (item,) * len(shape), made.dtype)
        partials = View(
            made.memory, made.offset, (1, *shape), (item, *result.strides), made.dtype
        )
        if chunks > 1:
            size = item * (columns if columnwise else 1)
            partials = View(
                Memory.scratch(chunks * size), 0, (chunks, *shape), (size, *result.strides),
                made.dtype,
            )  # fmt: skip
            after.append(Reduce(_joining(combine), partials, 1, False, None, result))
        totals.append(Total(partials, combine, value, columnwise))
        after += _finalised(operation, result)
    loop = RowLoop(
        name, space, computation.compute, tuple(inputs), tuple(reductions), tuple(wanted),
        tuple(totals), chunk, elements,
    )  # fmt: skip
    return [loop, *after]


def _used(wanted: list[Expression], computation: Computation) -> set[str]:
    """The variables that expressions need, through reductions."""
    pending = list(wanted)
    used = {x.value for x in postorder(pending) if x.operation == "input"}
    for variable, _, value in reversed(computation.reductions):
        if variable in used:
            used |= {x.value for x in postorder([value]) if x.operation == "input"}
    return used


def _finalised(operation: Reduce, result: View) -> list[Operation]:
    """What a reduction does with its total."""
    _, final = operation.program.formulas
    if final is None:
        return []
    count = operation.source.size // max(result.size, 1)
    known: dict[str, Any] = {"total": result, "number": count, "p": operation.parameter}
    operands = tuple([known[name] for name in final.inputs])
    compute = operation.source.dtype.name
    numbers = tuple([None if name == "total" else compute for name in final.inputs])
    return [Pointwise(operation.name, final, operands, (result,), compute, numbers)]


def _is_run(views: list[View], space: Shape) -> bool:
    """Whether the elements of every view lie side by side, or are one."""
    return all([view.contiguous or not any(view.strides) for view in views])


def _as_rows(operand: Any, space: Shape) -> Any:
    """A view that is one run, or one element, as rows of equal length."""
    if not isinstance(operand, View):
        return operand
    item = operand.dtype.itemsize if any(operand.strides) or operand.size == 1 else 0
    if operand.size == 1 and not any(operand.strides):
        item = 0
    strides = (item * space[1], item)
    return View(operand.memory, operand.offset, space, strides, operand.dtype)


# --- stages ---------------------------------------------------------------------------------------


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


def lower_rows(operation: RowLoop, make_launch: Callable[..., Any]) -> Any:
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
    stages, before, kept = _cut(operation, outputs, totals)
    streamed = frozenset(
        [x.name for x, (view, _) in zip(outputs, operation.outputs, strict=True) if _streams(view)]
    )
    text = rows.source(
        operation.name, [*inputs, *outputs, *totals], operation.compute,
        frozenset([x.name for x in inputs]), before, stages,
        frozenset([x.name for x in operation.inputs if x.boolean]), kept, streamed,
    )  # fmt: skip
    kernel = library.generated(operation.name, operation.commented(text))
    chunks = -(-count // operation.chunk)
    words = np.zeros(rows.OPERANDS + rows.OPERAND_WORDS * len(operands), dtype=np.int64)
    words[[rows.COLUMNS, rows.ROWS, rows.ELEMENTS]] = columns, count, operation.elements
    words[rows.CHUNK] = operation.chunk
    grain = 1 if operation.elements >= 2 * _CHUNK else chunks
    launch = make_launch(
        operation.name, kernel, words, chunks, grain, [], work=operation.elements
    )
    if kept or streamed:
        size = rows.scratch_bytes(columns, kept, len(streamed), operation.compute)
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
            launch.numbers.append((word, operand, operation.inputs[k].number))
    return launch


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


def _cut(
    operation: RowLoop, outputs: list[KernelOperand], totals: list[KernelOperand]
) -> tuple[list[rows.Stage], list[str], int]:
    """Stages, statements before them, and how many rows of intermediate values they keep."""
    # Together, so that what occurs twice is one node.
    expressions = [x for _, _, x in operation.reductions] + [x for _, x in operation.outputs]
    expressions += [total.value for total in operation.totals]
    names = [x.name for x in operation.inputs] + [name for name, _, _ in operation.reductions]
    shared = Formula(names, expressions).outputs
    count = len(operation.reductions)
    summed = shared[count + len(operation.outputs) :]
    operation = dataclasses.replace(
        operation,
        reductions=tuple(
            [(n, k, x) for (n, k, _), x in zip(operation.reductions, shared, strict=False)]
        ),
        outputs=tuple(
            [(v, x) for (v, _), x in zip(operation.outputs, shared[count:], strict=False)]
        ),
    )
    plan = _Stages(operation)
    by_rows = [view.strides[-1] == 0 for view, _ in operation.outputs]
    places = [plan.of(x)[0] for _, x in operation.outputs]
    ends = [plan.of(x)[0] for x in summed]
    last = max([*[stage for stage, *_ in plan.combined], *places, *ends], default=0)
    roots: list[list[Expression]] = [[] for _ in range(last + 1)]
    for stage, _, _, value in plan.combined:
        roots[stage].append(value)
    for place, rowwise, (_, value) in zip(places, by_rows, operation.outputs, strict=True):
        if not rowwise:
            roots[place].append(value)
    for place, value in zip(ends, summed, strict=True):
        roots[place].append(value)
    kept = _kept(roots, plan)
    hoisted = _Hoisted(plan, operation.compute)
    before = hoisted.statements(0, [x for stage in roots for x in stage], kept)
    stages = []
    for stage in range(last + 1):
        replaced = {key: name for key, (_, first, name) in kept.items() if first < stage}
        new = [
            (node, place) for place, (node, at, _) in enumerate(kept.values()) if at == stage
        ]
        combined = [(name, kind, x) for s, name, kind, x in plan.combined if s == stage]
        stored = [
            (output, value)
            for output, (_, value), place, rowwise in zip(
                outputs, operation.outputs, places, by_rows, strict=True
            )
            if place == stage and not rowwise
        ]
        summing = [
            (operand, total, value)
            for operand, total, place, value in zip(
                totals, operation.totals, ends, summed, strict=True
            )
            if place == stage
        ]
        wanted = [x for _, _, x in combined] + [x for _, x in stored] + [x for x, _ in new]
        wanted += [x for _, _, x in summing]
        lines, results = _printed(
            [hoisted.replace(x, replaced) for x in wanted], operation.compute, f"s{stage}_"
        )
        used = hoisted.used(wanted, replaced)
        numbers = {name: place for place, (_, _, name) in enumerate(kept.values())}
        after = hoisted.statements(stage + 1, [x for later in roots for x in later], kept)
        row_stores = []
        for output, (_, value), place, rowwise in zip(
            outputs, operation.outputs, places, by_rows, strict=True
        ):
            if rowwise and place == stage + 1 or (rowwise and place == 0 and stage == 0):
                more, (result,) = _printed(
                    [hoisted.replace(value, {})], operation.compute, f"{output.name}_"
                )
                after += more
                row_stores.append((output, result))
        first, second = len(combined), len(combined) + len(stored)
        third = second + len(new)
        sums = [
            (operand, total, result)
            for (operand, total, _), result in zip(summing, results[third:], strict=True)
        ]
        stages.append(
            rows.Stage(
                lines=lines,
                combined=[
                    (name, kind, result)
                    for (name, kind, _), result in zip(combined, results, strict=False)
                ],
                stores=[
                    (output, result)
                    for (output, _), result in zip(stored, results[first:], strict=False)
                ],
                kept=[
                    (place, result)
                    for (_, place), result in zip(new, results[second:third], strict=True)
                ],
                reads=[x.name for x in operation.inputs if x.name in used & plan.elements],
                found={name: place for name, place in numbers.items() if name in used},
                after=after,
                row_stores=row_stores,
                totals=[(o, t.combine, x) for o, t, x in sums if not t.by_columns],
                column_totals=[(o, t.combine, x) for o, t, x in sums if t.by_columns],
            )
        )
    stages, count = _with_shared_places(stages)
    return stages, before, count


def _kept(
    roots: list[list[Expression]], plan: _Stages
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
        lines, results = _printed(
            [self.replace(x, {}) for x in parts], self._compute, f"h{stage}_"
        )
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
