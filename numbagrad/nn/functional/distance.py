"""Distances and angles between vectors.

Called by users, by the layers of ``nn/distance.py`` and by the losses in ``margin_loss.py``.
"""

from __future__ import annotations

from ...executor.plan.dtypes import promoted
from ...ops.arguments.kinds import Real
from ...ops.arguments.shapes import common_shape
from ...ops.products.distance import pdist
from ...tensor import Tensor

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: Real = 1e-8) -> Tensor:
    """Cosine of the angle between vectors along ``dim``."""
    if not eps >= 0:
        raise RuntimeError(f"cosine_similarity(): eps must be non-negative, got: {eps}")
    if "c" in (x1._array.dtype.kind, x2._array.dtype.kind) or not (
        x1.is_floating_point() or x2.is_floating_point()
    ):
        raise RuntimeError(
            "cosine_similarity: expected common dtype to be floating point, got "
            f"{x1.dtype} and {x2.dtype}"
        )
    if x1._array.dtype != x2._array.dtype:
        kind = promoted([x1._array, x2._array])
        x1, x2 = x1.to(kind), x2.to(kind)
    shape = common_shape([x1._array.shape, x2._array.shape])
    x1, x2 = x1.expand(shape), x2.expand(shape)
    first = x1.norm(2, dim, keepdim=True).clamp_min(eps)
    second = x2.norm(2, dim, keepdim=True).clamp_min(eps)
    return ((x1 / first) * (x2 / second)).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: Real = 2.0, eps: Real = 1e-6, keepdim: bool = False
) -> Tensor:
    """Norm of the differences of vectors along the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)
