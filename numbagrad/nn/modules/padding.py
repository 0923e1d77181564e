"""``torch.nn.modules.padding``: padding, at torch's path."""

from .. import padding as _padding
from ..padding import *
from ..padding import _CircularPad as _CircularPadNd
from ..padding import _ConstantPad as _ConstantPadNd

__all__ = [*_padding.__all__]
