"""Steps of optimizers as functions of lists, beside torch's, entry by entry."""

import importlib
import inspect

import numpy as np
import pytest
import torch

import numbagrad

RATE = {"lr": 0.1, "weight_decay": 0.01}
BETAS = {"beta1": 0.8, "beta2": 0.9}
#: By name: options, and the state at the start, by list.
STEPS = {
    "adadelta": ({**RATE, "rho": 0.8, "eps": 1e-5, "maximize": True}, "square_avgs acc_deltas"),
    "adagrad": ({**RATE, "lr_decay": 0.1, "eps": 1e-8, "maximize": False}, "state_sums"),
    "adam": (
        {**RATE, **BETAS, "eps": 1e-8, "amsgrad": True, "maximize": False},
        "exp_avgs exp_avg_sqs max_exp_avg_sqs",
    ),
    "adamw": (
        {**RATE, **BETAS, "eps": 1e-8, "amsgrad": False, "maximize": True},
        "exp_avgs exp_avg_sqs -max_exp_avg_sqs",
    ),
    "adamax": ({**RATE, **BETAS, "eps": 1e-8}, "exp_avgs exp_infs"),
    "asgd": ({**RATE, "lambd": 1e-3, "t0": 1.0, "alpha": 0.7}, "axs *mus *etas"),
    "nadam": (
        {**RATE, **BETAS, "momentum_decay": 4e-3, "eps": 1e-8, "decoupled_weight_decay": True},
        "exp_avgs exp_avg_sqs *mu_products",
    ),
    "radam": ({**RATE, **BETAS, "eps": 1e-8}, "exp_avgs exp_avg_sqs"),
    "rmsprop": (
        {**RATE, "alpha": 0.9, "eps": 1e-8, "momentum": 0.5, "centered": True},
        "square_avgs grad_avgs momentum_buffer_list",
    ),
    "rprop": (
        {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2},
        "prevs step_sizes",
    ),
    "sgd": (
        {**RATE, "momentum": 0.9, "dampening": 0.0, "nesterov": True, "maximize": False},
        "?momentum_buffer_list",
    ),
}
SIZES = [(3, 2), (5,)]


def function_of(library, name):
    return getattr(importlib.import_module(f"{library.__name__}.optim.{name}"), name)


def state_of(library, entry):
    """A list of states: of one element (*), not there (-), not there yet (?), or of zeros."""
    if entry[0] == "-":
        return []
    if entry[0] == "?":
        return [None for _ in SIZES]
    if entry[0] == "*":
        return [library.ones(()) for _ in SIZES]
    return [library.full(size, 0.1 * (entry == "step_sizes")) for size in SIZES]


def run(library, name, steps=3):
    """Parameters and lists of states after some steps, whose first is of one parameter alone."""
    options, entries = STEPS[name]
    drawn = np.random.default_rng(0)
    make = lambda: [library.tensor(drawn.normal(size=size).astype("f")) for size in SIZES]  # noqa: E731
    params = make()
    states = {entry.strip("*-?"): state_of(library, entry) for entry in entries.split()}
    if name != "sgd":
        states["state_steps"] = [library.zeros(()) for _ in SIZES]
    for step in range(steps):
        grads = make()
        lists = [params, grads, *states.values()]
        chosen = [found[:1] if step == 0 else found for found in lists]
        function_of(library, name)(*chosen, **options)
        if name == "sgd" and step == 0:
            states["momentum_buffer_list"][0] = chosen[2][0]
    return [params, *states.values()]


@pytest.mark.parametrize("name", STEPS)
def test_parameters_and_states_are_torchs(name):
    for ours, theirs in zip(run(numbagrad, name), run(torch, name), strict=True):
        assert len(ours) == len(theirs)
        for own, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", STEPS)
def test_signatures_are_torchs(name):
    theirs = inspect.signature(function_of(torch, name)).parameters.values()
    ours = inspect.signature(function_of(numbagrad, name)).parameters.values()
    assert [(p.name, p.kind, p.default) for p in ours] == [
        (p.name, p.kind, p.default) for p in theirs
    ]


@pytest.mark.parametrize("library", [torch, numbagrad])
def test_what_is_refused(library):
    adam = function_of(library, "adam")
    x = library.ones(2)
    lists = [[x], [x], [x], [x], []]
    with pytest.raises(RuntimeError, match="API has changed, `state_steps` argument must"):
        adam(*lists, [1], **STEPS["adam"][0])
    with pytest.raises(TypeError, match="missing"):
        adam(*lists, [library.zeros(())])
    with pytest.raises(AssertionError, match="Expected grad_scale and found_inf to be None"):
        adam(*lists, [library.zeros(())], foreach=False, found_inf=x, **STEPS["adam"][0])


def test_a_compiled_step_follows_its_state_and_its_rate():
    rng = np.random.default_rng(0)
    gradients = [numbagrad.tensor(rng.normal(size=4).astype("f")) for _ in range(12)]
    options = {**STEPS["adam"][0], "amsgrad": False}
    found = []
    for wrap in (lambda function: function, numbagrad.compile):
        x = numbagrad.ones(4)
        mean, square, count = numbagrad.zeros(4), numbagrad.zeros(4), numbagrad.zeros(())
        adam = function_of(numbagrad, "adam")

        @wrap
        def step(gradient, rate, x=x, mean=mean, square=square, count=count, adam=adam):
            adam([x], [gradient], [mean], [square], [], [count], **{**options, "lr": rate})

        for number, gradient in enumerate(gradients):
            step(gradient, 0.1 / (1 + number))
        assert count.item() == len(gradients)
        found.append(x.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
