"""compile(): tensors that a call puts into attributes and dictionaries, in the place of others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from compile_checks import assert_compiled

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.executor.mode import NATIVE

CALLS = 14


def inputs(k):
    return torch.from_numpy(np.random.default_rng(k).normal(size=(5, 3)).astype("float32"))


def both(make, given=inputs, fullgraph=True, between=lambda k, kept: None):
    """The same calls compiled and not; ``make`` returns the function and what to look at after.

    ``between(k, ...)`` runs before each call.
    """
    outcomes = []
    for compiles in (False, True):
        torch.manual_seed(0)
        function, look = make()
        run = torch.compile(function, fullgraph=fullgraph) if compiles else function
        found = []
        for k in range(CALLS):
            between(k, look)
            result = run(given(k))
            found.append([each.detach() for each in (result, *look())])
        outcomes.append([[x.numpy().copy() for x in each] for each in found])
        if compiles and fullgraph:
            assert_compiled(run)
    for expected, seen in zip(*outcomes, strict=True):
        for a, b in zip(seen, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    return run


@pytest.mark.parametrize("wrap", [nn.utils.weight_norm, nn.utils.spectral_norm])
def test_a_weight_that_a_hook_computes(wrap):
    def make():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            layer = wrap(nn.Linear(3, 4))
        network = nn.Sequential(layer, nn.ReLU(), nn.Linear(4, 1))
        optimizer = optim.SGD(network.parameters(), 0.1)

        def step(x):
            optimizer.zero_grad()
            loss = network(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: [layer.weight, *network.parameters()]

    both(make)


class Noting(nn.Module):
    """A layer that keeps what it made last, in an attribute and in a dictionary."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.last = torch.zeros(5, 3)
        self.seen = {"size": torch.zeros(())}

    def forward(self, x):
        made = self.layer(x).tanh()
        self.last = made.detach()
        self.seen["size"] = made.detach().abs().sum()
        return made.sum()


def test_what_a_module_keeps_of_its_last_call():
    def make():
        module = Noting()

        def step(x):
            return module(x)

        return step, lambda: [module.last, module.seen["size"]]

    both(make)


def test_what_is_kept_has_the_size_of_the_batch():
    def make():
        module = Noting()

        def step(x):
            return module(x)

        return step, lambda: [module.last, module.seen["size"]]

    compiled = both(make, lambda k: inputs(k)[: 2 + k % 3])
    assert_compiled(compiled)


def test_what_was_kept_is_not_written_again():
    module = Noting()
    compiled = torch.compile(module)
    kept = []
    for k in range(CALLS):
        compiled(inputs(k))
        kept.append((module.last, module.last.numpy().copy()))
    for tensor, values in kept:
        np.testing.assert_array_equal(tensor.numpy(), values)


def test_what_was_kept_is_read_by_the_next_call():
    class Recurrent:
        def __init__(self):
            self.state = torch.zeros(5, 3)

        def step(self, x):
            y = (x * 0.5).tanh()
            self.state = 0.9 * self.state + y
            return self.state.sum() * y.mean()

    def make():
        cell = Recurrent()
        return cell.step, lambda: [cell.state]

    with pytest.warns() if NATIVE else torch.no_grad():
        both(make, fullgraph=False)


def test_what_was_kept_is_returned_by_the_next_call():
    class Delay:
        def __init__(self):
            self.before = torch.zeros(5, 3)

        def step(self, x):
            y = (x * 0.5).tanh()
            y, self.before = self.before, y
            return y

    def make():
        delay = Delay()
        return delay.step, lambda: [delay.before]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both(make, fullgraph=False)


def test_another_tensor_is_there_between_calls():
    """Of another size, or none at all: what the function finds decides what it does."""

    class Masked:
        def __init__(self):
            self.mask = torch.ones(5, 3)

        def step(self, x):
            if self.mask is None or self.mask.shape != x.shape:
                self.mask = torch.full(x.shape, 2.0) + 0 * x
            else:
                self.mask = torch.full(x.shape, 0.5) + 0 * x
            return (x * self.mask).sum()

    masked = []

    def make():
        masked.append(Masked())
        return masked[-1].step, lambda: []

    def between(k, look):
        if k % 5 == 3:
            masked[-1].mask = None if k % 2 else torch.ones(4, 3)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both(make, fullgraph=False, between=between)


def test_a_tensor_that_is_put_back():
    class Swapping:
        def __init__(self):
            self.scale = torch.full((3,), 2.0)

        def step(self, x):
            before = self.scale
            self.scale = before * 1.5
            made = (x * self.scale).sum()
            self.scale = before
            return made + self.scale.sum()

    swapping = []

    def make():
        swapping.append(Swapping())
        return swapping[-1].step, lambda: [swapping[-1].scale]

    def between(k, look):
        if k % 6 == 5:
            swapping[-1].scale = torch.full((3,), float(k))

    both(make, between=between)


def test_what_hooks_keep():
    def make():
        layer, kept = nn.Linear(3, 2), {"made": torch.zeros(5, 2)}
        layer.register_forward_hook(lambda m, given, made: kept.update(made=made.detach()))

        def step(x):
            layer.zero_grad()
            loss = layer(x).pow(2).sum()
            loss.backward()
            return loss

        return step, lambda: [kept["made"], layer.weight.grad]

    both(make)
