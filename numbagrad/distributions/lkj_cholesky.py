"""``LKJCholesky``: Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..dtype import finfo
from ..linalg import vector_norm
from ..ops.creation.filled import ones, zeros
from ..ops.creation.random import normal
from ..ops.creation.sequences import arange
from ..ops.pointwise.functions import lgamma
from ..ops.pointwise.special_functions import mvlgamma
from ..ops.views.join import cat
from ..size import Size
from . import constraints
from .beta import Beta
from .distribution import Distribution, validated
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Correlation matrices with density det(R)**(concentration - 1), as factors.

    Rows are drawn one by one, by the onion method of Lewandowski, Kurowicka and Joe (2009).
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _expands = ("concentration", "_beta")
    _shares = ("dim",)

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        self._beta = self._lengths()
        super().__init__(self.concentration.size(), (dim, dim), validate_args=validate_args)

    def _lengths(self) -> Any:
        """The distribution of the squared lengths of rows without the diagonal."""
        marginal = self.concentration + 0.5 * (self.dim - 2)
        steps = arange(
            self.dim - 1, dtype=self.concentration.dtype, device=self.concentration.device
        )
        steps = cat([steps.new_zeros((1,)), steps])
        return Beta(steps + 0.5, marginal.unsqueeze(-1) - 0.5 * steps)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            return self._drawn(sample_shape)

    def _drawn(self, sample_shape: Any) -> Any:
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        given: Any = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        u = normal(zeros(shape, **given), ones(shape, **given)).tril(-1)
        directions = u / vector_norm(u, dim=-1, keepdim=True)
        directions[..., 0, :] = 0.0
        w = y.sqrt() * directions
        rest = (1 - (w**2).sum(-1)).clamp(min=finfo(w.dtype).tiny).sqrt()
        return w + rest.diag_embed()

    @validated
    def log_prob(self, value: Any) -> Any:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(
            2, self.dim + 1, dtype=self.concentration.dtype, device=self.concentration.device
        )
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = (order * diagonal.log()).sum(-1)
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        denominator = lgamma(alpha) * rest
        numerator = mvlgamma(alpha - 0.5, rest)
        norm = 0.5 * rest * math.log(math.pi) + numerator - denominator
        return density - norm
