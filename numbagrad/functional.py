"""``torch.functional``: functions of the namespace, under the path that torch defines them in."""

from . import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    cdist,
    chain_matmul,
    einsum,
    istft,
    lu,
    meshgrid,
    norm,
    split,
    stft,
    tensordot,
    unique,
    unique_consecutive,
    unravel_index,
)
from .lazy import lazy_names
from .nn import functional as F  # noqa: F401, N812

__getattr__, __dir__ = lazy_names(
    __name__,  # linear algebra is imported by who uses it
    dict.fromkeys(("pca_lowrank", "svd_lowrank"), "numbagrad.ops.linear_algebra.low_rank"),
)

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes",
    "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu",
    "meshgrid", "norm", "split", "stft", "tensordot", "unique", "unique_consecutive",
    "unravel_index",
]  # fmt: skip
