"""``torch.nn.modules.normalization``: norms over features, at torch's path."""

from ..normalization import GroupNorm, LayerNorm, LocalResponseNorm, RMSNorm
from ..older_layers import CrossMapLRN2d

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
