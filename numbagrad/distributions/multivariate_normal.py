"""``MultivariateNormal``: normal vectors."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..linalg import cholesky, solve_triangular
from ..ops.creation.filled import eye, ones, zeros
from ..ops.creation.random import normal
from ..ops.linear_algebra.older_functions import cholesky_inverse
from ..ops.views.expand import broadcast_shapes
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .utils import lazy_property, same_as

__all__ = ["MultivariateNormal", "batch_mahalanobis", "precision_to_scale_tril"]


def batch_mahalanobis(factor: Any, x: Any) -> Any:
    """x^T (L L^T)^-1 x for lower triangular L, over batches of both."""
    solved = solve_triangular(factor, x.unsqueeze(-1), upper=False)
    return solved.square().sum((-2, -1))


def precision_to_scale_tril(precision: Any) -> Any:
    """The Cholesky factor of the inverse of a matrix."""
    flipped = cholesky(precision.flip((-2, -1)))
    inverse = flipped.flip((-2, -1)).mT
    n = precision.shape[-1]
    return solve_triangular(
        inverse, eye(n, dtype=precision.dtype, device=precision.device), upper=False
    )


def _batch_mv(matrix: Any, vector: Any) -> Any:
    """The product of matrices and vectors, over batches of both."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


#: torch's names of these, which libraries import.
_batch_mahalanobis = batch_mahalanobis
_precision_to_scale_tril = precision_to_scale_tril


class ByCovariance(Distribution):
    """A distribution with one of three matrices; the others follow from it when they are read."""

    def _take_one(
        self, error: type[Exception], covariance_matrix: Any, precision_matrix: Any, scale_tril: Any
    ) -> tuple[str, Any]:
        """The matrix that is given, and its name.

        Raises:
            error: unless it is one of the three.
            ValueError: for what is no matrix.
        """
        given = {
            "scale_tril": scale_tril,
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }
        named = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(named) != 1:
            raise error(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        name, matrix = named[0]
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        return name, matrix

    def _take_factor(self, name: str, matrix: Any) -> None:
        """Set the Cholesky factor of the covariance that is given, or that of its inverse."""
        if name != "scale_tril":
            matrix = (cholesky if name == "covariance_matrix" else precision_to_scale_tril)(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _matrix(self, value: Any) -> Any:
        return value.expand((*self._batch_shape, *self._event_shape[-1:], *self._event_shape[-1:]))

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance, of the vectors."""
        factor = self._unbroadcasted_scale_tril
        return self._matrix(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._matrix(cholesky_inverse(self._unbroadcasted_scale_tril))

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(ByCovariance):
    """The normal distribution of vectors, by covariance, its inverse, or its Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _expands = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _shares = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, given = self._take_one(ValueError, covariance_matrix, precision_matrix, scale_tril)
        shape = broadcast_shapes(given.shape[:-2], loc.shape[:-1])
        matrix = given.expand((*shape, *given.shape[-2:]))
        setattr(self, name, matrix)
        self.loc = loc.expand((*shape, loc.shape[-1]))
        super().__init__(shape, self.loc.shape[-1:], validate_args=validate_args)
        self._take_factor(name, given)

    mean: Any = same_as("loc")
    mode: Any = same_as("loc")

    @property
    def variance(self) -> Any:
        return (
            self._unbroadcasted_scale_tril.pow(2)
            .sum(-1)
            .expand(self._batch_shape + self._event_shape)
        )

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            drawn = normal(
                zeros(shape, dtype=self.loc.dtype, device=self.loc.device),
                ones(shape, dtype=self.loc.dtype, device=self.loc.device),
            )
        moved = (self._unbroadcasted_scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)
        return self.loc + moved

    @validated
    def log_prob(self, value: Any) -> Any:
        m = batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + m) - self._half_log_det()

    def entropy(self) -> Any:
        n = self._event_shape[0]
        entropy = 0.5 * n * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)
