"""Packed sequences without torch: their order, layers over them, gradients, compiled steps."""

import numpy as np
import pytest
from compile_checks import breaks_said

import numbagrad as ng
from numbagrad import nn
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.executor.mode import NATIVE
from numbagrad.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
)


def test_the_order_of_packed_elements():
    sequences = [ng.tensor([10, 11]), ng.tensor([20, 21, 22]), ng.tensor([30])]
    packed = pack_sequence(sequences, enforce_sorted=False)
    assert packed.data.tolist() == [20, 10, 30, 21, 11, 22]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert [each.tolist() for each in unpack_sequence(packed)] == [
        each.tolist() for each in sequences
    ]
    padded, lengths = pad_packed_sequence(packed, True, -1, total_length=4)
    assert padded.tolist() == [[10, 11, -1, -1], [20, 21, 22, -1], [30, -1, -1, -1]]
    assert lengths.tolist() == [2, 3, 1]


def test_lengths_beyond_the_sequences_are_refused():
    with pytest.raises(RuntimeError, match="lengths of at most 4"):
        pack_padded_sequence(ng.ones(4, 2), [5, 1])


def test_a_packed_sequence_is_a_tuple_that_rebuilds_itself():
    packed = pack_sequence([ng.ones(3), ng.ones(2)])
    other = packed._replace(data=ng.zeros(5))
    assert isinstance(other, PackedSequence)
    assert PackedSequence([packed.data, packed.batch_sizes]).data is packed.data
    assert packed.to(ng.float64).data.dtype is ng.float64


@pytest.mark.parametrize("make", [
    lambda: nn.RNN(3, 2, bidirectional=True), lambda: nn.LSTM(3, 4, 2, proj_size=2),
    lambda: nn.GRU(3, 2, bidirectional=True),
])  # fmt: skip
def test_layers_run_each_sequence_as_if_it_were_alone(make):
    ng.manual_seed(0)
    layer = make().double()
    sequences = [ng.randn(length, 3, dtype=ng.float64) for length in (2, 5, 1, 5)]
    outputs, state = layer(pack_sequence(sequences, enforce_sorted=False))
    parts = state if isinstance(state, tuple) else (state,)
    for k, (own, sequence) in enumerate(zip(unpack_sequence(outputs), sequences, strict=True)):
        expected, last = layer(sequence)
        np.testing.assert_allclose(own.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
        for part, alone in zip(parts, last if isinstance(last, tuple) else (last,), strict=True):
            np.testing.assert_allclose(
                part[:, k].detach().numpy(), alone.detach().numpy(), rtol=1e-12
            )


def test_gradients():
    ng.manual_seed(0)
    layer = nn.GRU(2, 2, bidirectional=True).double()

    def run(x, start):
        packed = pack_padded_sequence(x, [1, 3, 2], enforce_sorted=False)
        outputs, state = layer(packed, start)
        return pad_packed_sequence(outputs)[0], state

    x = ng.randn(3, 3, 2, dtype=ng.float64, requires_grad=True)
    start = ng.randn(2, 3, 2, dtype=ng.float64, requires_grad=True)
    assert gradcheck(run, (x, start))
    assert gradgradcheck(run, (x, start))


def test_a_batch_of_batches():
    x = ng.arange(24.0).reshape(2, 4, 3)

    def padded(x):
        return pad_packed_sequence(pack_padded_sequence(x, [4, 2, 1]), padding_value=-1)[0]

    np.testing.assert_array_equal(
        ng.vmap(padded)(x).numpy(), np.stack([padded(each).numpy() for each in x])
    )


def test_a_compiled_step_follows_lengths_that_change():
    layer = nn.LSTM(3, 2)

    def step(x, lengths):
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        return layer(packed)[0].data * 2

    compiled = ng.compile(step)
    with pytest.warns(UserWarning) if NATIVE else pytest.MonkeyPatch.context() as caught:
        for lengths in ([2, 4], [2, 4], [2, 4], [3, 3], [1, 1], [4, 2]):
            x = ng.randn(4, 2, 3)
            counts = ng.tensor(lengths)
            np.testing.assert_allclose(
                compiled(x, counts).detach().numpy(), step(x, counts).detach().numpy(), rtol=1e-5
            )
    if NATIVE:
        assert "tolist()" in breaks_said(caught)[0]


def test_padding_is_no_part_of_what_is_packed():
    sequences = [ng.ones(2, 1), ng.ones(1, 1)]
    padded = pad_sequence(sequences, padding_value=9.0)
    assert pack_padded_sequence(padded, [2, 1]).data.tolist() == [[1.0], [1.0], [1.0]]
