"""Parametrized weights without torch: values, gradients, the cache, copies, compiled steps."""

import copy

import numpy as np
import pytest
from compile_checks import assert_compiled

import numbagrad as ng
from numbagrad import nn
from numbagrad.nn.utils import parametrizations, parametrize


class Counted(nn.Module):
    """Doubles a weight, and counts how often."""

    calls = 0

    def forward(self, X):
        self.calls += 1
        return X * 2

    def right_inverse(self, X):
        return X / 2


def test_a_weight_is_computed_at_each_use_or_once():
    layer = nn.Linear(2, 2)
    start = layer.weight.tolist()
    double = Counted()
    parametrize.register_parametrization(layer, "weight", double)
    assert layer.weight.tolist() == start
    double.calls = 0
    with parametrize.cached():
        assert layer.weight is layer.weight
        with parametrize.cached():
            layer(ng.ones(1, 2))
        layer(ng.ones(1, 2))
    assert double.calls == 1
    assert layer.weight is not layer.weight
    assert double.calls == 3


def test_copies_have_classes_of_their_own():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Counted())
    twin = copy.deepcopy(layer)
    parametrize.remove_parametrizations(twin, "weight")
    assert type(twin) is nn.Linear and isinstance(twin.weight, nn.Parameter)
    assert type(layer).__name__ == "ParametrizedLinear"
    assert layer.weight.tolist() == twin.weight.tolist()


def test_norms_of_weights():
    layer = parametrizations.weight_norm(nn.Linear(3, 2))
    norms = layer.parametrizations.weight.original0
    np.testing.assert_allclose(
        norms.flatten().tolist(), np.linalg.norm(layer.weight.detach().numpy(), axis=1), rtol=1e-6
    )
    with ng.no_grad():
        norms.fill_(2.0)
    lengths = np.linalg.norm(layer.weight.detach().numpy(), axis=1)
    np.testing.assert_allclose(lengths, 2.0, rtol=1e-6)


def test_the_spectral_norm_is_one():
    ng.manual_seed(0)
    layer = parametrizations.spectral_norm(nn.Linear(6, 4), n_power_iterations=20)
    for _ in range(3):
        layer(ng.ones(1, 6))
    layer.eval()
    values = np.linalg.svd(layer.weight.detach().numpy())[1]
    assert values[0] == pytest.approx(1.0, rel=1e-4)


def test_two_calls_before_a_backward():
    # The vectors of the power method are written by the second call, which the first has saved.
    for make in (parametrizations.spectral_norm, nn.utils.spectral_norm):
        layer = make(nn.Linear(3, 2))
        (layer(ng.ones(1, 3)) - layer(ng.zeros(1, 3))).sum().backward()


@pytest.mark.parametrize("make", [parametrizations.weight_norm, parametrizations.spectral_norm])
def test_compiled_steps(make):
    def train(wrap):
        ng.manual_seed(0)
        layer = make(nn.Linear(3, 2))
        optimizer = ng.optim.Adam(layer.parameters(), 0.1)

        def step(x):
            optimizer.zero_grad()
            loss = layer(x).pow(2).sum()
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        return step, [step(ng.full((2, 3), 1.0 + k)).item() for k in range(8)]

    _, expected = train(lambda step: step)
    step, found = train(ng.compile)
    assert found == pytest.approx(expected, rel=1e-4)
    assert_compiled(step)
