"""``torch.nn.modules.linear``: linear layers, at torch's path."""

from ..attention import NonDynamicallyQuantizableLinear
from ..lazy import LazyLinear
from ..linear import Bilinear, Identity, Linear

__all__ = [
    "Bilinear", "Identity", "LazyLinear", "Linear", "NonDynamicallyQuantizableLinear",
]  # fmt: skip
