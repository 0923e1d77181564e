"""Recurrent layers on ndarrays: all steps of one layer and one direction, forward and back.

Called by ``nn/functional/recurrent.py``; runs what ``kernels/recurrent/steps.py`` holds. What
happens to the gates of a step is a formula for each kind of cell, and a second one for its
gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...backend import foreign, foreign_among
from ...formula import maximum, sigmoid, tanh, trace, where
from ...kernels import layout
from ...kernels.pointwise import source as pointwise
from ...kernels.recurrent import layout as w
from .. import capture
from ..cache import library
from ..hand_written import HandWrittenKernel
from ..memory import arrays
from ..plan.formula_kernels import guard_of, kernel_source
from .matmul import matmul

__all__ = ["CELLS", "Backward", "Forward", "Steps", "backward", "forward", "takes"]

Array = np.ndarray[Any, Any]

_GRAIN = 16  # sequences that share a pass over the weights; fewer cost more than a thread gains
_WORK = 1 << 20  # multiplications of all steps below which one thread does them all


class _Formula(NamedTuple):
    """A formula on the rows of a step: what its inputs and its outputs are, by name and column.

    ``gates2`` is the third part of the gates; ``_FORWARD`` and ``_BACKWARD`` have the names.
    """

    function: Callable[..., Any]
    inputs: str
    outputs: str


class Cell(NamedTuple):
    """A kind of cell.

    ``joined`` of its gates have one bias, the sum of both. ``has_sums`` says that what the hidden
    state contributes is not added to the gates but kept apart.
    """

    gates: int
    joined: int
    forward: _Formula
    backward: _Formula
    has_cell: bool = False
    has_sums: bool = False

    @property
    def has_extra(self) -> bool:
        """Whether its backward reads something of each element beside the gates."""
        return self.has_cell or self.has_sums


def _lstm(enter, keep, new, leave, enter_bias, keep_bias, new_bias, leave_bias, before):
    enter, keep = sigmoid(enter + enter_bias), sigmoid(keep + keep_bias)
    new, leave = tanh(new + new_bias), sigmoid(leave + leave_bias)
    now = keep * before + enter * new
    return enter, keep, new, leave, now, leave * tanh(now)


def _lstm_gradient(enter, keep, new, leave, before, now, given, carried, cell):
    grad, bent = given + carried, tanh(now)
    cell = cell + grad * leave * (1 - bent * bent)
    return (
        cell * new * enter * (1 - enter),
        cell * before * keep * (1 - keep),
        cell * enter * (1 - new * new),
        grad * bent * leave * (1 - leave),
        cell * keep,
    )


def _gru(
    reset, keep, new, reset_sum, keep_sum, new_sum, reset_bias, keep_bias, new_bias, sum_bias,
    before,
):  # fmt: skip
    reset, keep = sigmoid(reset + reset_sum + reset_bias), sigmoid(keep + keep_sum + keep_bias)
    inner = new_sum + sum_bias
    new = tanh(new + new_bias + reset * inner)
    return reset, keep, new, inner, new + keep * (before - new)


def _gru_gradient(reset, keep, new, inner, before, given, carried):
    grad = given + carried
    of_keep = grad * (before - new) * keep * (1 - keep)
    of_new = grad * (1 - keep) * (1 - new * new)
    of_reset = of_new * inner * reset * (1 - reset)
    return of_reset, of_keep, of_new, of_reset, of_keep, of_new * reset, grad * keep


def _elman(gradient: Callable[..., Any], bend: Callable[..., Any]) -> Cell:
    return Cell(
        1, 1,
        _Formula(lambda gate, bias: bend(gate + bias), "gates0 bias0", "hidden0"),
        _Formula(
            lambda now, given, carried: gradient(given + carried, now),
            "hidden0 given0 carried0", "gates_grad0",
        ),
    )  # fmt: skip


#: The cells by torch's name of the mode.
CELLS = {
    "RNN_TANH": _elman(lambda grad, now: grad * (1 - now * now), tanh),
    "RNN_RELU": _elman(lambda grad, now: where(now <= 0, 0, grad), lambda x: maximum(x, 0)),
    "LSTM": Cell(
        4, 4,
        _Formula(
            _lstm, "gates0 gates1 gates2 gates3 bias0 bias1 bias2 bias3 cell0",
            "gates0 gates1 gates2 gates3 extra0 hidden0",
        ),
        _Formula(
            _lstm_gradient, "gates0 gates1 gates2 gates3 cell0 extra0 given0 carried0 cell_grad0",
            "gates_grad0 gates_grad1 gates_grad2 gates_grad3 cell_grad0",
        ),
        has_cell=True,
    ),
    "GRU": Cell(
        3, 2,
        _Formula(
            _gru,
            "gates0 gates1 gates2 sums0 sums1 sums2 bias0 bias1 bias2 bias3 before0",
            "gates0 gates1 gates2 extra0 hidden0",
        ),
        _Formula(
            _gru_gradient, "gates0 gates1 gates2 extra0 before0 given0 carried0",
            "gates_grad0 gates_grad1 gates_grad2 sums_grad0 sums_grad1 sums_grad2 carried0",
        ),
        has_sums=True,
    ),
}  # fmt: skip


class _Position(NamedTuple):
    """Where the rows of an operand lie: its argument, what its rows are, and its parts."""

    argument: int
    rows: int
    is_wide: bool = False
    beginning: int = 0


_FORWARD = {
    "gates": _Position(w.GATES, w.OF_ELEMENTS, True),
    "sums": _Position(w.SUMS, w.OF_SEQUENCES, True),
    "bias": _Position(w.BIAS, w.REPEATED),
    "extra": _Position(w.EXTRA, w.OF_ELEMENTS),
    "hidden": _Position(w.HIDDEN, w.OF_ELEMENTS),
    "before": _Position(w.HIDDEN, w.OF_PREVIOUS, False, w.FIRST_HIDDEN),
    "cell": _Position(w.EXTRA, w.OF_PREVIOUS, False, w.FIRST_CELL),
}
_BACKWARD = {
    "gates": _Position(w.BACK_GATES, w.OF_ELEMENTS, True),
    "extra": _Position(w.BACK_EXTRA, w.OF_ELEMENTS),
    "hidden": _Position(w.BACK_HIDDEN, w.OF_ELEMENTS),
    "before": _Position(w.BACK_HIDDEN, w.OF_PREVIOUS, False, w.BACK_FIRST_HIDDEN),
    "cell": _Position(w.BACK_EXTRA, w.OF_PREVIOUS, False, w.BACK_FIRST_CELL),
    "given": _Position(w.RESULT_GRAD, w.OF_ELEMENTS),
    "carried": _Position(w.HIDDEN_GRAD, w.OF_SEQUENCES),
    "cell_grad": _Position(w.CELL_GRAD, w.OF_SEQUENCES),
    "gates_grad": _Position(w.GATES_GRAD, w.OF_ELEMENTS, True),
    "sums_grad": _Position(w.SUMS_GRAD, w.OF_ELEMENTS, True),
}


class Steps(NamedTuple):
    """The steps of a layer: how many sequences have an element at each time, and the direction."""

    sizes: tuple[int, ...]
    reverse: bool

    @property
    def elements(self) -> int:
        """Rows of all times."""
        return sum(self.sizes)

    @property
    def sequences(self) -> int:
        """How many there are."""
        return max(self.sizes)


@functools.lru_cache(maxsize=256)
def _plan(mode: str, width: int, steps: Steps, back: bool) -> Array:
    """The arguments of ``kernels/recurrent/layout.py``."""
    cell = CELLS[mode]
    formula, positions = (cell.backward, _BACKWARD) if back else (cell.forward, _FORWARD)
    names = [*formula.inputs.split(), *formula.outputs.split()]
    depth = cell.gates * width
    plan = np.zeros(w.OPERANDS + w.OPERAND_WORDS * len(names) + 2 * len(steps.sizes), np.int64)
    plan[[w.STEPS, w.REVERSE, w.WIDTH, w.DEPTH]] = len(steps.sizes), steps.reverse, width, depth
    if back:
        plan[w.PRODUCT] = w.SUMS_GRAD if cell.has_sums else w.GATES_GRAD
        plan[w.ACCUMULATES] = "carried0" in formula.outputs
    else:
        plan[w.PRODUCT] = w.SUMS if cell.has_sums else w.GATES
        plan[w.ROWS_APART], plan[w.ACCUMULATES] = cell.has_sums, not cell.has_sums
    plan[w.HAS_CELL], plan[w.COUNT] = cell.has_cell, len(names)
    for number, name in enumerate(names):
        position, part = positions[name[:-1]], int(name[-1])
        pitch = 0 if position.rows == w.REPEATED else depth if position.is_wide else width
        operand = w.OPERANDS + w.OPERAND_WORDS * number
        plan[operand : operand + w.OPERAND_WORDS] = (
            position.argument, position.beginning, part * width, position.rows, pitch
        )  # fmt: skip
    first = len(plan) - 2 * len(steps.sizes)
    plan[first:] = [*steps.sizes, *np.cumsum([0, *steps.sizes[:-1]])]
    plan.flags.writeable = False
    return plan


def _launch_args(plan: Array) -> Array:
    """The arguments of a plan; a program keeps its own."""
    if capture.active is None:
        return plan
    made: Array = arrays.constant(plan.copy())
    return made


@library.remembered
def _formula(mode: str, back: bool, dtype: str) -> int:
    """The address of the kernel of a formula, which is called for the rows of a step."""
    spec = CELLS[mode].backward if back else CELLS[mode].forward
    formula = trace(spec.function)
    given, made = spec.inputs.split(), spec.outputs.split()
    numbers = {name: 1 + k for k, name in enumerate(dict.fromkeys([*given, *made]))}
    outputs = [
        pointwise.Operand(f"out{k}", dtype, memory=numbers[name]) for k, name in enumerate(made)
    ]
    inputs = []
    for name, position in zip(formula.inputs, given, strict=True):
        if position in made:
            of = f"out{made.index(position)}"
            inputs.append(pointwise.Operand(name, dtype, layout.ALIAS, of, numbers[position]))
        else:
            inputs.append(pointwise.Operand(name, dtype, memory=numbers[position]))
    name = f"{mode.lower()}_step{'_backward' if back else ''}"
    source = kernel_source(name, formula, inputs, outputs, dtype, tile=True)
    code = "guarded" if guard_of(formula, dtype) else "formula"
    return library.generated(name, source, code=code)


@functools.cache
def _kernel(name: str, dtype: str, updates: int = 0, writes: int = 1) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.recurrent.steps", f"{name}_{dtype}", updates, writes)


def _panels(matrix: Array, transposed: bool) -> Array:
    """A matrix, or its transpose, as panels that the micro-kernel of products reads."""
    rows, columns = matrix.shape[::-1] if transposed else matrix.shape
    # Room for panels of every width, and for what packing writes behind them.
    made = arrays.new_array(((columns + 64) * rows + 64 * 65,), matrix.dtype)
    across, step = (rows, 1) if transposed else (1, columns)
    _kernel("pack_weights", matrix.dtype.name)(1, 1, made, matrix, rows, columns, across, step)
    return made


def copied(array: Array) -> Array:
    """A copy, in memory of the pool if it is large."""
    if (where := foreign(array)) is not None:
        elsewhere: Array = where.copied(array)
        return elsewhere
    made = arrays.new_array(array.shape, array.dtype)
    made[...] = array
    if (found := capture.active and capture.current_trace()) is not None:
        found.copy(array, made, made=True)
    return made


def takes(
    mode: str, steps: Steps, input: Array, state: Sequence[Array], weights: Sequence[Array | None]
) -> bool:
    """Whether the kernels compute a layer of these arrays: they fit, and none is empty.

    What does not fit is left to the operators of single steps, which raise.
    """
    present = [x for x in (input, *state, *weights) if x is not None]
    if (where := foreign_among(present)) is not None:
        if capture.active is not None or not where.takes_recurrent(present):
            return False  # programs have single operations, which are joined there
        kinds: tuple[Any, ...] = ({x.dtype for x in present},)
    else:
        kinds = ({np.dtype(np.float32)}, {np.dtype(np.float64)})
    known = {x.dtype for x in present} in kinds
    if not known or min(steps.sizes, default=0) == 0 or not all([x.size for x in present]):
        return False
    width, gates = weights[1].shape[-1], CELLS[mode].gates  # type: ignore[union-attr]
    shapes = (gates * width, input.shape[-1]), (gates * width, width)
    fitting = [x is None or x.shape == (gates * width,) for x in weights[2:]]
    fitting += [x.shape == (steps.sequences, width) for x in state]
    fitting += [
        x.shape == shape for x, shape in zip(weights, shapes, strict=False) if x is not None
    ]
    return all(fitting) and input.shape[0] == steps.elements


class Forward(NamedTuple):
    """Results of a layer, and the arrays that its backward reads beside them.

    Attributes:
        hidden: the hidden states of all times (elements, width).
        last_hidden, last_cell: the last states of all sequences (sequences, width); only an LSTM
            has a cell.
        gates: (elements, gates * width), as the formula left them.
        extra: (elements, width), the cells of an LSTM, and of a GRU what ``reset`` multiplies.
    """

    hidden: Array
    last_hidden: Array
    last_cell: Array | None
    gates: Array
    extra: Array | None


def forward(
    mode: str, steps: Steps, input: Array, state: Sequence[Array], weights: Sequence[Any]
) -> Forward:
    """A layer over elements (elements, features); weights are those of ``Weights``."""
    if (where := foreign(input)) is not None:
        found: Forward = where.recurrent(mode, steps, input, state, weights)
        return found
    cell, dtype = CELLS[mode], input.dtype
    of_input, of_hidden, input_bias, hidden_bias = weights[:4]
    width = of_hidden.shape[1]
    elements, sequences = steps.elements, steps.sequences
    gates = matmul(arrays.in_c_order(input), of_input.T)
    bias = np.empty((2 * cell.gates - cell.joined) * width, dtype)
    _kernel("join_biases", dtype.name)(
        len(bias), 1 << 20, bias, 0 if input_bias is None else arrays.in_c_order(input_bias),
        0 if hidden_bias is None else arrays.in_c_order(hidden_bias), cell.joined * width,
        cell.gates * width,
    )  # fmt: skip
    hidden, last = arrays.new_array((elements, width), dtype), np.empty((sequences, width), dtype)
    extra = arrays.new_array((elements, width), dtype) if cell.has_extra else None
    last_cell = np.empty((sequences, width), dtype) if cell.has_cell else None
    sums = arrays.new_array((sequences, cell.gates * width), dtype) if cell.has_sums else None
    _kernel("run_forward", dtype.name, 1, 6)(
        sequences, _grain(gates, width, sequences), hidden,
        *[0 if x is None else x for x in (extra, last, last_cell, sums)], gates,
        arrays.in_c_order(state[0]), arrays.in_c_order(state[1]) if cell.has_cell else 0,
        _panels(arrays.in_c_order(of_hidden), True), bias, 0, 0,
        _launch_args(_plan(mode, width, steps, False)), _formula(mode, False, dtype.name),
    )  # fmt: skip
    return Forward(hidden, last, last_cell, gates, extra)


def _grain(gates: Array, width: int, sequences: int) -> int:
    return _GRAIN if gates.size * width > _WORK else sequences


class Backward(NamedTuple):
    """Gradients that the steps give: those of gates, sums and first states.

    ``previous`` are the hidden states before each step. ``sums`` are the gradients of what the
    hidden state contributes, the gates' own unless a cell keeps it apart.
    """

    gates: Array
    sums: Array
    previous: Array
    hidden: Array
    cell: Array | None


def backward(
    mode: str,
    steps: Steps,
    made: tuple[Array, Array, Array | None],
    state: Sequence[Array],
    of_hidden: Array,
    grads: Sequence[Array | None],
) -> Backward:
    """The gradients behind a layer, given those of its results; None stands for zeros.

    ``made`` are the hidden states, the gates and what is extra, of :class:`Forward`.
    """
    if (where := foreign(made[0])) is not None:
        found: Backward = where.recurrent_backward(mode, steps, made, state, of_hidden, grads)
        return found
    hidden, gates_made, extra = made
    cell, dtype, width = CELLS[mode], hidden.dtype, of_hidden.shape[1]
    shape = steps.sequences, width

    def started(grad: Array | None) -> Array:
        """A gradient of last states, in memory of its own."""
        if grad is None:
            return arrays.filled(shape, dtype, 0)
        return copied(grad)

    given = grads[0]
    given = arrays.filled(hidden.shape, dtype, 0) if given is None else arrays.in_c_order(given)
    carried = started(grads[1])
    carried_cell = started(grads[2]) if cell.has_cell else None
    gates = arrays.new_array((steps.elements, cell.gates * width), dtype)
    sums = arrays.new_array(gates.shape, dtype) if cell.has_sums else None
    previous = arrays.new_array(hidden.shape, dtype)
    _kernel("run_backward", dtype.name, 2 if cell.has_cell else 1, 5 if cell.has_cell else 4)(
        shape[0], _grain(gates, width, shape[0]), gates, 0 if sums is None else sums, previous,
        carried, 0 if carried_cell is None else carried_cell, hidden,
        0 if extra is None else extra, gates_made,
        arrays.in_c_order(state[0]), arrays.in_c_order(state[1]) if cell.has_cell else 0,
        _panels(arrays.in_c_order(of_hidden), False), given,
        _launch_args(_plan(mode, width, steps, True)), _formula(mode, True, dtype.name),
    )  # fmt: skip
    return Backward(gates, gates if sums is None else sums, previous, carried, carried_cell)
