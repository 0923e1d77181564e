"""``torch.cpu.amp.GradScaler``: the scaler of ``torch.amp`` for this kind of device."""

from __future__ import annotations

from ...amp.grad_scaler import ScalerOfDevice

__all__ = ["GradScaler"]


class GradScaler(ScalerOfDevice):
    """``torch.amp.GradScaler("cpu", ...)``."""

    _device = "cpu"
