"""``torch.utils.tensorboard``: curves for TensorBoard, written by tensorboardX if it is there.

Raises:
    ImportError: at the import of ``SummaryWriter``, without tensorboardX.
"""

from __future__ import annotations

from typing import Any

#: What tensorboardX is asked for.
_NAMES = ("FileWriter", "SummaryWriter")


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import tensorboardX
    except ImportError as error:
        raise ImportError(
            "torch.utils.tensorboard writes with tensorboardX, which is not installed: "
            "pip install tensorboardX"
        ) from error
    return getattr(tensorboardX, name)
