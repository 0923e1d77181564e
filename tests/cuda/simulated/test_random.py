"""Random numbers of the device: Philox, its distributions, seeds and states."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.cuda.driver import driver
from numbagrad.cuda.driver.simulated import NAMES
from numbagrad.cuda.kernels.random import PHILOX
from numbagrad.distributions.sampling import standard_gamma
from numbagrad.utils.checkpoint import checkpoint

F = torch.nn.functional


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0), 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((-1, -1), -1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ],
)
def test_philox_is_that_of_its_authors(counter, key, expected):
    """The words that Random123 (Salmon et al.) gives for a counter and key of zeros, and ones."""
    names = dict(NAMES)
    exec(PHILOX, names)
    with np.errstate(all="ignore"):
        words = names["philox"](*[np.int64(x) for x in counter], np.int64(key))
    assert " ".join([f"{int(x):08x}" for x in words]) == expected


#: A method, its arguments, and the mean and deviation of its numbers.
DISTRIBUTIONS = [
    ("uniform_", (-2.0, 4.0), 1.0, 3.0**0.5),
    ("normal_", (1.0, 2.0), 1.0, 2.0),
    ("exponential_", (2.0,), 0.5, 0.5),
    ("log_normal_", (0.0, 0.25), 1.0317, 0.2620),
    ("geometric_", (0.5,), 2.0, 2.0**0.5),
    ("bernoulli_", (0.25,), 0.25, 0.4330),
    ("random_", (3, 8), 5.0, 2.0**0.5),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(("name", "arguments", "mean", "deviation"), DISTRIBUTIONS)
def test_distributions(name, arguments, mean, deviation, dtype):
    torch.manual_seed(1)
    count = 2000
    x = torch.empty(count, dtype=getattr(torch, dtype), device="cuda")
    drawn = getattr(x, name)(*arguments).cpu().double().numpy()
    assert abs(drawn.mean() - mean) < 5 * deviation / count**0.5
    assert abs(drawn.std() / deviation - 1) < 0.25
    assert np.isfinite(drawn).all()


def test_cauchy():
    drawn = torch.empty(2000, device="cuda").cauchy_(1.0, 2.0).cpu().numpy()
    assert np.abs(np.quantile(drawn, [0.25, 0.5, 0.75]) - [-1, 1, 3]).max() < 0.5


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8", "bool"])
def test_integers(dtype):
    kind = getattr(torch, dtype)
    high = 2 if dtype == "bool" else 7
    drawn = torch.randint(0, high, (400,), dtype=kind, device="cuda")
    assert drawn.dtype is kind
    assert sorted(set(drawn.cpu().int().tolist())) == list(range(high))
    assert torch.empty(9, dtype=kind, device="cuda").random_().cpu().long().min() >= 0


def test_integers_of_64_bits():
    drawn = torch.randint(-(1 << 63), (1 << 63) - 1, (64,), device="cuda").cpu()
    assert (drawn < 0).any() and (drawn > 0).any()
    wide = torch.empty(64, dtype=torch.int64, device="cuda").random_(-(1 << 62), (1 << 63) - 1)
    assert wide.cpu().min() >= -(1 << 62)


def test_any_layout_and_complex_numbers():
    x = torch.empty(3, 4, device="cuda").t().uniform_()
    assert x.unique().numel() == 12
    z = torch.randn(1000, dtype=torch.complex64, device="cuda")
    assert abs(z.abs().square().mean().item() - 1) < 0.2
    assert torch.rand(0, device="cuda").numel() == 0


def test_seeds_and_states():
    torch.manual_seed(3)
    first, more = torch.randn(5, device="cuda"), torch.rand(5, device="cuda")
    torch.manual_seed(3)
    assert torch.randn(5, device="cuda").equal(first)
    state = torch.cuda.get_rng_state()
    assert torch.rand(5, device="cuda").equal(more)
    torch.cuda.set_rng_state(state)
    assert torch.rand(5, device="cuda").equal(more)
    torch.cuda.manual_seed_all(3)
    assert torch.randn(5, device="cuda").equal(first)
    assert torch.cuda.initial_seed() == 3
    # The CPU's stream is another one.
    torch.manual_seed(3)
    here = torch.randn(5)
    torch.cuda.manual_seed(4)
    assert not torch.randn(5, device="cuda").equal(first)
    torch.manual_seed(3)
    assert torch.randn(5).equal(here)
    with pytest.raises(RuntimeError, match="16 bytes"):
        torch.cuda.set_rng_state(torch.get_rng_state())


def test_generators():
    one, other = torch.Generator("cuda"), torch.Generator(device="cuda:0")
    assert one.device == torch.device("cuda", 0)
    one.manual_seed(5), other.manual_seed(5)
    drawn = torch.rand(6, generator=one, device="cuda")
    assert torch.rand(6, generator=other, device="cuda").equal(drawn)
    assert one.clone_state().get_state().tolist() == other.get_state().tolist()
    assert torch.randperm(5, generator=one, device="cuda").sort().values.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but"):
        torch.rand(2, generator=torch.Generator(), device="cuda")
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found"):
        torch.rand(2, generator=one)


def test_fork_rng_and_checkpoints():
    x = torch.ones(40, device="cuda", requires_grad=True)
    torch.manual_seed(0)
    with torch.random.fork_rng():
        inside = torch.rand(3, device="cuda")
    assert torch.rand(3, device="cuda").equal(inside)
    for reentrant in (False, True):
        made = checkpoint(lambda t: F.dropout(t, 0.5) * t, x, use_reentrant=reentrant)
        x.grad = None
        made.sum().backward()
        assert x.grad.equal(2 * made.detach())  # of the same mask


def test_draws_from_arrays():
    p = torch.tensor([0.0, 1.0] * 20, device="cuda")
    assert torch.bernoulli(p).equal(p)
    assert torch.empty(2, 40, device="cuda").bernoulli_(p)[1].equal(p)
    weights = torch.tensor([0.0, 3.0, 1.0], device="cuda")
    assert torch.multinomial(weights, 50, replacement=True).unique().tolist() == [1, 2]
    assert sorted(torch.multinomial(weights, 2).tolist()) == [1, 2]
    mean = torch.tensor([0.0, 100.0], device="cuda", requires_grad=True)
    made = torch.normal(mean, torch.ones(2, device="cuda"))
    assert made[1] > 50 and made.is_cuda and made.requires_grad
    for call, text in (
        (lambda: p.exponential_(-1.0), "lambda > 0"),
        (lambda: torch.normal(mean, -1.0), "std >= 0"),
        (lambda: torch.multinomial(weights, 4), "without replacement"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_choices_by_weights_wait_for_nothing(kind):
    weights = torch.tensor([[0.0, 3.0, 1.0, 0.0], [0.5, 0.0, 0.0, 0.0]], dtype=kind, device="cuda")
    before = driver().waits
    many, one = torch.multinomial(weights, 200, replacement=True), torch.multinomial(weights, 1)
    assert driver().waits == before and one.shape == (2, 1)
    counts = many[0].bincount(minlength=4).tolist()
    assert counts[0] == counts[3] == 0 and 120 < counts[1] < 180
    assert many[1].tolist() == [0] * 200 and one[1].item() == 0
    torch.manual_seed(5)
    same = torch.multinomial(weights, 4, replacement=True)  # as many as there are weights
    assert same[1].tolist() == [0] * 4
    torch.manual_seed(5)
    first = torch.multinomial(weights[0], 2)
    torch.manual_seed(5)
    assert torch.multinomial(weights[0], 2).equal(first) and sorted(first.tolist()) == [1, 2]


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, 0.0])
def test_weights_that_make_no_probabilities(weight):
    made = torch.multinomial(torch.tensor([[1.0, 1.0], [0.0, weight]], device="cuda"), 1)
    with pytest.raises(torch.AcceleratorError, match=r"multinomial\(\): the share of the largest"):
        made.tolist()


def test_dropout_draws_on_the_device(monkeypatch):
    x = torch.ones(200, device="cuda", requires_grad=True)
    monkeypatch.setattr(torch.random, "default_generator", None)
    made = F.dropout(x, 0.25)
    made.sum().backward()
    assert set(made.tolist()) == {0.0, float(np.float32(1 / 0.75))}
    assert x.grad.equal(made)


def test_states_of_the_devices_of_tensors():
    from numbagrad.utils.checkpoint import get_device_states, set_device_states

    kept = get_device_states(torch.ones(1, device="cuda"), torch.ones(1), 3)
    drawn = torch.rand(3, device="cuda")
    set_device_states(*kept)
    assert torch.rand(3, device="cuda").equal(drawn)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("rate", [0.0, 2.5, 30.0])
def test_poisson_numbers(rate, dtype):
    """By products below ten, by rejection from there on."""
    rates = torch.full((40, 10), rate, dtype=getattr(torch, dtype), device="cuda")
    drawn = torch.poisson(rates[:, ::2])
    assert (drawn.dtype, drawn.shape, drawn.is_cuda) == (rates.dtype, (40, 5), True)
    numbers = drawn.cpu().double().numpy()
    assert (numbers == np.floor(numbers)).all() and (numbers >= 0).all()
    assert abs(numbers.mean() - rate) <= 5 * (rate / 200) ** 0.5
    assert abs(numbers.var() - rate) <= 0.6 * rate


@pytest.mark.parametrize("prob", [0.0, 0.03, 0.4, 0.8, 1.0])
def test_binomial_numbers(prob):
    """By waiting times, by rejection, and from their other end; counts and chances broadcast."""
    counts = torch.tensor([[40.0], [100.0]], device="cuda").repeat(1, 200)
    numbers = torch.binomial(counts, torch.tensor(prob, device="cuda")).cpu().numpy()
    for count, row in zip((40, 100), numbers, strict=True):
        mean, variance = count * prob, count * prob * (1 - prob)
        assert (row == np.floor(row)).all() and (row >= 0).all() and (row <= count).all()
        assert abs(row.mean() - mean) <= 5 * (variance / 200) ** 0.5
        assert abs(row.var() - variance) <= 0.6 * variance


def test_gamma_and_dirichlet_numbers():
    alpha = torch.tensor([0.3, 1.0, 6.0], device="cuda").repeat(100, 1).requires_grad_()
    drawn = torch.distributions.Gamma(alpha, torch.ones_like(alpha)).rsample()
    drawn.sum().backward()
    numbers = drawn.detach().cpu().numpy()
    for k, mean in enumerate((0.3, 1.0, 6.0)):
        assert abs(numbers[:, k].mean() - mean) <= 5 * (mean / 100) ** 0.5
    assert alpha.grad.is_cuda and alpha.grad.isfinite().all()
    points = torch.distributions.Dirichlet(alpha.detach()).rsample()
    assert points.is_cuda and torch.allclose(points.sum(-1).cpu(), torch.ones(100))
    assert torch.distributions.Poisson(alpha.detach()).sample().is_cuda


def test_a_seed_repeats_numbers_that_are_drawn_by_rejection():
    rates = torch.full((20,), 30.0, device="cuda")
    generator = torch.Generator("cuda").manual_seed(3)
    first, second = torch.poisson(rates, generator), torch.poisson(rates, generator)
    assert not first.equal(second)
    assert torch.poisson(rates, generator.manual_seed(3)).equal(first)
    with pytest.raises(RuntimeError, match="generator"):
        torch.poisson(rates, torch.Generator())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_numbers_drawn_by_rejection_end_for_any_parameter(value):
    x = torch.tensor([value, 1.0], device="cuda")
    assert torch.poisson(x).cpu().shape == (2,)
    assert torch.binomial(x, x.new_tensor([0.5, 0.5])).cpu().shape == (2,)
    assert standard_gamma(x).cpu().shape == (2,)


def test_bad_parameters_are_told_of_when_values_are_read():
    x = torch.tensor([-1.0, 2.0], device="cuda")
    for call, subject in (
        (lambda: torch.poisson(x), "a rate"),
        (lambda: torch.binomial(x, x.abs() / 4), "a count"),
        (lambda: torch.binomial(x.abs(), x), "a probability"),
    ):
        made = call()
        with pytest.raises(torch.AcceleratorError, match=subject):
            made.cpu()


def distributions():
    """Distributions by name, with parameters on the device."""
    v, made = torch.tensor([0.6, 1.1, 0.9], device="cuda"), torch.distributions
    half, five, matrix = v / 2, torch.tensor(5.0, device="cuda"), torch.eye(3, device="cuda")
    one = "Chi2 Dirichlet Exponential HalfCauchy HalfNormal Poisson StudentT Categorical".split()
    two = (
        "Beta Cauchy FisherSnedecor Gamma Gumbel InverseGamma Kumaraswamy Laplace LogNormal".split()
    )
    two += ["Normal", "Pareto", "VonMises", "Weibull"]
    found = {name: functools.partial(getattr(made, name), v) for name in one}
    found |= {name: functools.partial(getattr(made, name), v, v) for name in two}
    found |= {
        name: functools.partial(getattr(made, name), half)
        for name in ("Bernoulli", "ContinuousBernoulli", "Geometric", "OneHotCategorical")
    }
    return found | {
        "Binomial": lambda: made.Binomial(five, half),
        "LKJCholesky": lambda: made.LKJCholesky(3, v[1]),
        "LowRank": lambda: made.LowRankMultivariateNormal(v, v[:, None], v),
        "Multinomial": lambda: made.Multinomial(5, v),
        "MultivariateNormal": lambda: made.MultivariateNormal(v, matrix),
        "NegativeBinomial": lambda: made.NegativeBinomial(five, half),
        "RelaxedBernoulli": lambda: made.RelaxedBernoulli(v[0], half),
        "RelaxedOneHotCategorical": lambda: made.RelaxedOneHotCategorical(v[0], v),
        "Uniform": lambda: made.Uniform(0 * v, v),
        "Wishart": lambda: made.Wishart(five, matrix),
    }


@pytest.mark.parametrize("name", sorted(distributions()))
def test_distributions_stay_on_the_device(name):
    distribution = distributions()[name]()
    drawn = distribution.sample((2,))
    assert drawn.is_cuda and distribution.log_prob(drawn).is_cuda
    assert not distribution.has_rsample or distribution.rsample().is_cuda


def test_functions_that_draw_stay_on_the_device():
    x = torch.randn(2, 3, 4, 4, device="cuda")
    for made in (
        F.dropout1d(x[0]), F.dropout2d(x), F.dropout3d(x[None]),
        F.feature_alpha_dropout(x, 0.5, True),
        F.gumbel_softmax(x), F.gumbel_softmax(x, hard=True), F.fractional_max_pool2d(x, 2, (3, 3)),
        torch.svd_lowrank(x[0, 0], 2)[1], torch.pca_lowrank(x[0, 0], 2)[1],
    ):  # fmt: skip
        assert made.is_cuda
    slopes = F.rrelu(x, 0.25, 0.5, training=True) / x
    assert ((slopes == 1) | ((slopes >= 0.24) & (slopes <= 0.51) & (x < 0))).all()
    kept = F.dropout2d(torch.ones(4, 9, 3, device="cuda"))
    assert set(kept.amax(2).flatten().tolist()) == {0.0, 2.0} and kept.amax(2).equal(kept.amin(2))
