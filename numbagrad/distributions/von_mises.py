"""``VonMises``: angles."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..dtype import bool_
from ..ops.creation.filled import empty, zeros
from ..ops.creation.random import rand
from ..ops.pointwise.functions import acos, cos, exp, log
from ..ops.pointwise.selection import where
from ..size import Size
from ..special import i0e, i1e
from . import constraints
from .distribution import Distribution, validated
from .utils import broadcast_all, lazy_property, same_as

__all__ = ["VonMises"]


def _log_bessel(order: int, kappa: Any) -> Any:
    """log(I0(kappa)) or log(I1(kappa))."""
    return log((i0e if order == 0 else i1e)(kappa)) + kappa


class VonMises(Distribution):
    """The density of an angle proportional to exp(concentration cos(x - loc))."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _expands = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @validated
    def log_prob(self, value: Any) -> Any:
        density = self.concentration * cos(value - self.loc)
        return density - math.log(2 * math.pi) - _log_bessel(0, self.concentration)

    @lazy_property
    def _proposal_r(self) -> Any:
        # The wrapped Cauchy distribution that envelops it (Best and Fisher, 1979).
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        r = (1 + rho**2) / (2 * rho)
        return where(kappa < 1e-5, 1 / kappa + kappa, r)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return self._rejected(shape)

    def _rejected(self, shape: Any) -> Any:
        kappa = self.concentration.double()
        r = self._proposal_r
        x = empty(shape, dtype=self.loc.dtype, device=kappa.device).to(kappa)
        done = zeros(shape, dtype=bool_, device=kappa.device)
        while not done.all():
            u1, u2, u3 = rand((3, *shape), dtype=kappa.dtype, device=kappa.device).unbind()
            z = cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = ((c * (2 - c) - u2) > 0) | (log(c / u2) + 1 - c >= 0)
            if accept.any():
                x = where(accept, (u3 - 0.5).sign() * acos(f), x)
                done = done | accept
        loc = self.loc.double()
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    mean: Any = same_as("loc")
    mode: Any = same_as("loc")

    @lazy_property
    def variance(self) -> Any:
        """One less the mean length, as circles have it."""
        kappa = self.concentration
        return 1 - exp(_log_bessel(1, kappa) - _log_bessel(0, kappa))
