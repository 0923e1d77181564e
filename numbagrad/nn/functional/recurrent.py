"""Recurrent cells and layers: Elman networks, LSTM and GRU, step by step over a sequence.

The layers of ``nn/recurrent.py`` call these functions. What happens to the gates of a step is one
pointwise operator, so one kernel forward and one backward; their gradients are derived from the
formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...formula import maximum, sigmoid, tanh
from ...ops.operators.definition import PointwiseDefinition
from ...ops.operators.pointwise_operator import PointwiseOperator
from ...ops.views.join import cat, stack
from ...tensor import Tensor
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
    """What the input (..., features) contributes to the gates of every step."""
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


def run_layer(
    mode: str, input: Tensor, state: State, weights: Weights, reverse: bool = False
) -> tuple[Tensor, State]:
    """One layer over a sequence (time, batch, features), from its end if ``reverse``.

    Returns the hidden states of all times, and the last state.
    """
    step = CELLS[mode].step
    times: Sequence[Tensor] = input_gates(mode, input, weights).unbind(0)
    outputs = []
    for gates in reversed(times) if reverse else times:
        state = step(gates, state, weights)
        outputs.append(state[0])
    return stack(outputs[::-1] if reverse else outputs), state


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
    step = CELLS[mode].step
    pieces = list(zip(input_gates(mode, input, weights).split(sizes), sizes, strict=True))
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
    return cat(outputs[::-1] if reverse else outputs), now
