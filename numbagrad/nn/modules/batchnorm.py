"""``torch.nn.modules.batchnorm``: norms over batches, at torch's path."""

from ..lazy import (
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyBatchNorm3d,
)
from ..lazy import _LazyNorm as _LazyNormBase
from ..normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    _BatchNorm,
)
from ..normalization import _ChannelNorm as _NormBase
from ..sync_batchnorm import SyncBatchNorm

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d",
    "LazyBatchNorm3d", "SyncBatchNorm",
]  # fmt: skip
