"""Row loops: which operations can run row by row, and what they compute.

``fusion.py`` asks what an operation does to a space of rows (``role``, ``placed``) and collects
expressions; ``row_stages.py`` makes a kernel of them.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from ..dtype import from_numpy as dtype_of
from ..executor.families import nll_loss as class_loss
from ..executor.families.reduction import Reduction, ReductionProgram
from ..executor.families.rowwise import RowDefinition
from ..executor.plan.forms import contiguous
from ..executor.plan.operations import (
    Input,
    Kernel,
    Operation,
    Pointwise,
    Reduce,
    RowLoop,
    Rowwise,
    Total,
)
from ..executor.plan.views import Memory, View
from ..formula import Expression, constant, symbol, where
from ..formula.expression import postorder, substitute
from ..kernels.rowwise.rows import ClassKind

Shape = tuple[int, ...]

#: Elements of a space from which on a single row is too much for one thread.
_LONG_ROW = 1 << 16

#: Elements of a chunk of rows that is worth a thread.
CHUNK = 1 << 14

#: Elements of a row into which a space that is one run is cut.
_FLAT_ROW = 1024

#: At most so many chunks: each has partial results, and room for rows of intermediate values.
_CHUNKS = 64

#: Long chunks are a multiple of so many rows, which short ones may then be one run of.
_TOGETHER = 64

ELEMENTS, ROWS, REDUCTION = "elements", "rows", "reduction"
COLUMN_TOTAL, TOTAL = "column total", "total"


def reduced_space(operation: Operation) -> Shape | None:
    """The space of an operation that reduces, or None if no row loop can do it."""
    if isinstance(operation, Rowwise):
        shape = operation.inputs[0].shape
        known = isinstance(operation.program, RowDefinition)
        fits = known and operation.dim == len(shape) - 1
    elif isinstance(operation, Reduce):
        shape = operation.source.shape
        definition = operation.program.definition
        compute = operation.source.dtype.name
        dtypes = definition.dtypes_of(dtype_of(operation.source.dtype), operation.program.requested)
        fits = compute in ("float32", "float64") and set(dtypes) == {compute}
        fits = fits and _kind_of_mask(operation) is not None
    elif isinstance(operation, Kernel):
        shape = class_loss.space_of(operation) or ()
        fits = True
    else:
        return None
    if not fits or not shape or 0 in shape:
        return None
    if isinstance(operation, Reduce) and _kind_of_mask(operation) != REDUCTION:
        # A total of single elements is as large as the space, so that the loop would seem to hold
        # what reads it; but it is known only when the loop is through.
        single = operation.output.size == operation.source.size
        return shape if operation.shift is None and not single else None
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
    if isinstance(operation, Kernel):
        return str(operation.args[0].dtype.name)
    assert isinstance(operation, Rowwise)
    return operation.inputs[0].dtype.name


def role(operation: Operation, space: Shape) -> str | None:
    """An operation as part of a loop over ``space``, or None if it cannot be."""
    if isinstance(operation, Pointwise):
        if operation.shape == space:
            return ELEMENTS
        if space and operation.shape in (space[:-1], (*space[:-1], 1)):
            return ROWS
        return None
    if reduced_space(operation) != space:
        return None
    if isinstance(operation, Kernel) and class_loss.role_of(operation) == class_loss.PLACED:
        return ELEMENTS
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
    if isinstance(operation, Kernel) and not shape:  # one value for all of them
        return view.expanded(space)
    # One value a row, in the order of the rows.
    strides = _outer(view, space) if len(shape) >= len(space) - 1 else None
    if strides is None or shape not in (space[:-1], (*space[:-1], 1)):
        strides = contiguous(space[:-1], view.dtype).strides
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
        self.inputs: dict[tuple[Any, bool | ClassKind], tuple[str, str | None]] = {}
        self.reductions: list[tuple[str, str, Expression]] = []
        self.totals: list[tuple[Reduce, Expression]] = []
        #: Values of the column of a row's class, which are zero elsewhere, by the ids of their
        #: expressions, which are kept too.
        self._placed: dict[int, tuple[Expression, Expression]] = {}

    def input(self, operand: Any, kind: bool | ClassKind, number: str | None) -> Expression:
        """The variable of an operand that the loop reads."""
        name, _ = self.inputs.setdefault((operand, kind), (f"x{len(self.inputs)}", number))
        return symbol(name)

    def read(self, operation: Operation, view: View) -> Expression:
        """The value of a view where an operation reads it."""
        key = placed(operation, view, self.space)
        found = self.values.get(key)
        return self.input(key, False, None) if found is None else found

    def add(self, operation: Operation) -> None:
        """Take in a reduction."""
        if isinstance(operation, Reduce):
            self._reduce(operation)
        elif isinstance(operation, Rowwise):
            self._along(operation)
        else:
            assert isinstance(operation, Kernel)
            self._of_classes(operation)

    def _combined(self, kind: str, value: Expression) -> Expression:
        if kind == "add" and id(value) in self._placed:
            return self._placed[id(value)][1]
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

    def _along(self, operation: Rowwise) -> None:
        formula = operation.program.rows
        given = [self.read(operation, view) for view in operation.inputs]
        made = formula.of(dict(zip(formula.inputs, given, strict=True)), self._combined)
        self.values[placed(operation, operation.outputs[0], self.space)] = made

    def _of_classes(self, operation: Kernel) -> None:
        """An operation of ``executor/families/nll_loss.py``."""
        output, first, target, factor = operation.args[:4]
        key, ignored = placed(operation, target, self.space), class_loss.ignored_of(operation.args)
        counts = self.input(key, ClassKind("counts", ignored), None)
        value, factor = self.read(operation, first), self.read(operation, factor)
        if class_loss.role_of(operation) == class_loss.ELEMENTS:
            column = self.input(key, ClassKind("column", ignored), None)
            value = self._combined("pick", Expression("pick", (value, column)))
        ignored_value = factor if class_loss.role_of(operation) == class_loss.ELEMENTS else 0
        made = where(counts, -(value * factor), ignored_value)
        if class_loss.role_of(operation) == class_loss.PLACED:
            everywhere = where(self.input(key, ClassKind("here"), None), made, 0)
            self._placed[id(everywhere)] = everywhere, made
            made = everywhere
        self.values[placed(operation, output, self.space)] = made


# --- from expressions to operations ---------------------------------------------------------------


@functools.cache
def joining(combine: str) -> ReductionProgram:
    """The reduction that joins partial results."""
    return ReductionProgram(Reduction(f"join_{combine}", combine))


def row_operations(name: str, computation: Computation, stored: list[View]) -> list[Operation]:
    """The row loop of a computation, and what joins the results of its chunks."""
    space, item = computation.space, np.dtype(computation.compute).itemsize
    wanted = [(view, computation.values[view]) for view in stored]
    used = _used([*[x for _, x in wanted], *[x for _, x in computation.totals]], computation)
    inputs = [
        Input(name, operand, kind, number)
        for (operand, kind), (name, number) in computation.inputs.items()
        if name in used
    ]
    reductions = [x for x in computation.reductions if x[0] in used]
    rows_, columns = int(np.prod(space[:-1])), space[-1]
    elements = rows_ * columns
    by_columns = [_kind_of_mask(x) == COLUMN_TOTAL for x, _ in computation.totals]
    views = [x.operand for x in inputs if isinstance(x.operand, View)] + stored
    numbered = any([isinstance(x.kind, ClassKind) for x in inputs])  # columns are what they are
    plain = not reductions and not any(by_columns) and not numbered
    if computation.totals and plain and _is_run(views, space):
        columns = min(_FLAT_ROW, elements)
        rows_ = -(-elements // columns)
        space = (rows_, columns)
        inputs = [dataclasses.replace(x, operand=as_rows(x.operand, space)) for x in inputs]
        wanted = [(as_rows(view, space), value) for view, value in wanted]
    chunk = max(1, CHUNK // columns)
    chunk = max(chunk, -(-rows_ // _CHUNKS))
    if chunk > _TOGETHER:
        chunk = -(-chunk // _TOGETHER) * _TOGETHER
    chunks = -(-rows_ // chunk)
    totals: list[Total] = []
    after: list[Operation] = []
    for (operation, value), columnwise in zip(computation.totals, by_columns, strict=True):
        combine = operation.program.definition.combine
        shape = (columns,) if columnwise else ()
        made = operation.output
        result = View(made.memory, made.offset, shape, (item,) * len(shape), made.dtype)
        partials = View(made.memory, made.offset, (1, *shape), (item, *result.strides), made.dtype)
        if chunks > 1:
            size = item * (columns if columnwise else 1)
            partials = View(
                Memory.scratch(chunks * size), 0, (chunks, *shape), (size, *result.strides),
                made.dtype,
            )  # fmt: skip
            after.append(Reduce(joining(combine), partials, 1, False, None, result))
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
    """The step of a reduction after its total."""
    _, final = operation.program.formulas
    if final is None:
        return []
    count = operation.source.size // max(result.size, 1)
    known: dict[str, Any] = {"total": result, "number": count, "p": operation.parameter}
    operands = tuple([known[name] for name in final.inputs])
    compute = operation.source.dtype.name
    numbers = tuple([None if name == "total" else compute for name in final.inputs])
    return [Pointwise(operation.name, final, operands, (result,), compute, numbers)]


def is_flat(operation: RowLoop) -> bool:
    """Whether a row loop passes over one run of elements, so that rows may be cut anew."""
    views = [*operation.reads, *[view for view, _ in operation.outputs]]
    plain = not operation.reductions and not any([x.by_columns for x in operation.totals])
    plain = plain and not any([isinstance(x.kind, ClassKind) for x in operation.inputs])
    return plain and _is_run(views, operation.space)


def _is_run(views: list[View], space: Shape) -> bool:
    """Whether the elements of every view lie side by side, or are one."""
    return all([view.contiguous or not any(view.strides) for view in views])


def as_rows(operand: Any, space: Shape) -> Any:
    """A view that is one run, or one element, as rows of equal length; the last may end early."""
    if not isinstance(operand, View):
        return operand
    item = operand.dtype.itemsize if any(operand.strides) or operand.size == 1 else 0
    if operand.size == 1 and not any(operand.strides):
        item = 0
    strides = (item * space[1], item)
    return View(operand.memory, operand.offset, space, strides, operand.dtype)
