"""``kl_divergence``: how far one distribution is from another, by formulas for pairs of classes.

``register_kl`` adds a formula; the most specific one for two classes is taken. The formulas here
are E_p[log p - log q], written with means and entropies of p where densities of q are simple.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from ..linalg import solve_triangular
from ..ops.creation.filled import full
from ..ops.pointwise.functions import digamma, exp, lgamma, log, log1p
from ..ops.pointwise.selection import where
from ..ops.pointwise.special_functions import mvlgamma
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution, ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent, sum_last
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant
from .wishart import Wishart, multivariate_digamma

__all__ = ["kl_divergence", "register_kl"]

#: By classes; torch's name, which libraries read.
_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Any], Any]:
    """A decorator of a function ``(p, q)`` that returns the divergence for two classes.

    They need not derive from ``Distribution``: libraries register roots of their own.

    Raises:
        TypeError: for what is no class.
    """
    if not isinstance(type_p, type):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorate(function: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = function
        _formula.cache_clear()
        return function

    return decorate


@functools.cache
def _formula(type_p: type, type_q: type) -> Any:
    """The formula of the classes that are nearest, p before q; None if there is none."""
    matches = [
        (type_p.__mro__.index(p), type_q.__mro__.index(q), p, q)
        for p, q in _KL_REGISTRY
        if issubclass(type_p, p) and issubclass(type_q, q)
    ]
    if not matches:
        return None
    by_p = min(matches, key=lambda match: match[:2])
    by_q = min(matches, key=lambda match: (match[1], match[0]))
    if _KL_REGISTRY[by_p[2:]] is not _KL_REGISTRY[by_q[2:]]:
        names = [each.__name__ for each in (*by_p[2:], *by_q[2:])]
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({names[0]}, {names[3]})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p[2:]]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """E_p[log p(x) - log q(x)], of ``batch_shape``.

    Raises:
        NotImplementedError: for classes without a formula.
    """
    kinds: Any = (type(p), type(q))
    formula = _formula(*kinds)
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
            f"{q.__class__.__name__}"
        )
    return formula(p, q)


def _infinite(value: Any) -> Any:
    return full(value.shape, math.inf, dtype=value.dtype, device=value.device)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Any, q: Any) -> Any:
    from ..nn.functional import softplus

    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = where(q.probs == 0, math.inf, t1)
    t1 = where(p.probs == 0, 0.0, t1)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t2 = where(q.probs == 1, math.inf, t2)
    return t1 + where(p.probs == 1, 0.0, t2)


@register_kl(Beta, Beta)
def _beta_beta(p: Any, q: Any) -> Any:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    norms = lgamma(a + b) + lgamma(c) + lgamma(d) - lgamma(c + d) - lgamma(a) - lgamma(b)
    means = (a - c) * digamma(a) + (b - d) * digamma(b)
    return norms + means + (c + d - a - b) * digamma(a + b)


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    hit = p.probs * (p.logits - q.logits)
    kl = p.total_count * (hit + log1p(-p.probs) - log1p(-q.probs))
    return where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    t = where((q.probs == 0).expand_as(t), math.inf, t)
    return where((p.probs == 0).expand_as(t), 0.0, t).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_continuous(p: Any, q: Any) -> Any:
    means = p.mean * (p.logits - q.logits)
    norms = p._log_norm() + log1p(-p.probs)
    return means + norms - q._log_norm() - log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = lgamma(total) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)
    return norms + ((a - b) * (digamma(a) - digamma(total).unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -log(ratio) + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _family_family(p: Any, q: Any) -> Any:
    """The Bregman divergence of the normalizer."""
    from ..autograd import grad
    from ..autograd.grad_mode import enable_grad

    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    with enable_grad():
        mine = [each.detach().requires_grad_() for each in p._natural_params]
        normalizer = p._log_normalizer(*mine)
        gradients = grad(normalizer.sum(), mine, create_graph=True)
    theirs = q._natural_params
    result = q._log_normalizer(*theirs) - normalizer
    for a, b, slope in zip(mine, theirs, gradients, strict=True):
        result = result - sum_last((b - a) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    norms = b * log(p.rate / q.rate) + lgamma(b) - lgamma(a)
    return norms + (a - b) * digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel_gumbel(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    left, right = q.loc / q.scale, p.loc / q.scale
    moved = exp(left + lgamma(1 + ratio) - right)
    return -log(ratio) - left + right + ratio * euler_constant + moved - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _half_half(p: Any, q: Any) -> Any:
    return _normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -log(ratio) + distance / q.scale + ratio * exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _normal_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - log(ratio))


def _factor(d: Any) -> Any:
    return d._unbroadcasted_scale_tril if isinstance(d, MultivariateNormal) else d.scale_tril


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _vectors_vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {type(p).__name__} distributions with different event "
            "shapes cannot be computed"
        )
    mine, theirs = _factor(p), _factor(q)
    n = p.event_shape[0]
    dets = [each.diagonal(dim1=-2, dim2=-1).log().sum(-1) for each in (theirs, mine)]
    trace = solve_triangular(theirs, mine, upper=False).square().sum((-2, -1))
    distance = batch_mahalanobis(theirs, q.loc - p.loc)
    return dets[0] - dets[1] + 0.5 * (trace + distance - n)


@register_kl(OneHotCategorical, OneHotCategorical)
def _vectors_of_classes(p: Any, q: Any) -> Any:
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto_pareto(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    share = q.alpha / p.alpha
    kl = q.alpha * log(ratio) - log(share) + share - 1
    return where(p.support.lower_bound < q.support.lower_bound, math.inf, kl)


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Any, q: Any) -> Any:
    return p.rate * (log(p.rate) - log(q.rate)) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Any, q: Any) -> Any:
    kl = log((q.high - q.low) / (p.high - p.low))
    return where((q.low > p.low) | (q.high < p.high), math.inf, kl)


@register_kl(Independent, Independent)
def _independent_independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Wishart, Wishart)
def _wishart_wishart(p: Any, q: Any) -> Any:
    mine, theirs = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    n = p.event_shape[-1]
    dets = [2 * each.diagonal(dim1=-2, dim2=-1).log().sum(-1) for each in (theirs, mine)]
    trace = solve_triangular(theirs, mine, upper=False).square().sum((-2, -1))
    norms = mvlgamma(q.df / 2, p=n) - mvlgamma(p.df / 2, p=n)
    means = (p.df - q.df) / 2 * multivariate_digamma(p.df / 2, n)
    return q.df / 2 * (dets[0] - dets[1]) + norms + means + p.df / 2 * (trace - n)


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Any, q: Any) -> Any:
    """Chyzak and Nielsen (2019)."""
    top = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return log(top) - log(4 * p.scale * q.scale)


# --- different classes: E_p[-log q(x)] less the entropy of p -------------------------------------


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * log(q.rate) - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous(p: Any, q: Any) -> Any:
    return -p.entropy() - p.mean * q.logits - log1p(-q.probs) - q._log_norm()


def _positive_exponential(p: Any, q: Any) -> Any:
    """q is exponential, p lies where it does."""
    return -p.entropy() - log(q.rate) + q.rate * p.mean


def _gamma_cross(q: Any, mean: Any, mean_log: Any) -> Any:
    """E[-log q] for a gamma distribution q."""
    norm = lgamma(q.concentration) - q.concentration * log(q.rate)
    return norm - (q.concentration - 1) * mean_log + q.rate * mean


def _normal_cross(p: Any, q: Any) -> Any:
    """E_p[-log q] for a normal distribution q."""
    second = p.variance + (p.mean - q.loc).pow(2)
    return 0.5 * math.log(2 * math.pi) + log(q.scale) + second / (2 * q.scale.pow(2))


def _to_normal(p: Any, q: Any) -> Any:
    return -p.entropy() + _normal_cross(p, q)


for _kind in (Beta, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_kind, Normal)(_to_normal)
for _other in (Beta, Gamma, Pareto):
    register_kl(_other, Exponential)(_positive_exponential)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Any:
    kl = -p.entropy() - log(q.rate) + q.rate * p.mean
    return where(p.alpha <= 1, math.inf, kl)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Any:
    return where(p.alpha <= 2, math.inf, _to_normal(p, q))


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Any:
    a = p.concentration1
    mean_log = digamma(a) - digamma(a + p.concentration0)
    return -p.entropy() + _gamma_cross(q, p.mean, mean_log)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Any:
    return -p.entropy() + _gamma_cross(q, p.mean, -log(p.rate) - euler_constant)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Any:
    kl = -p.entropy() + _gamma_cross(q, p.mean, log(p.scale) + p.alpha.reciprocal())
    return where(p.alpha <= 1, math.inf, kl)


@register_kl(Exponential, Gumbel)
@register_kl(Gamma, Gumbel)
def _positive_gumbel(p: Any, q: Any) -> Any:
    """E[exp(-x / s)] is a power of rate / (rate + 1 / s)."""
    shape = getattr(p, "concentration", 1)
    inverse = q.scale.reciprocal()
    moment = (p.rate / (p.rate + inverse)) ** shape * exp(q.loc * inverse)
    return -p.entropy() + log(q.scale) + (p.mean - q.loc) * inverse + moment


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Any:
    z = (p.loc - q.loc) / q.scale
    moment = exp(-z + 0.5 * (p.scale / q.scale).pow(2))
    return -p.entropy() + log(q.scale) + z + moment


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Any:
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    width = (p.high - p.low) / q.scale
    moment = (exp(-low) - exp(-high)) / width
    return -p.entropy() + log(q.scale) + 0.5 * (low + high) + moment


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    from ..ops.pointwise.functions import erf

    z = (p.loc - q.loc) / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * exp(-0.5 * z * z)
    distance = distance + (p.loc - q.loc) * erf(math.sqrt(0.5) * z)
    return -p.entropy() + log(2 * q.scale) + distance / q.scale


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    norm = lgamma(a) + lgamma(b) - lgamma(a + b)
    width = p.high - p.low
    log_x = (_xlogx(p.high) - _xlogx(p.low)) / width - 1
    log_rest = (_xlogx(1 - p.low) - _xlogx(1 - p.high)) / width - 1
    kl = -log(width) - (a - 1) * log_x - (b - 1) * log_rest + norm
    outside = (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)
    return where(outside, math.inf, kl)


def _xlogx(x: Any) -> Any:
    return where(x == 0, 0.0, x * log(x))


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous(p: Any, q: Any) -> Any:
    kl = -p.entropy() - p.mean * q.logits - log1p(-q.probs) - q._log_norm()
    outside = (p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound)
    return where(outside, math.inf, kl)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Any:
    return where(p.low < 0, math.inf, _positive_exponential(p, q))


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Any:
    log_x = (_xlogx(p.high) - _xlogx(p.low)) / (p.high - p.low) - 1
    return where(p.low < 0, math.inf, -p.entropy() + _gamma_cross(q, p.mean, log_x))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Any:
    log_x = (_xlogx(p.high) - _xlogx(p.low)) / (p.high - p.low) - 1
    kl = -p.entropy() - log(q.alpha) - q.alpha * log(q.scale) + (q.alpha + 1) * log_x
    return where(p.low < q.support.lower_bound, math.inf, kl)


@register_kl(Exponential, Pareto)
@register_kl(Gamma, Pareto)
@register_kl(Exponential, Beta)
@register_kl(Exponential, ContinuousBernoulli)
@register_kl(Exponential, Uniform)
@register_kl(Gamma, Beta)
@register_kl(Gamma, ContinuousBernoulli)
@register_kl(Gamma, Uniform)
@register_kl(Pareto, Beta)
@register_kl(Pareto, ContinuousBernoulli)
@register_kl(Pareto, Uniform)
@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _outside(p: Any, q: Any) -> Any:
    """p has values where q has none."""
    return _infinite(getattr(p, "rate", p.mean))


@register_kl(Gumbel, Beta)
@register_kl(Gumbel, ContinuousBernoulli)
@register_kl(Gumbel, Exponential)
@register_kl(Gumbel, Gamma)
@register_kl(Gumbel, Pareto)
@register_kl(Gumbel, Uniform)
@register_kl(Laplace, Beta)
@register_kl(Laplace, ContinuousBernoulli)
@register_kl(Laplace, Exponential)
@register_kl(Laplace, Gamma)
@register_kl(Laplace, Pareto)
@register_kl(Laplace, Uniform)
@register_kl(Normal, Beta)
@register_kl(Normal, ContinuousBernoulli)
@register_kl(Normal, Exponential)
@register_kl(Normal, Gamma)
@register_kl(Normal, Pareto)
@register_kl(Normal, Uniform)
@register_kl(Beta, Pareto)
@register_kl(ContinuousBernoulli, Pareto)
def _unbounded(p: Any, q: Any) -> Any:
    """p has values where q has none."""
    return _infinite(p.mean)


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_uniform(p: Any, q: Any) -> Any:
    kl = -p.entropy() + log(q.high - q.low)
    outside = (q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)
    return where(outside, math.inf, kl)


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _continuous_normal(p: Any, q: Any) -> Any:
    return _to_normal(p, q)
