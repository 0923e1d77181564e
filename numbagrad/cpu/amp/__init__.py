"""``torch.cpu.amp``: autocast on the CPU, as programs wrote it before ``torch.amp``."""

from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
