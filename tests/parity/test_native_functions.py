"""Layers and losses of the top namespace against torch, by the calls of the other test."""

import numpy as np
import pytest
import torch
from test_native_functions import CASES, X, results_of

import numbagrad

#: torch has no gradient of this one.
WITHOUT_GRADIENT = "native_channel_shuffle"


@pytest.mark.parametrize(
    "case", [x for x in CASES if x[0] != WITHOUT_GRADIENT], ids=lambda case: case[0]
)
def test_as_torch(case):
    _, call, _, arrays = case
    made, wanted = results_of(call, numbagrad, arrays), results_of(call, torch, arrays)
    for mine, other in zip(made, wanted, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_dropout"])
def test_draws_as_torch(name):
    made = []
    for t in (numbagrad, torch):
        t.manual_seed(1)
        made.append(getattr(t, name)(t.from_numpy(X), 0.3, True).tolist())
    np.testing.assert_allclose(*made, rtol=1e-12)


def test_rows_of_maxima_as_torch():
    made = []
    for t in (numbagrad, torch):
        indices, offsets = t.tensor([0, 1, 1, 0, 1]), t.tensor([0, 2, 3])
        made.append([x.tolist() for x in t.embedding_bag(
            t.from_numpy(X[:, 0]), indices, offsets, False, 2)])  # fmt: skip
    assert made[0] == made[1]


@pytest.mark.parametrize("given", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("name", ["rnn_tanh_cell", "gru_cell", "lstm_cell"])
def test_cells_with_one_of_their_biases(name, given):
    gates = {"rnn_tanh_cell": 1, "gru_cell": 3, "lstm_cell": 4}[name]
    made = []
    for t in (numbagrad, torch):
        rows = t.arange(8 * gates, dtype=t.float64).reshape(4 * gates, 2) / 10
        weight = t.arange(16 * gates, dtype=t.float64).reshape(4 * gates, 4) / 20 - 1
        hidden = t.ones(3, 4, dtype=t.float64)
        state = [hidden, hidden / 2] if name == "lstm_cell" else hidden
        biases = [t.linspace(-1, 1, 4 * gates, dtype=t.float64) if x else None for x in given]
        x = t.linspace(0, 1, 6, dtype=t.float64).reshape(3, 2)
        result = getattr(t, name)(x, state, rows, weight, *biases)
        made.append([x.tolist() for x in result])
    np.testing.assert_allclose(*made, rtol=1e-12)
