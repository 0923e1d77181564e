"""Distance layers: the functions of ``functional/distance.py`` with their options kept."""

from __future__ import annotations

from ..tensor import Tensor
from . import functional as F
from .function_layer import layer
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


@layer(F.cosine_similarity)
class CosineSimilarity(Module):
    """Cosine of the angle between vectors along a dimension."""

    dim: int = 1
    eps: float = 1e-8


class PairwiseDistance(Module):
    """Norm of the differences of vectors along the last dimension."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Apply the function."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
