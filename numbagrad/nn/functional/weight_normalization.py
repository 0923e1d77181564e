"""Weights of a given norm: the functions that reparametrizations of modules share.

``nn/utils/parametrizations.py`` and the older hooks of ``nn/utils/weight_norm.py`` and
``nn/utils/spectral_norm.py`` call them.
"""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...ops.reductions.statistics import norm_except_dim
from ...tensor import Tensor
from .normalization import normalize

__all__ = ["as_matrix", "power_step", "spectral_weight", "weight_norm"]


def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """``v`` with slices of the norms ``g`` (Salimans and Kingma, "Weight Normalization")."""
    return v * (g / norm_except_dim(v, 2, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as a matrix, whose rows are the slices along one dimension."""
    return weight.movedim(dim, 0).flatten(1)


@no_grad()
def power_step(matrix: Tensor, vector: Tensor, eps: float, out: Tensor) -> None:
    """Half of a step of the power method: ``matrix @ vector``, of length one, into ``out``."""
    normalize(matrix.mv(vector), dim=0, eps=eps, out=out)


def spectral_weight(weight: Tensor, matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """A weight over ``u . matrix v``, the largest singular value where these are its vectors.

    The vectors are copied first, since the next step of the power method writes them.
    """
    return weight / u.clone().vdot(matrix.mv(v.clone()))
