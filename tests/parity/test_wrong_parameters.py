"""Distributions, schedulers, windows and `where` raise what torch raises for wrong parameters."""

from __future__ import annotations

import pytest
import torch

import numbagrad


def distribution(name, *values):
    def call(t):
        given = [t.tensor(x) if isinstance(x, list) else x for x in values]
        return getattr(t.distributions, name)(*given)

    return call


def sgd(t):
    return t.optim.SGD([t.nn.Parameter(t.ones(2))], lr=0.1)


CALLS = {
    **{
        f"{name}{values}": distribution(name, *values)
        for name, values in (
            ("Chi2", (-1.0,)),
            ("Chi2", ([1.0, 0.0],)),
            ("HalfCauchy", (-1.0,)),
            ("HalfNormal", (-1.0,)),
            ("HalfNormal", ([float("nan")],)),
            ("Gamma", (-1.0, 1.0)),
            ("StudentT", (-1.0,)),
            ("Pareto", (1.0, -1.0)),
            ("Weibull", (1.0, -1.0)),
            ("Gumbel", (0.0, -1.0)),
            ("Kumaraswamy", (-1.0, 1.0)),
            ("LogNormal", (0.0, -1.0)),
            ("OneHotCategorical", ([-0.5, 1.5],)),
            ("OneHotCategoricalStraightThrough", ([-0.5, 1.5],)),
            ("RelaxedBernoulli", (1.0, [1.5])),
            ("RelaxedOneHotCategorical", (1.0, [-0.5, 1.5])),
            ("LogisticNormal", ([0.0], [-1.0])),
            ("InverseGamma", (-1.0, 1.0)),
            ("VonMises", (0.0, -1.0)),
            ("Beta", (-1.0, 1.0)),
            ("NegativeBinomial", (-1.0, [0.5])),
            ("Geometric", ([1.5],)),
            ("Multinomial", (1, [-0.5, 1.5])),
        )
    },
    "where with None alone": lambda t: t.where(t.ones(2) > 0, None),
    "where with a number alone": lambda t: t.where(t.ones(2), 1),
    "where of floats and text": lambda t: t.where(t.ones(2), t.ones(2), "x"),
    "CatTransform": lambda t: t.distributions.transforms.CatTransform("x"),
    "StackTransform": lambda t: t.distributions.transforms.StackTransform([1]),
    "MultiplicativeLR": lambda t: t.optim.lr_scheduler.MultiplicativeLR(sgd(t), 0.5),
    "MultiplicativeLR of a list": lambda t: t.optim.lr_scheduler.MultiplicativeLR(sgd(t), [None]),
    **{
        f"{name} by place": lambda t, name=name: getattr(t.signal.windows, name)(3, 1.0)
        for name in ("bartlett", "cosine", "exponential", "gaussian", "kaiser", "general_cosine")
    },
    **{
        f"{name} of a half": lambda t, name=name: getattr(t.signal.windows, name)(2.5)
        for name in ("cosine", "exponential", "gaussian", "kaiser", "hann", "bartlett")
    },
    "general_cosine of one": lambda t: t.signal.windows.general_cosine(1),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_parameters_raise_the_error_of_torch(name, monkeypatch):
    # torch no longer checks parameters once it has compiled a function, as another test may have.
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)
    raised = []
    for library in (torch, numbagrad):
        with pytest.raises(Exception) as error:  # which one is compared
            CALLS[name](library)
        raised.append(error.type)
    assert raised[0] is raised[1]


@pytest.mark.parametrize("name", ["hann", "hamming", "bartlett", "blackman", "nuttall"])
def test_a_window_of_a_flag_is_one_of_its_number(name):
    assert getattr(numbagrad.signal.windows, name)(True).tolist() == [1.0]
