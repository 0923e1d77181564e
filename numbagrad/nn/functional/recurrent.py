"""Recurrent cells and layers: Elman networks, LSTM and GRU, step by step over a sequence.

The layers of ``nn/recurrent.py`` call these functions. All steps of a layer are one operator with
kernels of its own (``executor/families/recurrent.py``). Cells, and layers that have no kernels, go
step by step; what happens to the gates of a step is a pointwise operator then, whose gradient is
derived.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...executor.families import recurrent as executor
from ...executor.families.recurrent import Steps
from ...formula import maximum, sigmoid, tanh
from ...ops.operators.definition import PointwiseDefinition
from ...ops.operators.kernel_operator import KernelOperator
from ...ops.operators.pointwise_operator import PointwiseOperator
from ...ops.views.join import cat
from ...tensor import Tensor, new_tensor
from .linear import linear

__all__ = ["CELLS", "Weights", "run_layer", "run_packed_layer"]


class Weights(NamedTuple):
    """The weights of one layer in one direction; rows are those of the gates, one after another."""

    input: Tensor
    hidden: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None
    projection: Tensor | None = None


#: The hidden state of a cell; an LSTM has its cell state behind it.
State = tuple[Tensor, ...]


def _operator(name: str, formula: Callable[..., Any]) -> PointwiseOperator:
    grad_fn = "".join(part.capitalize() for part in name.split("_")) + "Backward0"
    return PointwiseOperator(
        PointwiseDefinition(name, formula, dtypes="float", in_place=False, grad_fn=grad_fn)
    )


_rnn_tanh = _operator("rnn_tanh_cell", lambda x, h: tanh(x + h))
_rnn_relu = _operator("rnn_relu_cell", lambda x, h: maximum(x + h, 0))
_lstm_cell_state = _operator(
    "lstm_cell_state",
    lambda enter, keep, new, cell: sigmoid(keep) * cell + sigmoid(enter) * tanh(new),
)
_lstm_hidden = _operator("lstm_hidden", lambda leave, cell: sigmoid(leave) * tanh(cell))
_gru_new = _operator(
    "gru_new", lambda x_reset, h_reset, x, h: tanh(x + sigmoid(x_reset + h_reset) * h)
)
_gru_hidden = _operator(
    "gru_hidden",
    lambda x_keep, h_keep, new, hidden: new + sigmoid(x_keep + h_keep) * (hidden - new),
)

# --- steps ----------------------------------------------------------------------------------------
#
# A step gets what the input contributes to the gates, computed for the whole sequence at once.


def _elman_step(operator: PointwiseOperator) -> Callable[[Tensor, State, Weights], State]:
    def step(gates: Tensor, state: State, weights: Weights) -> State:
        return (operator(gates, linear(state[0], weights.hidden, weights.hidden_bias)),)

    return step


def _lstm_step(gates: Tensor, state: State, weights: Weights) -> State:
    hidden, cell = state
    # The gates of the input take the place of a bias: one node for the product and the sum.
    enter, keep, new, leave = linear(hidden, weights.hidden, gates).chunk(4, -1)
    cell = _lstm_cell_state(enter, keep, new, cell)
    hidden = _lstm_hidden(leave, cell)
    if weights.projection is not None:
        hidden = linear(hidden, weights.projection)
    return hidden, cell


def _gru_step(gates: Tensor, state: State, weights: Weights) -> State:
    (hidden,) = state
    x_reset, x_keep, x = gates.chunk(3, -1)
    h_reset, h_keep, h = linear(hidden, weights.hidden, weights.hidden_bias).chunk(3, -1)
    return (_gru_hidden(x_keep, h_keep, _gru_new(x_reset, h_reset, x, h), hidden),)


class Cell(NamedTuple):
    """A kind of recurrent cell."""

    gates: int
    step: Callable[[Tensor, State, Weights], State]
    #: Whether both biases go to one sum, so that the input's share can hold them together.
    joins_biases: bool


#: The cells by torch's name of the mode.
CELLS = {
    "RNN_TANH": Cell(1, _elman_step(_rnn_tanh), False),
    "RNN_RELU": Cell(1, _elman_step(_rnn_relu), False),
    "LSTM": Cell(4, _lstm_step, True),
    "GRU": Cell(3, _gru_step, False),
}


def input_gates(mode: str, input: Tensor, weights: Weights) -> Tensor:
    """The part of the gates of every step that comes from the input (..., features)."""
    bias = weights.input_bias
    if CELLS[mode].joins_biases and weights.hidden_bias is not None:
        bias = weights.hidden_bias if bias is None else bias + weights.hidden_bias
    return linear(input, weights.input, bias)


def check_cell(name: str, mode: str, input: Tensor, state: State, weights: Weights) -> None:
    """The errors of the shapes of one step: of input, hidden states and weights.

    Raises:
        IndexError: for tensors of too few dimensions.
        RuntimeError: for sizes that do not fit.
    """
    gates = CELLS[mode].gates
    given, rows, inner = input._array.shape, weights.input._array.shape, weights.hidden._array.shape
    if len(given) == len(inner) == 2:
        batch, size = given[0], inner[1]
        if rows == (gates * size, given[1]) and inner[0] == gates * size:
            if [x._array.shape for x in state] == [(batch, size)] * len(state):
                return
    states = {f"hx[{n}]" if len(state) > 1 else "hx": x for n, x in enumerate(state)}
    for argument, value, least in (
        ("input", input, 2), *[(hx, x, 1) for hx, x in states.items()],
        ("w_ih", weights.input, 1 if gates == 1 else 2), ("w_hh", weights.hidden, 2),
    ):  # fmt: skip
        if value._array.ndim < least:
            raise IndexError(
                f"{name}(): argument '{argument}' must have 2 dimensions, but it has shape "
                f"{list(value._array.shape)}"
            )
    batch, features = input._array.shape[:2]
    size = inner[1]
    if input._array.ndim != 2 or len(rows) != 2 or features != rows[1]:
        raise RuntimeError(
            f"{name}(): input has inconsistent input_size: an input of shape (batch, features) "
            f"needs w_ih of shape ({gates * size}, features), but got {list(input._array.shape)} "
            f"and {list(rows)}"
        )
    for argument, value in states.items():
        if value._array.shape != (batch, size):
            raise RuntimeError(
                f"{name}(): {argument} must have the batch of the input and the size of w_hh, "
                f"{[batch, size]}, but it has shape {list(value._array.shape)}"
            )
    for argument, shape in (("w_ih", rows), ("w_hh", inner)):
        if len(shape) != 2 or shape[0] != gates * size:
            raise RuntimeError(
                f"{name}(): {argument} first dim must be {gates} * hidden_size = {gates * size}, "
                f"but it has shape {list(shape)}"
            )


# --- layers ---------------------------------------------------------------------------------------


def _all_steps(
    input: Tensor,
    hidden: Tensor,
    cell: Tensor | None,
    of_input: Tensor,
    of_hidden: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
    projection: Tensor | None,
    mode: str,
    steps: Steps,
) -> tuple[Tensor, ...]:
    """One layer over elements (elements, features), step by step.

    Returns the hidden states of all elements, and the last states of all sequences.
    """
    weights = Weights(of_input, of_hidden, input_bias, hidden_bias, projection)
    step = CELLS[mode].step
    state = (hidden,) if cell is None else (hidden, cell)
    sizes, reverse = steps
    pieces = list(zip(input_gates(mode, input, weights).split(list(sizes)), sizes, strict=True))
    outputs: list[Tensor] = []
    ended: list[State] = []
    present = sizes[-1] if reverse else sizes[0]
    now = tuple([part[:present] for part in state])
    for gates, size in reversed(pieces) if reverse else pieces:
        if size < present:  # the last ones have ended
            ended.append(tuple([part[size:] for part in now]))
            now = tuple([part[:size] for part in now])
        elif size > present:  # others begin
            begin = [part[present:size] for part in state]
            now = tuple([cat(parts) for parts in zip(now, begin, strict=True)])
        present = size
        now = step(gates, now, weights)
        outputs.append(now[0])
    if ended:
        now = tuple([cat(parts) for parts in zip(now, *reversed(ended), strict=True)])
    return cat(outputs[::-1] if reverse else outputs), *now


def _takes(
    input: Any, hidden: Any, cell: Any, of_input: Any, of_hidden: Any, input_bias: Any,
    hidden_bias: Any, projection: Any, mode: str, steps: Steps,
) -> bool:  # fmt: skip
    """Whether kernels compute all steps of these arrays."""
    if projection is not None:
        return False
    state = (hidden,) if cell is None else (hidden, cell)
    return executor.takes(mode, steps, input, state, (of_input, of_hidden, input_bias, hidden_bias))


def _forward(
    input: Any, hidden: Any, cell: Any, of_input: Any, of_hidden: Any, input_bias: Any,
    hidden_bias: Any, projection: Any, mode: str, steps: Steps,
) -> tuple[Any, ...]:  # fmt: skip
    weights = of_input, of_hidden, input_bias, hidden_bias
    made = executor.forward(mode, steps, input, (hidden, cell), weights)
    output, *others = [x for x in made if x is not None]
    if mode in _READS_RESULT:
        return output, *others
    return executor.copied(output), *others, output


def _gradients(
    grads: Sequence[Tensor | None], arguments: Sequence[Any], results: Sequence[Any],
    kept: Sequence[Any], needed: Sequence[bool],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """The gradients of a layer: those of its gates by a kernel, and products with them."""
    input, hidden, cell, of_input, of_hidden, input_bias, hidden_bias, _, mode, steps = arguments
    extra = kept[1] if executor.CELLS[mode].has_extra else None
    output = results[0] if mode in _READS_RESULT else kept[-1]
    state = [x._array for x in (hidden, cell) if x is not None]
    given = [None if x is None else x._array for x in grads]
    found = executor.backward(mode, steps, (output, kept[0], extra), state, of_hidden._array, given)
    gates, sums, previous = [new_tensor(x) for x in found[:3]]

    @functools.cache
    def bias_grad() -> Tensor:
        return gates.sum(0)

    def hidden_bias_grad() -> Tensor:
        if found.sums is not found.gates:
            return sums.sum(0)
        return bias_grad().clone() if input_bias is not None else bias_grad()

    makers: tuple[tuple[Any, Callable[[], Tensor]], ...] = (
        (input, lambda: gates.mm(of_input)),
        (hidden, lambda: new_tensor(found.hidden)),
        (cell, lambda: new_tensor(found.cell)),  # type: ignore[arg-type]
        (of_input, lambda: gates.t().mm(input)),
        (of_hidden, lambda: sums.t().mm(previous)),
        (input_bias, bias_grad),
        (hidden_bias, hidden_bias_grad),
    )
    present = [make for tensor, make in makers if tensor is not None]
    return tuple([make() if need else None for make, need in zip(present, needed, strict=True)])


#: Layers whose result the backward reads, which may not be written then; as in torch.
_READS_RESULT = ("LSTM",)


def _layer(mode: str) -> KernelOperator:
    reads = mode in _READS_RESULT
    return KernelOperator(
        f"{mode.lower()}_layer", _all_steps, _takes, _forward, _gradients,
        "MkldnnRnnLayerBackward0" if reads else "StackBackward0", 3 if reads else 2, int(reads),
    )  # fmt: skip


_OPERATORS = {mode: _layer(mode) for mode in CELLS}


def _run(
    mode: str, input: Tensor, steps: Steps, state: State, weights: Weights
) -> tuple[Tensor, State]:
    hidden, cell = state if len(state) == 2 else (state[0], None)
    output, *last = _OPERATORS[mode](input, hidden, cell, *weights, mode, steps)
    return output, tuple(last)


def run_layer(
    mode: str, input: Tensor, state: State, weights: Weights, reverse: bool = False
) -> tuple[Tensor, State]:
    """One layer over a sequence (time, batch, features), from its end if ``reverse``.

    Returns the hidden states of all times, and the last state.
    """
    times, batch = input._array.shape[:2]
    steps = Steps((batch,) * times, reverse)
    output, last = _run(mode, input.flatten(0, 1), steps, state, weights)
    return output.unflatten(0, (times, batch)), last


def run_packed_layer(
    mode: str,
    input: Tensor,
    sizes: list[int],
    state: State,
    weights: Weights,
    reverse: bool = False,
) -> tuple[Tensor, State]:
    """One layer over packed sequences (elements, features), from their ends if ``reverse``.

    ``sizes`` says how many sequences have an element at each step. Returns the hidden states of all
    elements, and the last states of all sequences.
    """
    return _run(mode, input, Steps(tuple(sizes), reverse), state, weights)
