"""Recurrent layers: all steps of a layer and direction, two launches a step, forward and back.

What the input contributes to the gates is one product over all steps. A step adds the product with
the hidden state, and runs the formula of the cell, which is that of the CPU
(``executor/families/recurrent.py``), on its rows. Gradients of weights are products over all steps,
which the operator makes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..dtype import from_numpy as dtype_of
from ..executor.families.recurrent import CELLS, Backward, Cell, Forward, Steps
from ..executor.plan.forms import contiguous
from ..executor.plan.operations import Pointwise, Product
from ..executor.plan.views import view_of
from ..formula import Formula, trace

if TYPE_CHECKING:
    from .backend import CudaBackend

Array: TypeAlias = Any  # of the device


@functools.cache
def _formula(mode: str, back: bool) -> Formula:
    cell = CELLS[mode]
    return trace((cell.backward if back else cell.forward).function)


def takes(arrays: Sequence[Array]) -> bool:
    """Whether a layer of these arrays runs here: of one real dtype, on one device."""
    kinds = {x.dtype for x in arrays}
    devices = {x.block.device for x in arrays}
    return len(kinds) == len(devices) == 1 and kinds <= {np.dtype("f4"), np.dtype("f8")}


class _Layer:
    """The sizes of a layer, its steps in their order, and what its launches have in common."""

    def __init__(self, where: CudaBackend, mode: str, steps: Steps, like: Array, width: int):
        self.where, self.mode, self.steps, self.like, self.width = where, mode, steps, like, width
        self.cell: Cell = CELLS[mode]
        self.is_even = len(set(steps.sizes)) == 1

    def new(self, rows: int, columns: int) -> Array:
        """A new matrix."""
        return self.where.new(contiguous((rows, columns), self.like.dtype), self.like)

    def rows(self) -> Iterator[slice]:
        """The rows of the elements of each step, in the order of the steps."""
        ends = np.cumsum(self.steps.sizes).tolist()
        found = [slice(b - n, b) for b, n in zip(ends, self.steps.sizes, strict=True)]
        return iter(found[::-1] if self.steps.reverse else found)

    def part(self, array: Array, name: str) -> Array:
        """The columns of a part, whose number is at the end of a name."""
        at = int(name[-1]) * self.width
        return array[:, at : at + self.width]

    def apply(self, back: bool, positions: dict[str, Array]) -> Pointwise:
        """The formula of a step on rows; ``positions`` has the rows of each kind of operand."""
        spec = self.cell.backward if back else self.cell.forward
        names = {*spec.inputs.split(), *spec.outputs.split()}
        arrays = {x: self.part(positions[x[:-1]], x) for x in names}
        given = tuple([view_of(arrays[x]) for x in spec.inputs.split()])
        made = tuple([view_of(arrays[x]) for x in spec.outputs.split()])
        kind = dtype_of(self.like.dtype).name
        name = f"{self.mode.lower()}_step{'_backward' * back}"
        return Pointwise(name, _formula(self.mode, back), given, made, kind, (None,) * len(given))

    def add_product(self, a: Array, b: Array, c: Array, accumulates: bool) -> None:
        """``c (+)= a @ b``."""
        self.where.run(Product(view_of(a), view_of(b), view_of(c), accumulates=accumulates))

    def previous(self, states: Array, first: Array) -> Array:
        """The rows of states before each step, of which the first ones are given."""
        made = self.new(*states.shape)
        if self.is_even:
            count = first.shape[0]
            end = states.shape[0] - count
            if self.steps.reverse:
                self.where.copy(made[end:], first)
                self.where.copy(made[:end], states[count:])
            else:
                self.where.copy(made[:count], first)
                self.where.copy(made[count:], states[:end])
            return made
        running = self.where.copied(first)
        for rows in self.rows():
            own = running[: rows.stop - rows.start]
            self.where.copy(made[rows], own)
            self.where.copy(own, states[rows])
        return made


def _biases(layer: _Layer, input_bias: Any, hidden_bias: Any) -> Array:
    """One row: the sums of the biases of joined gates, then those of the input, of the state."""
    where, width, cell = layer.where, layer.width, layer.cell
    joined, whole = cell.joined * width, cell.gates * width
    made = layer.new(1, 2 * whole - joined)
    where.fill(made, 0)
    for bias, rest in ((input_bias, joined), (hidden_bias, whole)):
        if bias is None:
            continue
        row = bias.reshape(1, whole)
        target = view_of(made[:, :joined])
        given = (target, view_of(row[:, :joined]))
        where.run(Pointwise.of_views("add", _sum(), given, target, dtype_of(made.dtype).name))
        if joined < whole:
            where.copy(made[:, rest : rest + whole - joined], row[:, joined:])
    return made


@functools.cache
def _sum() -> Formula:
    return trace(lambda x, y: x + y)


def forward(
    where: CudaBackend, mode: str, steps: Steps, input: Array, state: Sequence[Any],
    weights: Any,
) -> Forward:  # fmt: skip
    """See ``executor/families/recurrent.py``."""
    of_input, of_hidden, input_bias, hidden_bias = weights[:4]
    layer = _Layer(where, mode, steps, input, of_hidden.shape[1])
    cell, width, count = layer.cell, layer.width, steps.sequences
    gates: Array = where.matmul(input, of_input.T)
    bias = _biases(layer, input_bias, hidden_bias)
    hidden = layer.new(steps.elements, width)
    extra: Array = layer.new(steps.elements, width) if cell.has_extra else None
    sums = layer.new(count, cell.gates * width) if cell.has_sums else None
    last: Array = where.copied(state[0])
    last_cell: Array = where.copied(state[1]) if cell.has_cell else None
    now: Array = state[0]
    now_cell: Array = state[1] if cell.has_cell else None
    turned = of_hidden.T
    for rows in layer.rows():
        size = rows.stop - rows.start
        before = now[:size]
        positions = {"gates": gates[rows], "bias": bias, "hidden": hidden[rows], "before": before}
        if extra is not None:
            positions["extra"] = extra[rows]
        if now_cell is not None:
            positions["cell"] = now_cell[:size]
        if sums is None:
            layer.add_product(before, turned, gates[rows], True)
        else:
            positions["sums"] = sums[:size]
            layer.add_product(before, turned, sums[:size], False)
        where.run(layer.apply(False, positions))
        if layer.is_even:
            now, now_cell = hidden[rows], extra[rows] if last_cell is not None else None
        else:
            where.copy(last[:size], hidden[rows])
            now = last
            if last_cell is not None:
                where.copy(last_cell[:size], extra[rows])
                now_cell = last_cell
    if layer.is_even:
        where.copy(last, now)
        if last_cell is not None:
            where.copy(last_cell, now_cell)
    return Forward(hidden, last, last_cell, gates, extra)


def backward(
    where: CudaBackend, mode: str, steps: Steps, made: Sequence[Any], state: Sequence[Array],
    of_hidden: Array, grads: Sequence[Any],
) -> Backward:  # fmt: skip
    """See ``executor/families/recurrent.py``."""
    hidden, gates_made, extra = made
    layer = _Layer(where, mode, steps, hidden, of_hidden.shape[1])
    cell, width = layer.cell, layer.width

    def started(grad: Any, rows: int) -> Array:
        if grad is not None:
            return where.copied(grad)
        zeros = layer.new(rows, width)
        where.fill(zeros, 0)
        return zeros

    given = started(grads[0], steps.elements) if grads[0] is None else grads[0]
    carried = started(grads[1], steps.sequences)
    carried_cell = started(grads[2], steps.sequences) if cell.has_cell else None
    gates = layer.new(steps.elements, cell.gates * width)
    sums = layer.new(*gates.shape) if cell.has_sums else None
    previous = layer.previous(hidden, state[0])
    previous_cell = layer.previous(extra, state[1]) if cell.has_cell else None
    for rows in reversed(list(layer.rows())):
        size = rows.stop - rows.start
        positions = {
            "gates": gates_made[rows], "hidden": hidden[rows], "before": previous[rows],
            "given": given[rows], "carried": carried[:size], "gates_grad": gates[rows],
        }  # fmt: skip
        if extra is not None:
            positions["extra"] = extra[rows]
        if previous_cell is not None and carried_cell is not None:
            positions |= {"cell": previous_cell[rows], "cell_grad": carried_cell[:size]}
        if sums is not None:
            positions["sums_grad"] = sums[rows]
        where.run(layer.apply(True, positions))
        product = (gates if sums is None else sums)[rows]
        accumulates = "carried0" in cell.backward.outputs.split()
        layer.add_product(product, of_hidden, carried[:size], accumulates)
    return Backward(gates, gates if sums is None else sums, previous, carried, carried_cell)
