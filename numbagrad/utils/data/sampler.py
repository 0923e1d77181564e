"""``torch.utils.data.sampler``: orders of samples, at torch's path."""

from ...data import sampler as _sampler
from ...data.sampler import *

__all__ = [*_sampler.__all__]
