"""Every distribution, transform and divergence beside torch's: values, samples, gradients."""

import itertools

import numpy as np
import pytest
import torch as oracle

import numbagrad as torch

#: Parameters are drawn by name: positive numbers, any numbers, probabilities and so on.
CASES = {
    "Bernoulli": {"probs": "unit"},
    "Bernoulli-logits": {"logits": "real"},
    "Beta": {"concentration1": "positive", "concentration0": "positive"},
    "Binomial": {"total_count": "count", "probs": "unit"},
    "Binomial-logits": {"total_count": "count", "logits": "real"},
    "Categorical": {"probs": "simplex"},
    "Categorical-logits": {"logits": "vector"},
    "Cauchy": {"loc": "real", "scale": "positive"},
    "Chi2": {"df": "positive"},
    "ContinuousBernoulli": {"probs": "unit"},
    "ContinuousBernoulli-logits": {"logits": "real"},
    "Dirichlet": {"concentration": "positive_vector"},
    "Exponential": {"rate": "positive"},
    "FisherSnedecor": {"df1": "positive", "df2": "positive"},
    "Gamma": {"concentration": "positive", "rate": "positive"},
    "GeneralizedPareto": {"loc": "real", "scale": "positive", "concentration": "unit"},
    "Geometric": {"probs": "unit"},
    "Geometric-logits": {"logits": "real"},
    "Gumbel": {"loc": "real", "scale": "positive"},
    "HalfCauchy": {"scale": "positive"},
    "HalfNormal": {"scale": "positive"},
    "InverseGamma": {"concentration": "positive", "rate": "positive"},
    "Kumaraswamy": {"concentration1": "positive", "concentration0": "positive"},
    "LKJCholesky": {"dim": 3, "concentration": "positive"},
    "Laplace": {"loc": "real", "scale": "positive"},
    "LogNormal": {"loc": "real", "scale": "positive"},
    "LogisticNormal": {"loc": "vector", "scale": "positive_vector"},
    "LowRankMultivariateNormal": {
        "loc": "vector", "cov_factor": "matrix", "cov_diag": "positive_vector",
    },
    "Multinomial": {"total_count": 5, "probs": "simplex"},
    "MultivariateNormal": {"loc": "vector", "covariance_matrix": "definite"},
    "MultivariateNormal-precision": {"loc": "vector", "precision_matrix": "definite"},
    "MultivariateNormal-factor": {"loc": "vector", "scale_tril": "factor"},
    "NegativeBinomial": {"total_count": "count", "probs": "unit"},
    "Normal": {"loc": "real", "scale": "positive"},
    "OneHotCategorical": {"probs": "simplex"},
    "OneHotCategoricalStraightThrough": {"logits": "vector"},
    "Pareto": {"scale": "positive", "alpha": "positive"},
    "Poisson": {"rate": "positive"},
    "RelaxedBernoulli": {"temperature": "one", "probs": "unit"},
    "RelaxedOneHotCategorical": {"temperature": "one", "logits": "vector"},
    "StudentT": {"df": "positive", "loc": "real", "scale": "positive"},
    "Uniform": {"low": "real", "high": "above"},
    "VonMises": {"loc": "real", "concentration": "positive"},
    "Weibull": {"scale": "positive", "concentration": "positive"},
    "Wishart": {"df": "large", "covariance_matrix": "definite"},
}  # fmt: skip
#: What torch computes in single precision alone.
SINGLE = ("GeneralizedPareto",)
#: What torch draws again and again, as it takes all its samples for singular.
REDRAWN = ("Wishart",)
#: What torch computes by approximations of seven digits, or in single precision.
ROUGH = ("VonMises", *SINGLE)
#: Parameters that no gradient is asked for.
WHOLE = ("total_count", "dim")


def drawn(kind, seed=0):
    """An array of a kind of parameter, for a batch of two."""
    if not isinstance(kind, str):
        return kind
    random = np.random.RandomState(seed)
    matrix = random.randn(2, 3, 3)
    definite = matrix @ matrix.transpose(0, 2, 1) + 3 * np.eye(3)
    vector = random.rand(2, 3) + 0.2
    return {
        "unit": random.rand(2) * 0.8 + 0.1,
        "real": random.randn(2),
        "positive": random.rand(2) * 3 + 0.5,
        "above": random.rand(2) + 4,
        "one": np.float64(0.7),
        "large": random.rand(2) + 6,
        "count": np.array([4.0, 4.0]),
        "simplex": vector / vector.sum(-1, keepdims=True),
        "vector": random.randn(2, 3),
        "positive_vector": vector,
        "matrix": random.randn(2, 3, 2),
        "definite": definite,
        "factor": np.linalg.cholesky(definite),
    }[kind]


def made(library, case, seed=0, gradients=False):
    """The distribution of a case, and those parameters that are tensors of reals."""
    name = case.partition("-")[0]
    parameters = {}
    for position, (key, kind) in enumerate(CASES[case].items()):
        value = drawn(kind, seed + position)
        if not isinstance(value, int):
            kind = library.float32 if name in SINGLE else library.float64
            value = library.tensor(value, dtype=kind)
            if gradients and key not in WHOLE:
                value.requires_grad_()
        parameters[key] = value
    tensors = [v for k, v in parameters.items() if k not in WHOLE and not isinstance(v, int)]
    return getattr(library.distributions, name)(**parameters), tensors


def both(function, rtol=1e-9, atol=1e-11):
    """The same values, or the same class of error."""
    results = []
    for library in (oracle, torch):
        library.manual_seed(5)
        try:
            results.append(function(library))
        except Exception as error:
            results.append(error)
    theirs, ours = results
    if isinstance(theirs, Exception):
        assert type(ours).__name__ == type(theirs).__name__, (ours, theirs)
        return
    if isinstance(ours, Exception):
        raise ours
    flat = [theirs, ours] if isinstance(theirs, (list, tuple)) else [[theirs], [ours]]
    assert len(flat[0]) == len(flat[1])
    for expected, value in zip(*flat, strict=True):
        if hasattr(expected, "detach"):
            assert tuple(value.shape) == tuple(expected.shape)
            assert str(value.dtype) == str(expected.dtype)
            value, expected = value.detach().numpy(), expected.detach().numpy()
        np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)


@pytest.fixture(scope="module")
def samples():
    """A few samples of each case, as arrays."""
    found = {}
    for case in CASES:
        oracle.manual_seed(1)
        found[case] = made(oracle, case)[0].sample((3,)).numpy()
    return found


DRAWN = [case for case in CASES if case not in REDRAWN]


@pytest.mark.parametrize("case", DRAWN)
def test_samples(case):
    both(lambda library: made(library, case)[0].sample((4,)), rtol=1e-6, atol=1e-9)
    both(lambda library: made(library, case)[0].sample((4,)).shape)
    both(lambda library: library.rand(3), rtol=0)


@pytest.mark.parametrize("case", DRAWN)
def test_numbers_that_are_left_are_the_same_after_samples(case):
    def after(library):
        made(library, case)[0].sample((3,))
        return library.rand(3)

    both(after, rtol=0)


def test_wishart_samples_have_their_mean():
    torch.manual_seed(0)
    distribution, tensors = made(torch, "Wishart", gradients=True)
    drawn_samples = distribution.rsample((2000,))
    np.testing.assert_allclose(
        drawn_samples.detach().mean(0).numpy(), distribution.mean.detach().numpy(), rtol=0.2, atol=2
    )
    gradients = torch.autograd.grad(drawn_samples.mean(), tensors)
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("case", DRAWN)
def test_gradients_of_rsample(case):
    def gradients(library):
        distribution, tensors = made(library, case, gradients=True)
        if not distribution.has_rsample:
            raise NotImplementedError
        value = distribution.rsample((4,))
        return library.autograd.grad((value * value).sum(), tensors, allow_unused=False)

    # torch's own gradients of gamma and beta quantiles have four digits.
    both(gradients, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", ["log_prob", "cdf"])
def test_functions_of_values(case, method, samples):
    def values(library):
        distribution, tensors = made(library, case, gradients=True)
        value = library.tensor(samples[case])
        result = getattr(distribution, method)(value)
        used = library.autograd.grad(result.sum(), tensors, allow_unused=True)
        return [result, *[library.zeros(()) if g is None else g for g in used]]

    both(values, rtol=1e-4 if case in SINGLE else 1e-6, atol=1e-5 if case in SINGLE else 1e-8)


@pytest.mark.parametrize("case", CASES)
def test_icdf(case):
    rtol = 1e-5 if case in SINGLE else 1e-8
    kind = "float32" if case in SINGLE else "float64"
    both(
        lambda library: made(library, case)[0].icdf(
            library.tensor([0.2, 0.7], dtype=getattr(library, kind))
        ),
        rtol,
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["mean", "mode", "variance", "stddev"])
def test_moments(case, name):
    rtol = 1e-6 if case in ROUGH else 1e-9
    both(lambda library: getattr(made(library, case)[0], name), rtol)


@pytest.mark.parametrize("case", CASES)
def test_entropy(case):
    rtol = 1e-6 if case in ROUGH else 1e-9
    both(lambda library: made(library, case)[0].entropy(), rtol)
    both(lambda library: made(library, case)[0].perplexity(), rtol)


@pytest.mark.parametrize("case", CASES)
def test_enumerate_support(case):
    both(lambda library: made(library, case)[0].enumerate_support())
    both(lambda library: made(library, case)[0].enumerate_support(expand=False))


@pytest.mark.parametrize("case", CASES)
def test_expand(case, samples):
    def expanded(library):
        distribution = made(library, case)[0].expand((3, 2))
        result = distribution.log_prob(library.tensor(samples[case]))
        return [result] if case in REDRAWN else [result, distribution.sample()]

    both(expanded, rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_text_and_shapes(case):
    ours, theirs = made(torch, case)[0], made(oracle, case)[0]
    assert repr(ours) == repr(theirs)
    assert (ours.batch_shape, ours.event_shape) == (theirs.batch_shape, theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    assert repr(ours.support) == repr(theirs.support)
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    assert list(ours.arg_constraints) == list(theirs.arg_constraints)


@pytest.mark.parametrize("case", CASES)
def test_values_outside_the_support_are_refused(case, samples):
    rtol = 1e-5 if case in ROUGH else 1e-9
    outside = samples[case] * 0 + 99.5
    both(lambda library: made(library, case)[0].log_prob(library.tensor(outside)), rtol)
    both(lambda library: made(library, case)[0].log_prob(library.ones(5, 5, 7)))


def test_kl_of_wishart_distributions_is_the_mean_of_the_difference():
    # torch has another formula, which 40,000 samples contradict.
    ours, other = made(torch, "Wishart")[0], made(torch, "Wishart", 9)[0]
    torch.manual_seed(0)
    x = ours.sample((2000,))
    sampled = (ours.log_prob(x) - other.log_prob(x)).mean(0)
    kl = torch.distributions.kl_divergence(ours, other)
    np.testing.assert_allclose(kl.numpy(), sampled.numpy(), rtol=0.1)


@pytest.mark.parametrize("case", [case for case in CASES if case != "Wishart"])
def test_kl_of_two_of_a_kind(case):
    def divergence(library):
        return library.distributions.kl_divergence(
            made(library, case)[0], made(library, case, 9)[0]
        )

    both(divergence, 1e-8)


KL = ["Bernoulli", "Beta", "Binomial", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel",
      "Laplace", "Normal", "Pareto", "Poisson", "Uniform", "MultivariateNormal",
      "LowRankMultivariateNormal", "Dirichlet"]  # fmt: skip


@pytest.mark.parametrize("pair", itertools.permutations(KL, 2), ids="-".join)
@pytest.mark.filterwarnings("ignore")
def test_kl_of_different_kinds(pair):
    both(
        lambda library: library.distributions.kl_divergence(
            made(library, pair[0])[0], made(library, pair[1], 9)[0]
        ),
        1e-7,
    )


def test_mixtures_and_independent_dimensions(samples):
    def mixture(library):
        d = library.distributions
        weights = d.Categorical(library.tensor(drawn("simplex")))
        parts = d.Normal(library.tensor(drawn("vector")), library.tensor(drawn("positive_vector")))
        mixed = d.MixtureSameFamily(weights, parts)
        vectors = d.MixtureSameFamily(
            d.Categorical(library.ones(2).double()), made(library, "MultivariateNormal")[0]
        )
        independent = d.Independent(made(library, "Normal")[0], 1)
        value = library.tensor([0.3, -1.0]).double()
        return [
            mixed.sample((5,)), mixed.mean, mixed.variance, mixed.log_prob(value),
            mixed.cdf(value), vectors.sample((3,)), vectors.mean,
            vectors.log_prob(library.ones(3).double()), independent.log_prob(value),
            independent.entropy(), independent.rsample((2,)), independent.expand((4,)).sample(),
            d.kl_divergence(independent, d.Independent(made(library, "Normal", 4)[0], 1)),
        ]  # fmt: skip

    both(mixture, 1e-6)


TRANSFORMS = {
    "AbsTransform": ((), "real"),
    "AffineTransform": ((2.0, -3.0), "real"),
    "CorrCholeskyTransform": ((), "vector"),
    "ExpTransform": ((), "real"),
    "LowerCholeskyTransform": ((), "definite"),
    "PositiveDefiniteTransform": ((), "definite"),
    "PowerTransform": ((1.5,), "positive"),
    "SigmoidTransform": ((), "real"),
    "SoftmaxTransform": ((), "vector"),
    "SoftplusTransform": ((), "real"),
    "StickBreakingTransform": ((), "vector"),
    "TanhTransform": ((), "real"),
    "ReshapeTransform": (((3,), (1, 3)), "vector"),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    arguments, kind = TRANSFORMS[name]

    def transformed(library, part):
        transform = getattr(library.distributions, name)(*arguments)
        x = library.tensor(drawn(kind))
        y = transform(x)
        if part == "shape":
            return transform.forward_shape(x.shape) + transform.inverse_shape(y.shape)
        return {
            "value": lambda: y,
            "inverse": lambda: transform.inv(y),
            "jacobian": lambda: transform.log_abs_det_jacobian(x, y),
            "inverse jacobian": lambda: transform.inv.log_abs_det_jacobian(y, x),
            "sign": lambda: transform.sign,
            "dims": lambda: transform.event_dim,
            "checks": lambda: transform.codomain.check(y),
        }[part]()

    for part in ("value", "inverse", "jacobian", "inverse jacobian", "sign", "dims", "checks"):
        both(lambda library, part=part: transformed(library, part), 1e-7)
    both(lambda library: tuple(transformed(library, "shape")))
    ours = getattr(torch.distributions, name)(*arguments)
    theirs = getattr(oracle.distributions, name)(*arguments)
    assert repr(ours) == repr(theirs) and ours.bijective == theirs.bijective
    assert repr(ours.domain) == repr(theirs.domain)


@pytest.mark.parametrize(
    "constraint",
    """real positive nonnegative unit_interval simplex lower_cholesky corr_cholesky real_vector
    positive_definite greater_than(1.) less_than(2.) interval(-1.,3.) half_open_interval(0.,2.)
    independent(C.real,1) positive_integer boolean one_hot square symmetric
    greater_than_eq(1.) cat([C.real,C.positive],-1,[2,1]) stack([C.real,C.positive,C.real],-1)
    """.split(),
)
def test_constraints(constraint):
    values = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [-1.0, 2.0, 7.0]])

    def find(library):
        C = library.distributions.constraints
        return eval(f"C.{constraint}", {"C": C})

    both(lambda library: find(library).check(library.tensor(values)))
    assert repr(find(torch)) == repr(find(oracle))
    for registry in ("biject_to", "transform_to"):

        def sent(library, registry=registry):
            transform = getattr(library.distributions, registry)(find(library))
            return [
                transform(library.tensor(values)),
                transform.inv(transform(library.tensor(values))),
            ]

        both(sent, 1e-6)


def test_transformed_distributions():
    def composed(library):
        d = library.distributions
        base = d.Normal(library.zeros(2).double(), library.ones(2).double())
        chain = d.TransformedDistribution(
            base, [d.AffineTransform(1.0, 2.0), d.SigmoidTransform(), d.StickBreakingTransform()]
        )
        monotone = d.TransformedDistribution(base, [d.AffineTransform(1.0, -2.0), d.ExpTransform()])
        x = chain.sample((3,))
        value = library.tensor([0.4, 2.0]).double()
        return [
            x, chain.log_prob(x), chain.expand((4,)).sample(), monotone.log_prob(value),
            monotone.cdf(value), monotone.icdf(library.tensor([0.2, 0.9]).double()),
            monotone.rsample((2,)),
        ]  # fmt: skip

    both(composed, 1e-6)


def test_a_cache_gives_the_value_itself_back():
    for library in (torch, oracle):
        d = library.distributions
        transform = d.ComposeTransform(
            [d.ExpTransform(), d.AffineTransform(0.0, 2.0)], cache_size=1
        )
        x = library.randn(3)
        assert transform.inv(transform(x)) is x
        assert transform.inv.inv is transform


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d, t: d.Normal(t.zeros(2), -t.ones(2)),
        lambda d, t: d.Normal("a", 1.0),
        lambda d, t: d.Bernoulli(),
        lambda d, t: d.Bernoulli(probs=t.tensor(2.0)),
        lambda d, t: d.Categorical(t.tensor(1.0)),
        lambda d, t: d.Uniform(1.0, 0.0),
        lambda d, t: d.Normal(0.0, 1.0).log_prob(3),
        lambda d, t: d.MultivariateNormal(t.zeros(2)),
        lambda d, t: d.Dirichlet(t.tensor(1.0)),
        lambda d, t: d.kl_divergence(d.Normal(0.0, 1.0), d.Poisson(1.0)),
        lambda d, t: d.Independent(d.Normal(0.0, 1.0), 1),
        lambda d, t: d.LKJCholesky(1),
        lambda d, t: d.Normal(t.tensor([float("nan")]), t.ones(1)),
    ],
)
def test_errors(wrong):
    texts = []
    for library in (oracle, torch):
        with pytest.raises(Exception) as caught:
            wrong(library.distributions, library)
        texts.append(f"{type(caught.value).__name__}: {caught.value}".replace(" ", ""))
    assert texts[0] == texts[1]


def known(constraint, what):
    """What a constraint says of its values, or the error it raises where that cannot be told."""
    try:
        return getattr(constraint, what)
    except (AttributeError, NotImplementedError) as error:
        return type(error)


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in oracle.distributions.__all__
        if hasattr(getattr(oracle.distributions, n), "support")
    ],
)
@pytest.mark.parametrize("what", ["event_dim", "is_discrete"])
def test_what_a_class_can_tell_of_its_values(name, what):
    ours, theirs = (
        getattr(torch.distributions, name).support,
        getattr(oracle.distributions, name).support,
    )
    assert known(ours, what) == known(theirs, what)


@pytest.mark.parametrize(
    "name", [n for n in oracle.distributions.transforms.__all__ if n.endswith("Transform")]
)
def test_the_sign_that_a_class_can_tell(name):
    ours, theirs = getattr(torch.distributions, name), getattr(oracle.distributions, name)
    if isinstance(theirs.sign, int):
        assert ours.sign == theirs.sign
    else:
        assert isinstance(ours.sign, property)


@pytest.mark.parametrize("what", ["support", "arg_constraints"])
def test_a_distribution_without_constraints(what):
    with pytest.raises(NotImplementedError):
        getattr(torch.distributions.Distribution(validate_args=False), what)
