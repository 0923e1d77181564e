"""Recurrence in torch's top namespace: cells and layers, of weights that are given one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor
from .functional.recurrent import CELLS, Weights, check_cell, input_gates
from .functional.windows import named
from .recurrent import run_layers

__all__ = [
    "gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
    "rnn_tanh_cell",
]  # fmt: skip


def _stepped(
    name: str, mode: str, input: Tensor, state: tuple[Tensor, ...], w_ih: Tensor, w_hh: Tensor,
    b_ih: Tensor | None, b_hh: Tensor | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    weights = Weights(w_ih, w_hh, b_ih, b_hh, None)
    check_cell(name, mode, input, state, weights)
    return CELLS[mode].step(input_gates(mode, input, weights), state, weights)


def _cell(mode: str, name: str, what: str) -> Callable[..., Tensor]:
    def function(
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        return _stepped(name, mode, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]

    return named(function, name, f"The next hidden state of {what}.")


rnn_tanh_cell = _cell("RNN_TANH", "rnn_tanh_cell", "an Elman cell with tanh")
rnn_relu_cell = _cell("RNN_RELU", "rnn_relu_cell", "an Elman cell with relu")
gru_cell = _cell("GRU", "gru_cell", "a gated recurrent unit")


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The next hidden state and cell state of a long short-term memory."""
    if len(hx) != 2:
        raise RuntimeError(f"lstm_cell expects two hidden states, but got {len(hx)}")
    hidden, cell = _stepped("lstm_cell", "LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return hidden, cell


# --- layers ---------------------------------------------------------------------------------------


def _weights_of(
    name: str, parameters: Sequence[Tensor], has_biases: bool, cells: int, projected: bool
) -> list[Weights]:
    """The weights of every layer and direction, from all in a row."""
    each = (4 if has_biases else 2) + projected
    if len(parameters) != each * cells:
        raise RuntimeError(
            f"{name}(): expected {each} parameters for each of {cells} layers and directions, but "
            f"got {len(parameters)}"
        )
    found = []
    for first in range(0, len(parameters), each):
        own = parameters[first : first + each]
        of_input, of_state = (own[2], own[3]) if has_biases else (None, None)
        last = own[-1] if projected else None
        found.append(Weights(own[0], own[1], of_input, of_state, last))
    return found


def _layers(name: str, mode: str, arguments: Sequence[Any]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Layers over sequences in a tensor, or packed ones, as the kind of the second argument says.

    The arguments stand as torch's: ``(input, hx, params, has_biases, num_layers, dropout, train,
    bidirectional, batch_first)``, or ``(data, batch_sizes, hx, params, ...)`` without the last.
    """
    if len(arguments) != 9:
        raise TypeError(f"{name}() takes 9 arguments, but got {len(arguments)}")
    input, second = arguments[:2]
    is_packed = isinstance(arguments[3], (list, tuple))
    hx, parameters, biases, count, dropout, train, both = arguments[1 + is_packed : 8 + is_packed]
    state = tuple(hx) if mode == "LSTM" else (hx,)
    if len(state) != (2 if mode == "LSTM" else 1):
        raise RuntimeError(f"{name} expects two hidden states, but got {len(state)}")
    directions = 2 if both else 1
    projected = mode == "LSTM" and state[0].shape[-1] != state[1].shape[-1]
    weights = _weights_of(name, parameters, biases, count * directions, projected)
    chance = float(dropout) if train else 0.0
    if is_packed:
        return run_layers(mode, input, state, weights, directions, chance, second.tolist())
    batch_first = bool(arguments[8])
    rows = input.transpose(0, 1) if batch_first else input
    output, final = run_layers(mode, rows, state, weights, directions, chance)
    return output.transpose(0, 1) if batch_first else output, final


def _of_mode(mode: str, name: str, what: str) -> Callable[..., tuple[Tensor, ...]]:
    def function(*arguments: Any) -> tuple[Tensor, ...]:
        output, final = _layers(name, mode, arguments)
        return output, *final

    return named(
        function, name,
        f"The outputs of layers of {what} at all times, and their last state.\n\n"
        "    Arguments are ``(input, hx, params, has_biases, num_layers, dropout, train,\n"
        "    bidirectional, batch_first)``, or for packed sequences ``(data, batch_sizes, hx,\n"
        "    params, ...)`` without the last one.",
    )  # fmt: skip


rnn_tanh = _of_mode("RNN_TANH", "rnn_tanh", "Elman cells with tanh")
rnn_relu = _of_mode("RNN_RELU", "rnn_relu", "Elman cells with relu")
gru = _of_mode("GRU", "gru", "gated recurrent units")
lstm = _of_mode("LSTM", "lstm", "long short-term memories")
