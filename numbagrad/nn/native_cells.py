"""The recurrent cells in torch's top namespace: one step, of weights that are given one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..tensor import Tensor
from .functional.recurrent import CELLS, Weights, check_cell, input_gates
from .functional.windows import named

__all__ = ["gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"]


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
