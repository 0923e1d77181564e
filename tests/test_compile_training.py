"""compile(): training steps as they are written for torch, beside the same steps uncompiled."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from compile_checks import assert_compiled, follow

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.compiling.verification import Rounding

F = nn.functional

STEPS = 6


def layers(*sizes):
    """A chain of linear layers with tanh in between."""
    made = []
    for inputs, outputs in zip(sizes, sizes[1:], strict=False):
        made += [nn.Linear(inputs, outputs), nn.Tanh()]
    return nn.Sequential(*made[:-1])


def variational_autoencoder():
    """Noise drawn in the step, two networks under one optimiser."""
    encoder, decoder = layers(6, 8, 4), layers(2, 8, 6)
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = optim.Adam(parameters, 1e-2)

    def step(x):
        mean, logarithm = encoder(x.sigmoid()).chunk(2, -1)
        sample = mean + torch.randn_like(mean) * (0.5 * logarithm).exp()
        found = torch.sigmoid(decoder(sample))
        loss = F.binary_cross_entropy(found, x.sigmoid(), reduction="sum")
        loss = loss - 0.5 * torch.sum(1 + logarithm - mean.pow(2) - logarithm.exp())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, parameters


def adversarial_networks():
    """Two optimisers, and a network that is part of both losses."""
    generator, critic = layers(2, 8, 6), layers(6, 8, 1)
    made = optim.Adam(generator.parameters(), 1e-2, betas=(0.5, 0.999))
    judged = optim.Adam(critic.parameters(), 1e-2)
    criterion = nn.BCEWithLogitsLoss()

    def step(x):
        noise = torch.randn(5, 2)
        judged.zero_grad()
        real = criterion(critic(x), torch.ones(5, 1))
        loss = real + criterion(critic(generator(noise).detach()), torch.zeros(5, 1))
        loss.backward()
        judged.step()
        made.zero_grad()
        other = criterion(critic(generator(noise)), torch.ones(5, 1))
        other.backward()
        made.step()
        return loss, other

    return step, [*generator.parameters(), *critic.parameters()]


def gradient_penalty():
    """A gradient in the loss."""
    critic = layers(6, 8, 1)
    optimizer = optim.Adam(critic.parameters(), 1e-2)

    def step(x):
        share = torch.rand(5, 1)
        mixed = (share * x + (1 - share) * torch.randn(5, 6)).requires_grad_(True)
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        loss = critic(x).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, list(critic.parameters())


def averaged_teacher():
    """Weights that follow others, without gradients."""
    network = layers(6, 5, 1)
    teacher = copy.deepcopy(network).requires_grad_(False)
    optimizer = optim.SGD(network.parameters(), 0.1, momentum=0.9)

    def step(x):
        with torch.no_grad():
            target = teacher(x)
        loss = F.mse_loss(network(x), target + 1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for own, other in zip(teacher.parameters(), network.parameters(), strict=True):
                own.lerp_(other, 0.1)
        return loss

    return step, [*network.parameters(), *teacher.parameters()]


def accumulated_and_clipped():
    """Several backward passes into one gradient, whose norm is limited."""
    network = layers(6, 5, 1)
    optimizer = optim.AdamW(network.parameters(), 0.01)

    def step(x):
        for part in x.split(2):
            (network(part).square().mean() / 3).backward()
        norm = nn.utils.clip_grad_norm_(network.parameters(), 0.05)
        optimizer.step()
        optimizer.zero_grad()
        return norm

    return step, list(network.parameters())


def policy_gradient():
    """Samples drawn from what the network computes."""
    network = layers(6, 8, 3)
    optimizer = optim.Adam(network.parameters(), 0.01)

    def step(x):
        logarithms = F.log_softmax(network(x), -1)
        action = torch.multinomial(logarithms.exp(), 1)
        reward = torch.rand(5)
        chosen = logarithms.gather(1, action).squeeze(1)
        loss = -(chosen * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, list(network.parameters())


def learned_start():
    """Steps of gradient descent that are differentiated (MAML)."""
    network = layers(1, 8, 1)
    optimizer = optim.SGD(network.parameters(), 0.05)

    def step(x):
        total = 0
        for column in x.unbind(1)[:2]:
            known, asked = column[:3, None], column[3:, None]
            weights = dict(network.named_parameters())
            inner = F.mse_loss(torch.func.functional_call(network, weights, (known,)), known.sin())
            slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
            weights = {
                name: weight - 0.1 * slope
                for (name, weight), slope in zip(weights.items(), slopes, strict=True)
            }
            found = torch.func.functional_call(network, weights, (asked,))
            total = total + F.mse_loss(found, asked.sin())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return total

    return step, list(network.parameters())


def graph_network():
    """Sums over the edges of a graph."""
    first, second = nn.Linear(6, 8), nn.Linear(8, 2)
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = optim.Adam(parameters, 0.01)
    start, end = torch.randint(5, (2, 14))
    classes = torch.randint(2, (5,))

    def gathered(nodes):
        return torch.zeros(5, nodes.size(1)).index_add_(0, end, nodes[start])

    def step(x):
        loss = F.cross_entropy(gathered(second(gathered(first(x)).relu())), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, parameters


def images():
    """Convolution, batch norm, pooling, dropout; the first bias has no gradient but rounding."""
    network = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.2), nn.Linear(16, 3),
    )  # fmt: skip
    optimizer = optim.SGD(network.parameters(), 0.05, momentum=0.9, weight_decay=1e-3)
    classes = torch.randint(3, (5,))

    def step(x):
        pictures = (x[:, :4, None] * x[:, None, :4]).unsqueeze(1)
        loss = F.cross_entropy(network(pictures), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [*network.parameters(), *network.buffers()]


def differential_equation():
    """The classical Runge-Kutta method through a network."""
    network = layers(6, 8, 6)
    optimizer = optim.Adam(network.parameters(), 0.01)

    def step(x):
        y, h = x, 0.1
        for _ in range(3):
            k1 = network(y)
            k2 = network(y + h / 2 * k1)
            k3 = network(y + h / 2 * k2)
            k4 = network(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        loss = F.mse_loss(y, x.flip(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, list(network.parameters())


def uncertain_regression():
    """A loss that looks at the sign of variances."""
    network = layers(6, 8, 2)
    optimizer = optim.Adam(network.parameters(), 0.01)

    def step(x):
        mean, variance = network(x).unbind(1)
        loss = F.gaussian_nll_loss(mean, x.sum(1), F.softplus(variance))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, list(network.parameters())


@pytest.mark.parametrize(
    "make",
    [
        variational_autoencoder, adversarial_networks, gradient_penalty, averaged_teacher,
        accumulated_and_clipped, policy_gradient, learned_start, graph_network, images,
        differential_equation, uncertain_regression,
    ],
)  # fmt: skip
def test_step(make):
    outcomes = []
    for compiles in (False, True):
        torch.manual_seed(0)
        step, state = make()
        inputs = torch.randn(STEPS, 5, 6)
        run = torch.compile(step, fullgraph=True) if compiles else step
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            losses = [run(x) for x in inputs]
        if compiles:
            assert_compiled(run)
        flat = [each for loss in losses for each in (loss if isinstance(loss, tuple) else (loss,))]
        outcomes.append([each.detach().numpy() for each in [*flat, *state]])
    for expected, found in zip(*outcomes, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_tensors_are_stacked(shape):
    compiled = follow(
        lambda: lambda *parts: (torch.stack([x * 2 for x in parts]).exp(), torch.stack(parts, -1)),
        lambda k: [torch.full(shape, k + n / 4) for n in range(3)],
    )
    assert_compiled(compiled)


def test_a_gradient_that_is_rounding_alone():
    weight = torch.randn(8, requires_grad=True)

    def make():
        def step(x):
            weight.grad = None
            ((x - x.mean(0)) * weight).sum().backward()
            return weight.grad.abs().max() < 1e-4

        return step

    compiled = follow(make, lambda k: (torch.randn(50, 8),))
    assert_compiled(compiled)


def rows(k):
    """Two tensors in one block of memory."""
    return tuple(torch.randn(2, 5))


def rows_the_other_way(k):
    """The second of two rows first."""
    return tuple(torch.randn(2, 5).unbind())[::-1]


def rows_here_and_there(k):
    """Of one block of memory or of two, nearer or farther."""
    block = torch.randn(3, 5)
    return [(block[0], block[1]), (block[0], block[2]), (block[0], torch.randn(5))][k % 3]


def overlapping(k):
    """Two tensors with an element that is the same."""
    block = torch.randn(9)
    return block[:5], block[4:]


@pytest.mark.parametrize("arguments", [rows, rows_the_other_way, rows_here_and_there, overlapping])
@pytest.mark.parametrize(
    "step",
    [
        lambda a, b: (a * 2 + b).sum(),
        lambda a, b: (a.mul_(2) + b).cumsum(0) * b.flip(0),
        lambda a, b: a * 2 + b.sort().values,
    ],
    ids=["read", "written", "in Python"],
)
def test_arguments_share_memory(arguments, step):
    compiled = torch.compile(step)
    for k in range(6):
        given, same = [torch.manual_seed(k) and arguments(k) for _ in range(2)]
        np.testing.assert_allclose(compiled(*given).numpy(), step(*same).numpy(), rtol=1e-5)
        for a, b in zip(given, same, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert_compiled(compiled, 3 if arguments is rows_here_and_there else 1)


class Stub:
    """A program that computes what it is told, for the check of rounding."""

    def __init__(self, compute):
        self.given, self.operations, self._compute = [], [], compute

    def run(self, arrays, numbers):
        """The results for these arrays."""
        return [self._compute()]


def test_a_program_that_refuses_other_numbers_explains_nothing():
    def refuse():
        raise ValueError("not these")

    rounding = Rounding(Stub(refuse), [], [], None)
    assert rounding.first_beyond([np.ones(3)], [np.full(3, 2.0)]) == 0
    assert rounding.first_beyond([np.ones(3)], [np.ones(3)]) is None


def test_an_error_is_no_rounding():
    generator = np.random.default_rng(0)
    noise = [generator.normal(size=50) * 1e-7 for _ in range(6)]
    rounding = Rounding(Stub(lambda: noise.pop()), [], [], None)
    assert rounding.first_beyond([noise.pop()], [noise.pop()]) is None
    exact = generator.normal(size=50)
    seventh = np.arange(50) == 7
    for expected, found in (
        (exact, np.where(seventh, 0, exact)),
        (exact, np.where(seventh, np.nan, exact)),
        (np.full(50, 1e-7), np.full(50, 2e-7)),
        (np.arange(3), np.arange(3) + 1),
        (np.ones(3), np.ones(4)),
    ):
        steady = Rounding(Stub(lambda found=found: found * (1 + 1e-7)), [], [], None)
        assert steady.first_beyond([expected], [found]) == 0


def test_signs_of_rounding_are_no_error():
    """Adam makes steps of one size of gradients that are rounding, as those of keys' biases."""
    generator = np.random.default_rng(0)

    def steps():
        made = generator.choice([-1e-3, 1e-3], size=600)
        made[200:] = 1e-3
        return made

    runs = []
    rounding = Rounding(Stub(lambda: runs.append(steps()) or runs[-1]), [], [], None)
    assert rounding.first_beyond([steps()], [steps()]) is None
    assert len(runs) > 3  # which leave some of 200 signs unexplained
    beyond = np.where(np.arange(600) == 400, 0.1, steps())
    assert Rounding(Stub(steps), [], [], None).first_beyond([beyond], [steps()]) == 0


def test_a_module_that_is_compiled_in_place():
    """As ``compile(module)``, but for the module itself; copies of it are not compiled."""

    def trained(compiles):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        if compiles:
            net.compile()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        losses = []
        for k in range(8):
            torch.manual_seed(k)
            optimizer.zero_grad()
            loss = net(torch.randn(5, 4)).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, net

    (expected, _), (losses, net) = trained(False), trained(True)
    assert losses == expected
    assert list(net.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert not torch.explain(net._compiled_call_impl)(torch.ones(5, 4)).reason
    for other in (copy.deepcopy(net), copy.copy(net), pickle.loads(pickle.dumps(net))):
        assert other._compiled_call_impl is None
        assert torch.equal(other(torch.ones(1, 4)), net(torch.ones(1, 4)))
    seen = []
    net.register_forward_hook(lambda *arguments: seen.append(arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(5):
            net(torch.ones(5, 4))
    assert len(seen) == 5
