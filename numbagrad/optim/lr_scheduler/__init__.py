"""Schedulers: learning rates (and momenta) that follow from the number of the step.

A scheduler is stepped after its optimizer and writes ``lr`` into the parameter groups.
"""

from . import decay
from .annealing import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .composite import ChainedScheduler, SequentialLR
from .cyclic import CyclicLR, OneCycleLR
from .decay import *
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, _LRScheduler

__all__ = [
    "ChainedScheduler", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
    "LRScheduler", "OneCycleLR", "ReduceLROnPlateau", "SequentialLR",
]  # fmt: skip
__all__ += decay.__all__
