"""``Wishart``: covariances of a number of normal vectors."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..linalg import slogdet
from ..ops.creation.filled import full, ones, zeros
from ..ops.creation.random import normal
from ..ops.creation.sequences import arange
from ..ops.linear_algebra.older_functions import cholesky_solve
from ..ops.pointwise.functions import digamma
from ..ops.pointwise.selection import where
from ..ops.pointwise.special_functions import mvlgamma
from ..ops.views.expand import broadcast_shapes
from ..size import Size
from . import constraints
from .chi2 import Chi2
from .distribution import ExponentialFamily, validated
from .multivariate_normal import ByCovariance
from .utils import vec_to_tril_matrix

__all__ = ["Wishart"]


def multivariate_digamma(x: Any, p: int) -> Any:
    """The derivative of log Gamma_p."""
    steps = arange(p, dtype=x.dtype, device=x.device).div(2).expand((*x.shape, p))
    return digamma(x.unsqueeze(-1) - steps).sum(-1)


class Wishart(ByCovariance, ExponentialFamily):
    """Sums of x x^T over ``df`` normal vectors, by covariance, its inverse, or its factor."""

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("df", "covariance_matrix", "precision_matrix", "scale_tril", "_dist_chi2")
    _shares = ("_unbroadcasted_scale_tril", "arg_constraints")

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, given = self._take_one(
            AssertionError, covariance_matrix, precision_matrix, scale_tril
        )
        event_shape = given.shape[-2:]
        if isinstance(df, (int, float)):
            shape = Size(given.shape[:-2])
            self.df = full(shape, float(df), dtype=given.dtype, device=given.device)
        else:
            shape = broadcast_shapes(given.shape[:-2], df.shape)
            self.df = df.expand(shape)
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}."
            )
        setattr(self, name, given.expand((*shape, *event_shape)))
        self.arg_constraints = {
            **Wishart.arg_constraints, "df": constraints.greater_than(event_shape[-1] - 1)
        }  # fmt: skip
        super().__init__(shape, event_shape, validate_args=validate_args)
        self._take_factor(name, given)
        self._dist_chi2 = self._squares()

    def _squares(self) -> Any:
        """The squares of the diagonal of Bartlett's decomposition."""
        n = self._event_shape[-1]
        steps = arange(
            n,
            dtype=self._unbroadcasted_scale_tril.dtype,
            device=self._unbroadcasted_scale_tril.device,
        )
        return Chi2(df=self.df.unsqueeze(-1) - steps.expand((*self._batch_shape, n)))

    @property
    def _natural_params(self) -> Any:
        p = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - p - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (p * math.log(2) - slogdet(-2 * x).logabsdet) + mvlgamma(half, p=p)

    @property
    def mean(self) -> Any:
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = where(factor <= 0, math.nan, factor)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        d = v.diagonal(dim1=-2, dim2=-1)
        squares = v.pow(2) + d.unsqueeze(-1) * d.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * squares

    def rsample(self, sample_shape: Any = Size(), max_try_correction: Any = None) -> Any:  # noqa: B008
        n = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        count = n * (n - 1) // 2
        shape = (*sample_shape, *self._batch_shape, count)
        with no_grad():
            below = normal(
                zeros(shape, dtype=noise.dtype, device=noise.device),
                ones(shape, dtype=noise.dtype, device=noise.device),
            )
        if count:
            noise = noise + vec_to_tril_matrix(below, diag=-1)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    @validated
    def log_prob(self, value: Any) -> Any:
        nu = self.df
        p = self._event_shape[-1]
        solved = cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(-1)
        norm = -nu * (p * math.log(2) / 2 + self._half_log_det()) - mvlgamma(nu / 2, p=p)
        return norm + (nu - p - 1) / 2 * slogdet(value).logabsdet - trace / 2

    def entropy(self) -> Any:
        nu = self.df
        p = self._event_shape[-1]
        log_det = 2 * self._half_log_det()
        half = nu / 2
        value = (p + 1) * (log_det / 2 + p * math.log(2) / 2) + mvlgamma(half, p=p) + nu * p / 2
        return value - (nu - p - 1) / 2 * multivariate_digamma(half, p)
