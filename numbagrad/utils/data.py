"""``torch.utils.data``: the names of ``numbagrad/data``."""

from ..data import *
from ..data import __all__ as __all__
