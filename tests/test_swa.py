"""Averaged models, their schedule and their batch norms, without torch."""

import copy
import pickle

import numpy as np
import pytest

import numbagrad as ng
from numbagrad import nn
from numbagrad.optim import SGD, swa_utils


def layer(value):
    made = nn.Linear(1, 2)
    for parameter in made.parameters():
        parameter.data.fill_(value)
    return made


def averaged(values, **options):
    """The weight of a model averaged over some with given weights."""
    model = swa_utils.AveragedModel(layer(-1.0), **options)
    for value in values:
        model.update_parameters(layer(value))
    assert model.n_averaged.item() == len(values)
    return model.module.weight.flatten().tolist()


def test_all_models_weigh_the_same():
    assert averaged([1.0, 2.0, 6.0]) == [3.0, 3.0]
    lists = averaged([1.0, 2.0, 6.0], multi_avg_fn=swa_utils.get_swa_multi_avg_fn())
    assert lists == pytest.approx([3.0, 3.0])


def test_old_models_weigh_less():
    expected = pytest.approx([0.5 * 1.5 + 3.0] * 2)
    assert averaged([1.0, 2.0, 6.0], avg_fn=swa_utils.get_ema_avg_fn(0.5)) == expected
    found = averaged([1.0, 2.0, 6.0], multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5))
    assert found == expected


def test_a_model_is_copied_and_its_parameters_stay():
    model = layer(1.0)
    mean = swa_utils.AveragedModel(model)
    mean.update_parameters(model)
    model.weight.data.fill_(3.0)
    mean.update_parameters(model)
    assert model.weight.flatten().tolist() == [3.0, 3.0]
    assert mean(ng.ones(1, 1)).tolist() == [[3.0, 3.0]]
    assert list(mean.state_dict()) == ["n_averaged", "module.weight", "module.bias"]


def test_buffers_are_copied_or_averaged():
    model = nn.BatchNorm1d(1)
    for use, mean, batches in ((False, 4.0, 3), (True, 2.0, 1)):
        model.reset_running_stats()
        kept = swa_utils.AveragedModel(model, use_buffers=use)
        for value, count in ((0.0, 0), (4.0, 3)):
            model.running_mean.fill_(value)
            model.num_batches_tracked.fill_(count)
            kept.update_parameters(model)
        assert kept.module.running_mean.item() == mean
        assert kept.module.num_batches_tracked.item() == batches


def test_batch_norms_average_over_all_batches():
    norm = nn.BatchNorm1d(2)
    instance = nn.InstanceNorm1d(2, track_running_stats=True)
    model = nn.Sequential(norm, instance).eval()
    norm.running_mean.fill_(7.0)
    instance.running_mean.fill_(7.0)
    ng.manual_seed(0)
    batches = [ng.randn(4, 2, 3) for _ in range(3)]
    swa_utils.update_bn([(x, None) for x in batches], model)
    expected = np.mean([x.mean((0, 2)).numpy() for x in batches], 0)
    np.testing.assert_allclose(norm.running_mean.numpy(), expected, rtol=1e-5)
    assert (norm.momentum, norm.training) == (0.1, False)
    # An instance norm is none of them: it goes on from what it had.
    assert instance.momentum == 0.1
    assert instance.running_mean.min() > 4.0


def test_rates_and_their_state():
    optimizer = SGD([nn.Parameter(ng.ones(1))], lr=1.0)
    scheduler = swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    saved = None
    found = []
    for k in range(4):
        optimizer.step()
        scheduler.step()
        found += scheduler.get_last_lr()
        if k == 0:
            saved = pickle.loads(pickle.dumps((optimizer.state_dict(), scheduler.state_dict())))
    assert found == [0.75, 0.5, 0.5, 0.5]
    again = SGD([nn.Parameter(ng.ones(1))], lr=1.0)
    going_on = swa_utils.SWALR(again, 0.5)
    again.load_state_dict(saved[0])
    going_on.load_state_dict(copy.deepcopy(saved[1]))
    again.step()
    going_on.step()
    assert going_on.get_last_lr() == [0.5]
