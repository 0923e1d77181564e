"""Data for training: datasets, the order in which samples are drawn, and batches of them.

The names are those of ``torch.utils.data``, under which ``numbagrad/utils`` shows them too. Orders
follow torch's from the same seed.
"""

from . import dataset, pipes, sampler
from .collate import default_collate, default_convert
from .dataset import *
from .loader import DataLoader
from .pipes import *
from .sampler import *
from .worker import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
__all__ += dataset.__all__
__all__ += pipes.__all__
__all__ += sampler.__all__
