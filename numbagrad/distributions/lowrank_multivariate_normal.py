"""``LowRankMultivariateNormal``: normal vectors with few common causes."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..linalg import cholesky, solve_triangular
from ..ops.creation.filled import eye, ones, zeros
from ..ops.creation.random import normal
from ..ops.views.expand import broadcast_shapes
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .multivariate_normal import batch_mahalanobis
from .utils import lazy_property, same_as

__all__ = ["LowRankMultivariateNormal"]


def _shape_of_batches(loc: Any, cov_factor: Any, cov_diag: Any) -> Any:
    try:
        return broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
    except RuntimeError as error:
        raise ValueError(
            f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
            f"cov_diag {cov_diag.shape}"
        ) from error


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    What is inverted is I + W^T D^-1 W, of the number of columns of W (Woodbury's identity).
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _expands = ("loc", "cov_factor", "cov_diag")
    _shares = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if tuple(cov_factor.shape[-2:-1]) != (n,):
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if tuple(cov_diag.shape[-1:]) != (n,):
            raise ValueError(f"cov_diag must be a batch of vectors with shape ({n},)")
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        shape = _shape_of_batches(loc, cov_factor, cov_diag)
        self.loc = loc.expand((*shape, n))
        self.cov_factor = cov_factor.expand((*shape, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*shape, n))
        scaled = cov_factor / cov_diag.unsqueeze(-1)
        capacitance = cov_factor.mT @ scaled + eye(
            cov_factor.shape[-1], dtype=loc.dtype, device=loc.device
        )
        self._capacitance_tril = cholesky(capacitance)
        super().__init__(shape, (n,), validate_args=validate_args)

    def _matrix(self, value: Any) -> Any:
        return value.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def variance(self) -> Any:
        """The variances of the elements."""
        value = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return value.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._matrix(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        a = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._matrix(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - a.mT @ a)

    mean: Any = same_as("loc")
    mode: Any = same_as("loc")

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        few = (*shape[:-1], self.cov_factor.shape[-1])
        like: Any = {"dtype": self.loc.dtype, "device": self.loc.device}
        with no_grad():
            w, d = [normal(zeros(x, **like), ones(x, **like)) for x in (few, shape)]
        common = (self._unbroadcasted_cov_factor @ w.unsqueeze(-1)).squeeze(-1)
        return self.loc + common + self._unbroadcasted_cov_diag.sqrt() * d

    def _log_det(self) -> Any:
        half = self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 2 * half + self._unbroadcasted_cov_diag.log().sum(-1)

    @validated
    def log_prob(self, value: Any) -> Any:
        x = value - self.loc
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        common = (scaled @ x.unsqueeze(-1)).squeeze(-1)
        m = (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        m = m - batch_mahalanobis(self._capacitance_tril, common)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + self._log_det() + m)

    def entropy(self) -> Any:
        n = self._event_shape[0]
        entropy = 0.5 * (n * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape)
