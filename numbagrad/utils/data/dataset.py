"""``torch.utils.data.dataset``: datasets, at torch's path."""

from ...data import dataset as _dataset
from ...data.dataset import *

__all__ = [*_dataset.__all__]
