"""Packed sequences beside torch: what is packed, layers over them, gradients, errors."""

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

LENGTHS = {"sorted": [4, 4, 2, 1], "unsorted": [2, 4, 1, 4], "equal": [3, 3, 3, 3], "one": [2]}


def agree(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, reference in zip(ours, theirs, strict=True):
        if isinstance(reference, torch.Tensor):
            assert str(mine.dtype) == str(reference.dtype)
        close(mine, reference, atol=1e-5)


@pytest.mark.parametrize("case", LENGTHS)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("given", ["list", "tensor"])
@pytest.mark.parametrize("rest", [(), (3,), (2, 3)])
def test_packed_and_padded_again(case, batch_first, given, rest):
    lengths = LENGTHS[case]

    def run(library):
        rnn = library.nn.utils.rnn
        shape = (len(lengths), 5) if batch_first else (5, len(lengths))
        x = library.randn(*shape, *rest, requires_grad=True)
        counts = library.tensor(lengths) if given == "tensor" else lengths
        packed = rnn.pack_padded_sequence(x, counts, batch_first, case != "unsorted")
        options = {"batch_first": batch_first, "padding_value": -2.0, "total_length": 6}
        padded, found = rnn.pad_packed_sequence(packed, **options)
        (padded * padded * library.randn(*padded.shape)).sum().backward()
        assert type(packed) is rnn.PackedSequence
        return [*packed, padded, found, x.grad, *rnn.unpack_sequence(packed)]

    agree(*both(run))


def test_lists_of_sequences():
    def run(library):
        rnn = library.nn.utils.rnn
        sequences = [library.randn(length, 2) for length in (3, 1, 4)]
        packed = rnn.pack_sequence(sequences, enforce_sorted=False)
        inverse = rnn.invert_permutation(library.tensor([2, 0, 1]))
        sorted = rnn.pack_sequence([sequences[2], sequences[1]])
        return [*packed, *sorted, *rnn.unpack_sequence(packed), inverse]

    agree(*both(run))


def test_text():
    def run(library):
        rnn = library.nn.utils.rnn
        return repr(rnn.pack_sequence([library.tensor([1, 2]), library.tensor([3])]))

    ours, theirs = both(run)
    assert ours == theirs


LAYERS = {
    "rnn": lambda nn: nn.RNN(3, 4),
    "rnn both ways": lambda nn: nn.RNN(3, 4, nonlinearity="relu", bidirectional=True, bias=False),
    "lstm": lambda nn: nn.LSTM(3, 4),
    "deep lstm": lambda nn: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True),
    "projected lstm": lambda nn: nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True),
    "lstm with dropout": lambda nn: nn.LSTM(3, 4, 2, dropout=0.5),
    "gru": lambda nn: nn.GRU(3, 4),
    "deep gru": lambda nn: nn.GRU(3, 4, 3, bidirectional=True),
}


def flat(state):
    return list(state) if isinstance(state, tuple) else [state]


@pytest.mark.parametrize("case", LAYERS)
@pytest.mark.parametrize("order", LENGTHS)
@pytest.mark.parametrize("given", [False, True])
def test_layers_states_and_gradients(case, order, given):
    def run(library):
        rnn = library.nn.utils.rnn
        layer = LAYERS[case](library.nn)
        x = library.randn(5, len(LENGTHS[order]), 3, requires_grad=True)
        packed = rnn.pack_padded_sequence(x, LENGTHS[order], enforce_sorted=order != "unsorted")
        library.manual_seed(2)
        y, state = layer(packed)
        start = []
        if given:
            start = [library.randn(*part.shape, requires_grad=True) for part in flat(state)]
            y, state = layer(packed, tuple(start) if isinstance(state, tuple) else start[0])
        loss = (y.data * library.randn(*y.data.shape)).sum()
        for part in flat(state):
            loss = loss + (part * library.randn(*part.shape)).sum()
        loss.backward()
        gradients = [tensor.grad for tensor in (x, *start, *layer.parameters())]
        return [*y, *flat(state), *gradients]

    agree(*both(run))


def test_conversions():
    def run(library):
        packed = library.nn.utils.rnn.pack_sequence([library.ones(3), library.ones(2)])
        names = ["double", "float", "half", "long", "int", "short", "char", "byte", "cpu"]
        dtypes = [str(getattr(packed, name)().data.dtype) for name in names]
        same = packed.to(library.float32) is packed and packed.cpu() is packed
        return [*dtypes, same, packed.is_cuda, packed.is_pinned()]

    ours, theirs = both(run)
    assert ours == theirs


def packed_of(library, lengths=(4, 2, 1)):
    return library.nn.utils.rnn.pack_padded_sequence(library.randn(4, 3, 3), list(lengths))


ERRORS = [
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(4, 3), [1, 2, 3]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(4, 3), [3, 2, 0]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(4, 3), [3, 2]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(0, 3), [3, 2, 1]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3), [3, 2, 1]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(4, 1), lib.tensor([[3]])),
    lambda lib: lib.nn.utils.rnn.pack_sequence([]),
    lambda lib: lib.nn.utils.rnn.pack_sequence([lib.ones(1), lib.ones(2)]),
    lambda lib: lib.nn.utils.rnn.pad_packed_sequence(packed_of(lib), total_length=3),
    lambda lib: lib.nn.utils.rnn.PackedSequence(lib.ones(3)),
    lambda lib: lib.nn.GRU(3, 2)(packed_of(lib), lib.zeros(3, 2)),
    lambda lib: lib.nn.GRU(3, 2)(packed_of(lib), lib.zeros(2, 3, 2)),
    lambda lib: lib.nn.GRU(4, 2)(packed_of(lib)),
    lambda lib: lib.nn.GRU(3, 2)(lib.nn.utils.rnn.pack_sequence([lib.ones(3)])),
    lambda lib: lib.nn.GRU(3, 2)(packed_of(lib).double()),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])
