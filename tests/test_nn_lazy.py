"""Lazy layers without torch: shapes at the first call, copies, errors, layers of users."""

import copy
import pickle

import pytest

import numbagrad as ng
from numbagrad import nn
from numbagrad.nn.lazy import LazyModuleMixin
from numbagrad.nn.uninitialized import UninitializedParameter, is_lazy


def test_initial_values_are_those_of_an_ordinary_layer():
    for lazy, plain, shape in (
        (lambda: nn.LazyLinear(3), lambda: nn.Linear(4, 3), (2, 4)),
        (lambda: nn.LazyConv1d(3, 2), lambda: nn.Conv1d(4, 3, 2), (1, 4, 6)),
    ):
        ng.manual_seed(0)
        layer = lazy()
        parameters = list(layer.parameters())
        assert all(map(is_lazy, parameters))
        layer(ng.ones(*shape))
        ng.manual_seed(0)
        expected = plain()
        assert type(layer) is type(expected)
        assert [p.tolist() for p in layer.parameters()] == [
            p.tolist() for p in expected.parameters()
        ]
        # Those that an optimizer was given are the ones that are trained.
        assert all(a is b for a, b in zip(parameters, layer.parameters(), strict=True))
        assert all(type(p) is nn.Parameter for p in parameters)


def test_what_has_no_shape_is_not_computed_with():
    weight = nn.LazyLinear(3).weight
    for use in (lambda: weight + 1, weight.sum, lambda: nn.init.zeros_(weight)):
        with pytest.raises(ValueError, match="use an uninitialized parameter"):
            use()
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        weight.shape  # noqa: B018


def test_copies():
    layer = nn.LazyLinear(3, dtype=ng.float64)
    for made in (copy.deepcopy(layer.weight), pickle.loads(pickle.dumps(layer.weight))):
        assert repr(made) == "<UninitializedParameter>" and made.requires_grad
    assert copy.deepcopy(layer.weight).dtype is ng.float64


def test_a_lazy_layer_of_the_user():
    class Scale(LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = UninitializedParameter()

        def initialize_parameters(self, x, size=None):
            if size is not None:
                self.factor.materialize((size,))
                nn.init.ones_(self.factor)

        def forward(self, x, size=None):
            return x * self.factor

    with pytest.raises(RuntimeError, match="module Scale has not been fully initialized"):
        Scale()(ng.ones(3))
    assert Scale()(ng.ones(3), size=3).tolist() == [1.0] * 3
