"""``torch.nn.modules.pooling``: pooling, at torch's path."""

from .. import pooling as _pooling
from .. import unpooling as _unpooling
from ..pooling import *
from ..pooling import _AdaptiveAvgPool as _AdaptiveAvgPoolNd
from ..pooling import _AdaptiveMaxPool as _AdaptiveMaxPoolNd
from ..pooling import _AvgPool as _AvgPoolNd
from ..pooling import _LPPool as _LPPoolNd
from ..pooling import _MaxPool as _MaxPoolNd
from ..unpooling import *
from ..unpooling import _MaxUnpool as _MaxUnpoolNd

__all__ = [*_pooling.__all__, *_unpooling.__all__]
