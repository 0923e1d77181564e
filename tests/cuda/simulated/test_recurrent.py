"""Recurrent layers on the device: results and gradients of the CPU, two launches a step."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn
from numbagrad.cuda.driver import driver

LAYERS = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN}


def outcome(layer, x, device):
    """The results, and the gradients of everything, of a layer on a device."""
    layer = layer.to(device)
    x = x.to(device).requires_grad_()
    made, last = layer(x)
    states = last if isinstance(last, tuple) else (last,)
    total = (made * made).sum() + sum([(k + 2) * s.sin().sum() for k, s in enumerate(states)])
    grads = torch.autograd.grad(total, [x, *layer.parameters()])
    return [t.detach().cpu().numpy() for t in (made, *states, *grads)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("reversed_too", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_results_and_gradients(name, reversed_too, bias):
    torch.manual_seed(3)
    layer = LAYERS[name](3, 4, 2, bias=bias, bidirectional=reversed_too).double()
    x = torch.randn(4, 2, 3, dtype=torch.float64)
    expected = outcome(layer, x, "cpu")
    for own, other in zip(outcome(layer, x, "cuda"), expected, strict=True):
        np.testing.assert_allclose(own, other, 1e-9, 1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_packed_sequences(name):
    torch.manual_seed(4)
    layer = LAYERS[name](3, 2, bidirectional=True).double()
    x = torch.randn(4, 3, 3, dtype=torch.float64)
    found = []
    for device in ("cpu", "cuda"):
        there = layer.to(device)
        leaf = x.to(device).requires_grad_()
        packed = nn.utils.rnn.pack_padded_sequence(leaf, torch.tensor([4, 2, 1]))
        made, _ = there(packed)
        grads = torch.autograd.grad((made.data * made.data).sum(), [leaf, *there.parameters()])
        found.append([t.detach().cpu().numpy() for t in (made.data, *grads)])
    for own, other in zip(*found, strict=True):
        np.testing.assert_allclose(own, other, 1e-9, 1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_two_launches_a_step(name):
    layer = LAYERS[name](3, 2).cuda()

    def launches(steps):
        x = torch.randn(steps, 2, 3, device="cuda").requires_grad_()
        layer.zero_grad()
        before = driver().launches
        made, _ = layer(x)
        forward = driver().launches - before
        made.sum().backward()
        return forward, driver().launches - before - forward

    few, more = launches(5), launches(7)
    assert [b - a for a, b in zip(few, more, strict=True)] == [4, 4]


@pytest.mark.filterwarnings("ignore:compile")
def test_compiled_and_with_a_projection():
    torch.manual_seed(0)
    plain, projected = nn.GRU(3, 2), nn.LSTM(3, 4, proj_size=2)
    x = torch.randn(3, 1, 3)
    for layer in (plain, projected):
        expected = layer(x)[0].detach().numpy()
        there = layer.cuda()
        step = torch.compile(lambda x, there=there: there(x)[0])
        for _ in range(3):
            np.testing.assert_allclose(step(x.cuda()).detach().cpu().numpy(), expected, 1e-4, 1e-6)
