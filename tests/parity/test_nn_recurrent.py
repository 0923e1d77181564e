"""Recurrent layers and cells against live torch: numbers, gradients, text, errors."""

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

LAYERS = {
    "rnn": (lambda nn: nn.RNN(3, 4), (5, 2, 3)),
    "rnn of relu": (lambda nn: nn.RNN(3, 4, 2, "relu"), (5, 2, 3)),
    "rnn both ways": (lambda nn: nn.RNN(3, 4, bidirectional=True, bias=False), (5, 2, 3)),
    "lstm": (lambda nn: nn.LSTM(3, 4), (5, 2, 3)),
    "lstm of one sequence": (lambda nn: nn.LSTM(3, 4), (5, 3)),
    "deep lstm": (lambda nn: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True), (2, 5, 3)),
    "lstm without bias": (lambda nn: nn.LSTM(3, 4, bias=False), (5, 2, 3)),
    "projected lstm": (lambda nn: nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True), (5, 2, 3)),
    "lstm with dropout": (lambda nn: nn.LSTM(3, 4, 2, dropout=0.5), (5, 2, 3)),
    "gru": (lambda nn: nn.GRU(3, 4), (5, 2, 3)),
    "deep gru": (lambda nn: nn.GRU(3, 4, 3, bidirectional=True, batch_first=True), (2, 5, 3)),
    "gru without bias": (lambda nn: nn.GRU(3, 4, bias=False), (5, 3)),
}


def flat(state):
    return list(state) if isinstance(state, tuple) else [state]


@pytest.mark.parametrize("case", LAYERS)
@pytest.mark.parametrize("given", [False, True])
def test_layers_states_and_gradients(case, given):
    make, shape = LAYERS[case]

    def run(library):
        layer = make(library.nn)
        x = library.randn(*shape, requires_grad=True)
        y, state = layer(x)
        if given:
            start = [library.randn(*part.shape, requires_grad=True) for part in flat(state)]
            y, state = layer(x, tuple(start) if isinstance(state, tuple) else start[0])
        else:
            start = []
        loss = (y * library.randn(*y.shape)).sum()
        for part in flat(state):
            loss = loss + (part * part).sum()
        loss.backward()
        gradients = [tensor.grad for tensor in (x, *start, *layer.parameters())]
        return repr(layer), list(layer.state_dict()), [y, *flat(state), *gradients]

    ours, theirs = both(run)
    assert ours[:2] == theirs[:2]
    for mine, reference in zip(ours[2], theirs[2], strict=True):
        close(mine, reference, atol=1e-5)


CELLS = {
    "rnn": lambda nn: nn.RNNCell(3, 4),
    "rnn of relu": lambda nn: nn.RNNCell(3, 4, nonlinearity="relu", bias=False),
    "lstm": lambda nn: nn.LSTMCell(3, 4),
    "gru": lambda nn: nn.GRUCell(3, 4),
}


@pytest.mark.parametrize("case", CELLS)
@pytest.mark.parametrize("shape", [(2, 3), (3,)])
def test_cells(case, shape):
    def run(library):
        cell = CELLS[case](library.nn)
        x = library.randn(*shape, requires_grad=True)
        state = cell(x)
        for _ in range(3):
            state = cell(x, state)
        sum((part * part).sum() for part in flat(state)).backward()
        return repr(cell), [*flat(state), x.grad, *[p.grad for p in cell.parameters()]]

    ours, theirs = both(run)
    assert ours[0] == theirs[0]
    for mine, reference in zip(ours[1], theirs[1], strict=True):
        close(mine, reference, atol=1e-5)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_second_derivatives(name):
    def run(library):
        layer = getattr(library.nn, name)(3, 2).double()
        x = library.randn(4, 2, 3, dtype=library.float64, requires_grad=True)
        y, _ = layer(x)
        (first,) = library.autograd.grad((y * y).sum(), x, create_graph=True)
        (first * first).sum().backward()
        return [x.grad, *[p.grad for p in layer.parameters()]]

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference, rtol=1e-9, atol=1e-12)


def test_a_network_trained_from_a_seed_follows_torch():
    def run(library):
        nn = library.nn
        layer, head = nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 1)
        optimizer = library.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.02)
        x = library.randn(6, 10, 3)
        target = x.sum((1, 2)).unsqueeze(1)
        losses = []
        for _ in range(50):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(head(layer(x)[0][:, -1]), target)
            loss.backward()
            nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        return losses

    ours, theirs = both(run)
    assert ours == pytest.approx(theirs, rel=1e-3)
    assert ours[-1] < ours[0]


@pytest.mark.parametrize("options", [
    {}, {"batch_first": True}, {"padding_value": -1.0, "padding_side": "left"},
])  # fmt: skip
def test_sequences_padded_and_cut(options):
    def run(library):
        rnn = library.nn.utils.rnn
        sequences = [library.randn(length, 2, requires_grad=True) for length in (3, 1, 4)]
        padded = rnn.pad_sequence(sequences, **options)
        (padded * padded).sum().backward()
        first = options.get("batch_first", False)
        cut = rnn.unpad_sequence(padded * 1, library.tensor([3, 1, 4]), first)
        return [padded, *cut, *[sequence.grad for sequence in sequences]]

    for mine, reference in zip(*both(run), strict=True):
        close(mine, reference)


ERRORS = [
    lambda lib: lib.nn.utils.rnn.pad_sequence([]),
    lambda lib: lib.nn.utils.rnn.pad_sequence(3),
    lambda lib: lib.nn.utils.rnn.pad_sequence([lib.ones(2)], padding_side="top"),
    lambda lib: lib.nn.RNN(3, 4, proj_size=1),
    lambda lib: lib.nn.RNN(3, 4, nonlinearity="gelu"),
    lambda lib: lib.nn.LSTM(3, 4, proj_size=4),
    lambda lib: lib.nn.LSTM(3, 4, proj_size=-4),
    lambda lib: lib.nn.LSTM(3, 0),
    lambda lib: lib.nn.LSTM(3.0, 2),
    lambda lib: lib.nn.LSTM(3, 2, 0),
    lambda lib: lib.nn.LSTM(3, 2, bias=3),
    lambda lib: lib.nn.LSTM(3, 2, dropout=2),
    lambda lib: lib.nn.RNNBase("LST", 3, 2),
    lambda lib: lib.nn.LSTM(3, 4)(lib.randn(2)),
    lambda lib: lib.nn.GRU(3, 4)(lib.randn(2)),
    lambda lib: lib.nn.RNN(3, 4)(lib.randn(2)),
    lambda lib: lib.nn.LSTM(3, 4)(lib.randn(2, 5)),
    lambda lib: lib.nn.LSTM(3, 4)(lib.randn(2, 3).double()),
    lambda lib: lib.nn.GRU(3, 4)(lib.randn(2, 3), lib.randn(1, 1, 4)),
    lambda lib: lib.nn.GRU(3, 4)(lib.randn(2, 1, 3), lib.randn(1, 1, 5)),
    lambda lib: lib.nn.LSTM(3, 4)(lib.randn(2, 3), (lib.randn(1, 1, 4), lib.randn(1, 1, 4))),
    lambda lib: lib.nn.LSTM(3, 4)(lib.randn(2, 1, 3), (lib.randn(1, 1, 4), lib.randn(1, 2, 4))),
    lambda lib: lib.nn.RNNCell(3, 4)(lib.randn(1, 2, 3)),
    lambda lib: lib.nn.RNNCell(3, 4, nonlinearity="x")(lib.randn(2, 3)),
    lambda lib: lib.nn.GRUCell(3, 4)(lib.randn(2, 3), lib.randn(1, 2, 4)),
    lambda lib: lib.nn.LSTMCell(3, 4)(lib.randn(2, 3), (lib.randn(1, 2, 4), lib.randn(2, 4))),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])
