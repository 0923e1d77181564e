"""Operations taken apart, where parts of them can join the loops around them.

``fusion.optimise`` has the sum of what is picked of rows in two steps;
``ops/operators/composite_pair.py`` has definitions over rows in their primitives, of which a
backward computes the pointwise ones again instead of keeping what they make.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import numpy as np

from ..executor.families import nll_loss as class_loss
from ..executor.families.reduction import Reduction, ReductionProgram
from ..executor.families.rowwise import RowDefinition
from ..executor.plan.operations import Kernel, Operation, Pointwise, Product, Reduce, Rowwise
from ..executor.plan.views import Memory, View
from ..formula import Expression, Formula
from .rows import joining, reduced_space

#: The reductions of a definition over rows.
_NAMES = {"add": "sum", "maximum": "amax", "minimum": "amin", "multiply": "prod"}


def with_elements(operations: Iterable[Operation]) -> list[Operation]:
    """The operations with totals of losses of classes as the losses of elements, and their sum."""
    found: list[Operation] = []
    for operation in operations:
        parts = None
        if isinstance(operation, Kernel):
            parts = class_loss.elements_of_total(operation.kernel, operation.args)
        if parts is None or not isinstance(operation, Kernel):
            found.append(operation)
            continue
        kernel, (total, grain), launch_args = parts
        output, target = operation.args[0], operation.args[2]
        item = output.dtype.itemsize
        made = View(
            Memory.scratch(target.size * item), 0, target.shape, (item,), output.dtype
        )  # fmt: skip
        found.append(Kernel(kernel, total, grain, (made, *launch_args)))
        found.append(Reduce(joining("add"), made, 1, False, None, output))
    return found


def in_primitives(operations: Sequence[Operation], results: Iterable[Memory]) -> list[Operation]:
    """The operations with definitions over rows in primitives.

    Those whose result is needed as a whole stay: of ``results``, and of what products read.
    """
    whole = {view.memory for x in operations if isinstance(x, Product) for view in x.reads}
    whole.update(results)
    found: list[Operation] = []
    for operation in operations:
        if (
            isinstance(operation, Rowwise)
            and isinstance(operation.program, RowDefinition)
            and reduced_space(operation)
            and operation.outputs[0].memory not in whole
        ):
            found += _primitives(operation)
        else:
            found.append(operation)
    return found


def _primitives(operation: Rowwise) -> list[Operation]:
    rows, (output,) = operation.program.rows, operation.outputs
    views = dict(zip(rows.inputs, operation.inputs, strict=True))
    made: list[Operation] = []

    def pointwise(value: Expression, result: View) -> None:
        names = [name for name in views if name in Formula(list(views), [value]).uses]
        formula, operands = Formula(names, [value]), [views[name] for name in names]
        kind = output.dtype.name
        made.append(Pointwise.of_views(operation.name, formula, operands, result, kind))

    for name, kind, value in rows.reductions:
        source = views[value.value] if value.operation == "input" else _new(output, output.shape)
        if value.operation != "input":
            pointwise(value, source)
        views[name] = _new(output, (*output.shape[:-1], 1))
        mask = 1 << (len(output.shape) - 1)
        made.append(Reduce(_reduction(kind), source, mask, True, None, views[name]))
    pointwise(rows.output, output)
    return made


@functools.cache
def _reduction(combine: str) -> ReductionProgram:
    return ReductionProgram(Reduction(_NAMES[combine], combine))


def _new(like: View, shape: tuple[int, ...]) -> View:
    """A new block of this shape."""
    array = np.empty(shape, like.dtype)
    memory = Memory(array, made=True)
    memory.release()
    return View(memory, 0, shape, array.strides, like.dtype)


__all__ = ["in_primitives", "with_elements"]
