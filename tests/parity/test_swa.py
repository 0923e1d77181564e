"""Averaged models beside torch: averages, their batch norms, the schedule, errors."""

import itertools

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

AVERAGES = {
    "equal": lambda utils: {},
    "equal buffers": lambda utils: {"use_buffers": True},
    "decaying": lambda utils: {"avg_fn": utils.get_ema_avg_fn(0.9)},
    "decaying lists": lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
    "equal lists": lambda utils: {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
    "decaying buffers": lambda utils: {
        "multi_avg_fn": utils.get_ema_multi_avg_fn(0.9), "use_buffers": True,
    },
}  # fmt: skip


def trained(library, options):
    """A model averaged over a few steps, and data."""
    utils, nn = library.optim.swa_utils, library.nn
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))
    optimizer = library.optim.SGD(model.parameters(), lr=0.1)
    scheduler = utils.SWALR(optimizer, swa_lr=0.02, anneal_epochs=3)
    averaged = utils.AveragedModel(model, **options(utils))
    data = [library.randn(8, 4) for _ in range(5)]
    for x in data:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
        averaged.update_parameters(model)
        scheduler.step()
    return averaged, data


@pytest.mark.parametrize("case", AVERAGES)
def test_averages_are_those_of_torch(case):
    ours, theirs = [
        made[0].state_dict() for made in both(lambda library: trained(library, AVERAGES[case]))
    ]
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert str(ours[name].dtype) == str(value.dtype)
        close(ours[name], value)


@pytest.mark.parametrize("pairs", [False, True])
def test_batch_norms_see_the_data_again(pairs):
    def run(library):
        averaged, data = trained(library, AVERAGES["equal"])
        averaged.eval()
        batches = [(x, x) for x in data] if pairs else data
        library.optim.swa_utils.update_bn(batches, averaged)
        assert not averaged.training
        return averaged.state_dict()

    ours, theirs = both(run)
    for name, value in theirs.items():
        close(ours[name], value)


@pytest.mark.parametrize("epochs, strategy, groups", list(itertools.product(
    [0, 1, 5], ["cos", "linear"], [1, 2]
)))  # fmt: skip
def test_rates_go_to_a_constant(epochs, strategy, groups):
    def run(library):
        parameters = [{"params": [library.nn.Parameter(library.ones(1))]} for _ in range(groups)]
        optimizer = library.optim.SGD(parameters, lr=0.1)
        rates = 0.02 if groups == 1 else [0.02, 0.3]
        scheduler = library.optim.swa_utils.SWALR(optimizer, rates, epochs, strategy)
        found = []
        for _ in range(8):
            optimizer.step()
            scheduler.step()
            found += scheduler.get_last_lr()
        return found, scheduler.state_dict(), optimizer.state_dict()["param_groups"]

    ours, theirs = both(run)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-12)
    assert ours[1].keys() == theirs[1].keys()
    assert [group.keys() for group in ours[2]] == [group.keys() for group in theirs[2]]


@pytest.mark.parametrize("bad", [
    lambda utils, model, optimizer: utils.get_ema_avg_fn(1.5),
    lambda utils, model, optimizer: utils.get_ema_multi_avg_fn(-1),
    lambda utils, model, optimizer: utils.AveragedModel(model, avg_fn=abs, multi_avg_fn=abs),
    lambda utils, model, optimizer: utils.SWALR(optimizer, 0.1, anneal_strategy="sine"),
    lambda utils, model, optimizer: utils.SWALR(optimizer, 0.1, anneal_epochs=-1),
    lambda utils, model, optimizer: utils.SWALR(optimizer, [0.1, 0.2]),
])  # fmt: skip
def test_errors_are_those_of_torch(bad):
    def run(library):
        model = library.nn.Linear(1, 1)
        bad(library.optim.swa_utils, model, library.optim.SGD(model.parameters()))

    assert message(numbagrad, run) == message(torch, run)
