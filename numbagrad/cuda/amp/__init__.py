"""``torch.cuda.amp``: autocast on a GPU, as programs wrote it before ``torch.amp``."""

from . import common
from .autocast_mode import autocast, custom_bwd, custom_fwd
from .common import amp_definitely_not_available
from .grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "amp_definitely_not_available",
    "common",
    "custom_bwd",
    "custom_fwd",
]
