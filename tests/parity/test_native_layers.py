"""Layers of torch's top namespace with its arguments: recurrence, convolution, fake integers."""

import numpy as np
import pytest
import torch as oracle

import numbagrad as torch


def same(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-5
        )


def both(function):
    """Compare what a function of a namespace returns in both, from the same random numbers."""
    results = []
    for t in (torch, oracle):
        t.manual_seed(0)
        results.append(function(t))
    same(*results)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_layers_over_sequences(name, both_ways, biased):
    def run(t):
        make = {"lstm": t.nn.LSTM, "gru": t.nn.GRU}.get(name, t.nn.RNN)
        layer = make(3, 4, 2, bias=biased, bidirectional=both_ways)
        state = [t.randn(4 if both_ways else 2, 2, 4) for _ in range(2 if name == "lstm" else 1)]
        hx = state if name == "lstm" else state[0]
        options = (list(layer.parameters()), biased, 2, 0.0, False, both_ways)
        found = list(getattr(t, name)(t.randn(2, 5, 3), hx, *options, True))
        packed = t.nn.utils.rnn.pack_sequence([t.randn(3, 3), t.randn(2, 3)])
        return found + list(getattr(t, name)(packed.data, packed.batch_sizes, hx, *options))

    both(run)


def test_projections():
    def run(t):
        layer = t.nn.LSTM(3, 4, proj_size=2)
        state = [t.randn(1, 2, 2), t.randn(1, 2, 4)]
        parameters = list(layer.parameters())
        return t.lstm(t.randn(5, 2, 3), state, parameters, True, 1, 0.0, False, False, False)

    both(run)


def test_parameters_are_counted():
    with pytest.raises(RuntimeError, match="expected 4 parameters"):
        torch.gru(torch.ones(1, 1, 2), torch.ones(1, 1, 2), [], True, 1, 0.0, False, False, False)


def test_layers():
    def run(t):
        made = [t.conv_tbc(t.randn(5, 2, 3), t.randn(2, 3, 4), t.randn(4), 1)]
        made.append(t.affine_grid_generator(t.randn(1, 2, 3), [1, 1, 2, 2], False))
        table = t.randn(4, 3)
        t.embedding_renorm_(table, t.tensor([0, 2]), 0.5, 2.0)
        return [*made, table]

    both(run)


@pytest.mark.parametrize("per_channel", [False, True])
def test_fake_integers(per_channel):
    def run(t):
        x = t.randn(3, 4, requires_grad=True)
        if per_channel:
            points = t.tensor([0, 1, 2], dtype=t.int32)
            scales = t.tensor([0.1, 0.2, 0.3])
            made = t.fake_quantize_per_channel_affine(x, scales, points, 0, 0, 9)
        else:
            made = t.fake_quantize_per_tensor_affine(x, 0.1, 2, 0, 9)
        made.sum().backward()
        return made, x.grad

    both(run)


def test_names_of_old(tmp_path):
    def run(t):
        x = t.randn(2, 3)
        return [
            x.map2_(x, x * 2, lambda a, b, c: a + b + c), x.resize(3, 2), x.resize_as(x.view(6)),
            t.tensor(x.mT.dim_order()), t.frobenius_norm(x, [0]), t.nuclear_norm(x),
            t.cond(t.tensor(True), lambda a: a + 1, lambda a: a - 1, (x,)),
            *t.while_loop(lambda a: a.sum() < 3, lambda a: (a + 1,), (t.zeros(2),)),
            t.gcd_(t.tensor([4, 6]), t.tensor([6, 9])),
            t.from_file(str(tmp_path / t.__name__), True, 3, dtype=t.float64),
        ]  # fmt: skip

    both(run)


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_removed_functions(name):
    for t in (torch, oracle):
        with pytest.raises(RuntimeError, match="now removed"):
            getattr(t, name)(t.eye(2), t.eye(2)) if name in ("lstsq", "solve") else getattr(
                t, name
            )(t.eye(2))


def test_questions():
    x, y = torch.ones(2), oracle.ones(2)
    for name in ("sparse_dim", "dense_dim", "is_distributed"):
        assert getattr(x, name)() == getattr(y, name)()
    assert x.is_set_to(x.view(2)) and not x.is_set_to(x.clone())
    assert x.const_data_ptr() == x.data_ptr()
    for t in (x, y):
        with pytest.raises(RuntimeError):
            t.is_coalesced()
        with pytest.raises(RuntimeError):
            t.pin_memory()
    assert torch.sym_sum([1, 2]) == oracle.sym_sum([1, 2])
