"""``torch.nn.modules.dropout``: dropout, at torch's path."""

from .. import dropout as _dropout
from ..dropout import *
from ..dropout import _Dropout as _DropoutNd

__all__ = [*_dropout.__all__]
