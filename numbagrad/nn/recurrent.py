"""Recurrent layers and cells: RNN, LSTM, GRU.

The layers hold parameters under torch's names, check what they are given and run the layers of
``functional/recurrent.py`` one above the other.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..ops.arguments.requirements import require_tensor
from ..ops.creation.filled import empty, zeros
from ..ops.views.join import cat, stack
from ..tensor import Tensor
from . import functional as F
from . import init
from .functional.recurrent import (
    CELLS,
    State,
    Weights,
    check_cell,
    input_gates,
    run_layer,
    run_packed_layer,
)
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


def _draw(module: Module, hidden_size: int) -> None:
    """Initial values of all weights: uniform in ±1/sqrt(hidden_size)."""
    bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


def _check_options(
    dropout: Any, bias: Any, batch_first: Any, num_layers: int, sizes: dict[str, Any]
) -> None:
    if not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in sizes.items():
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")


class RNNBase(Module):
    """Layers of recurrent cells of one kind, from one end of a sequence or from both.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        input_size: features of the input.
        hidden_size: features of the hidden state.
        num_layers: how many lie above each other.
        bias: whether there are biases.
        batch_first: whether input and output are (batch, time, features), not (time, batch, ...).
        dropout: probability of dropout between layers.
        bidirectional: whether a second set of cells starts from the end.
        proj_size: if not 0, the size that an LSTM's hidden state is projected to.
    """

    #: The name of the input in torch's message on one of other dimensions.
    _noun = ""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(hidden_size, bool):
            raise TypeError(f"{mode}: argument 'hidden_size' must be int, not bool")
        sizes = {"input_size": input_size, "hidden_size": hidden_size}
        _check_options(dropout, bias, batch_first, num_layers, sizes)
        if proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in CELLS:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._names: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._directions]:
                self._add_weights(layer, suffix, device, dtype)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _add_weights(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        rows = CELLS[self.mode].gates * self.hidden_size
        columns = self._output_size * self._directions if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, columns),
            "weight_hh": (rows, self._output_size),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            weight = Parameter(empty(*shape, device=device, dtype=dtype))
            setattr(self, f"{name}_l{layer}{suffix}", weight)
        self._names.append([f"{name}_l{layer}{suffix}" for name in shapes])

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def flatten_parameters(self) -> None:
        """Nothing: it is a matter of GPUs."""

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        _draw(self, self.hidden_size)

    def _weights(self) -> list[Weights]:
        found = []
        for names in self._names:
            input, hidden, *rest = [getattr(self, name) for name in names]
            input_bias, hidden_bias = rest[:2] if self.bias else (None, None)
            projection = rest[-1] if self.proj_size else None
            found.append(Weights(input, hidden, input_bias, hidden_bias, projection))
        return found

    def _check_input(self, input: Tensor) -> None:
        dtype = getattr(self, self._names[0][0]).dtype
        if input.dtype != dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert "
                f"input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def _state_sizes(self) -> tuple[int, ...]:
        """The features of each part of the state."""
        return (self._output_size,)

    def _start(self, input: Tensor, state: State | None, batch: int) -> State:
        """The state to begin with, checked or zero: each part (layers, batch, features)."""
        shapes = [(self.num_layers * self._directions, batch, size) for size in self._state_sizes()]
        if state is None:
            where = {"dtype": input.dtype, "device": input.device}
            return tuple([zeros(*shape, **where) for shape in shapes])
        for position, (part, shape) in enumerate(zip(state, shapes, strict=True)):
            if part._array.shape != shape:
                name = f"hidden[{position}]" if len(shapes) > 1 else "hidden"
                raise RuntimeError(f"Expected {name} size {shape}, got {list(part.shape)}")
        return state

    def _run(
        self, input: Tensor, state: State, sizes: list[int] | None = None
    ) -> tuple[Tensor, State]:
        """All layers over (time, batch, features), or over packed sequences of these sizes."""
        dropout = self.dropout if self.training else 0.0
        return run_layers(
            self.mode, input, state, self._weights(), self._directions, dropout, sizes
        )

    def _check_dimensions(self, input: Tensor, state: State | None) -> None:
        require_tensor(self._get_name(), input)
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.ndim}D{self._noun} "
                "instead"
            )
        if state is not None:
            require_tensor(self._get_name(), state[0], "hx", 2)
        if state is not None and state[0].ndim != input.ndim:
            batched = "batched" if input.ndim == 3 else "unbatched"
            raise RuntimeError(
                f"For {batched} {input.ndim}-D input, hx should also be {input.ndim}-D but got "
                f"{state[0].ndim}-D tensor"
            )

    def _forward(self, input: Any, state: State | None) -> tuple[Any, State]:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, state)
        self._check_dimensions(input, state)
        batched = input.ndim == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
            if state is not None:
                state = tuple([part.unsqueeze(1) for part in state])
        self._check_input(input)
        state = self._start(input, state, input.size(batch_dim))
        if not input.size(1 - batch_dim):
            raise RuntimeError(
                f"{self._get_name()}: Expected sequence length to be larger than 0, got input of "
                f"shape {list(input.shape)}"
            )
        output, state = self._run(input.transpose(0, 1) if self.batch_first else input, state)
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            return output.squeeze(batch_dim), tuple([part.squeeze(1) for part in state])
        return output, state

    def _forward_packed(
        self, packed: PackedSequence, state: State | None
    ) -> tuple[PackedSequence, State]:
        input, order, back = packed.data, packed.sorted_indices, packed.unsorted_indices
        if input.ndim != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {input.ndim}")
        self._check_input(input)
        sizes = packed.batch_sizes.tolist()
        given = state is not None
        state = self._start(input, state, sizes[0])
        if given and order is not None:
            state = tuple([part.index_select(1, order) for part in state])
        output, state = self._run(input, state, sizes)
        if back is not None:
            state = tuple([part.index_select(1, back) for part in state])
        return packed._with(output), state

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Run over sequences (time, batch, features), one of them (time, features) or packed ones.

        Returns the outputs of the last layer at all times, and the last state of all layers; a
        state ``hx`` to begin with is zero unless given.
        """
        output, (hidden,) = self._forward(input, None if hx is None else (hx,))
        return output, hidden

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise for an input of other dimensions, features or dtype; packed where sizes are given.

        This and the next four are what subclasses of torch's layers call; ``forward`` does not.
        """
        dimensions = 3 if batch_sizes is None else 2
        if input.dim() != dimensions:
            raise RuntimeError(f"input must have {dimensions} dimensions, got {input.dim()}")
        self._check_input(input)

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the state (h of an LSTM) for an input: (layers, batch, features)."""
        if batch_sizes is None:
            batch = input.size(0 if self.batch_first else 1)
        else:
            batch = int(batch_sizes[0])
        return self.num_layers * self._directions, batch, self._output_size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise for a state of another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise for an input, or a state, that ``forward`` cannot take."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A state with its batch in another order; None leaves it."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
            ("dropout", 0), ("bidirectional", False),
        ):  # fmt: skip
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


def run_layers(
    mode: str,
    input: Tensor,
    state: State,
    weights: list[Weights],
    directions: int,
    dropout: float,
    sizes: list[int] | None = None,
) -> tuple[Tensor, State]:
    """Layers of recurrent cells, one upon the other.

    Args:
        mode: the cell, a key of ``CELLS``.
        input: (time, batch, features), or packed sequences (elements, features) of these ``sizes``.
        state: where all layers and directions begin, each part (layers * directions, batch, size).
        weights: of all layers and directions.
        directions: 1, or 2 for layers that run backward as well.
        dropout: with what probability outputs of layers but the last are left out.
    """
    parts = [part.unbind(0) for part in state]
    finals: list[State] = []
    layers = len(weights) // directions
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            number = len(finals)
            start = tuple([part[number] for part in parts])
            others = (start, weights[number], direction == 1)
            if sizes is None:
                output, final = run_layer(mode, input, *others)
            else:
                output, final = run_packed_layer(mode, input, sizes, *others)
            outputs.append(output)
            finals.append(final)
        input = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
        if dropout and layer < layers - 1:
            input = F.dropout(input, dropout, True)
    return input, tuple([stack(part) for part in zip(*finals, strict=True)])


def _refuse_projection(options: dict[str, Any]) -> None:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Elman network: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or relu.

    Arguments are those of :class:`RNNBase` without the mode; ``nonlinearity``, "tanh" or "relu",
    comes after ``num_layers``.
    """

    _noun = " tensor"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014): r and z gates, then ``h' = (1 - z) n + z h``.

    Arguments are those of :class:`RNNBase` without the mode.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber): ``c' = f c + i g``, ``h' = o tanh(c')``.

    Arguments are those of :class:`RNNBase` without the mode; the state is a pair (h, c).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _state_sizes(self) -> tuple[int, ...]:
        return (self._output_size, self.hidden_size)

    def _check_dimensions(self, input: Tensor, state: State | None) -> None:
        super()._check_dimensions(input, None)
        if state is not None and not state[0].ndim == state[1].ndim == input.ndim:
            batched = "batched" if input.ndim == 3 else "unbatched"
            raise RuntimeError(
                f"For {batched} {input.ndim}-D input, hx and cx should also be {input.ndim}-D but "
                f"got ({state[0].ndim}-D, {state[1].ndim}-D) tensors"
            )

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of c for an input: (layers, batch, features)."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise for an input, or a pair of states, that ``forward`` cannot take."""
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size, self.get_expected_cell_size
        for position, size in enumerate(sizes):
            text = f"Expected hidden[{position}] size {{}}, got {{}}"
            self.check_hidden_size(hidden[position], size(input, batch_sizes), text)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """A pair of states with its batch in another order; None leaves it."""
        if permutation is None:
            return hx
        return tuple([part.index_select(1, permutation) for part in hx])

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """As of :class:`RNNBase`, with states that are pairs."""
        return self._forward(input, hx)


# --- cells ----------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """One step of a recurrent network, with weights ``num_chunks`` gates high."""

    mode: str
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(empty(rows, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            made = Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        _draw(self, self.hidden_size)

    def _check(self, name: str, tensor: Tensor) -> None:
        require_tensor(self._get_name(), tensor, name)
        if tensor.ndim not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.ndim}D instead"
            )

    def _step(self, input: Tensor, state: State | None) -> State:
        """The next state of (batch, features), or of one sample."""
        batched = input.ndim == 2
        parts = 2 if self.mode == "LSTM" else 1
        if not batched:
            input = input.unsqueeze(0)
        if state is None:
            zero = zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            state = (zero,) * parts
        elif not batched:
            state = tuple([part.unsqueeze(0) for part in state])
        weights = Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        shape = (input._array.shape[0], self.hidden_size)
        if state[0]._array.shape != shape or state[-1]._array.shape != shape:
            check_cell(self._get_name(), self.mode, input, state, weights)
        state = CELLS[self.mode].step(input_gates(self.mode, input, weights), state, weights)
        return state if batched else tuple([part.squeeze(0) for part in state])

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """The next hidden state of input (batch, features) or (features)."""
        self._check("input", input)
        if hx is not None:
            self._check("hidden", hx)
        return self._step(input, None if hx is None else (hx,))[0]

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """One step of an Elman network."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    @property
    def mode(self) -> str:  # type: ignore[override]
        """The name of the cell, by the nonlinearity it has now."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return f"RNN_{self.nonlinearity.upper()}"


class _GatedCell(RNNCellBase):
    """A cell whose only options are its sizes and its bias."""

    gates: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self.gates, device, dtype)


class LSTMCell(_GatedCell):
    """One step of an LSTM; the state is a pair (h, c)."""

    mode, gates = "LSTM", 4

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next pair of states of input (batch, features) or (features)."""
        self._check("input", input)
        for position, part in enumerate(hx or ()):
            self._check(f"hx[{position}]", part)
        return self._step(input, hx)


class GRUCell(_GatedCell):
    """One step of a gated recurrent unit."""

    mode, gates = "GRU", 3
