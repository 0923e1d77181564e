"""The seam between what operators mean and what computes them: one backend for a class of arrays.

A ``Tensor`` holds an array. Ndarrays are the CPU's: launchers take them and nothing else, and their
callers ask here only when a launcher has said no. Everything that allocates, or reads and writes
elements in Python, asks ``backend_of(array)``, or ``backend_for(device)`` where there is no array
yet. ``interface.py`` says what a backend has; this room imports nothing but devices and dtypes.
"""

from . import registry
from .interface import Backend
from .registry import *

__all__ = ["Backend"]
__all__ += registry.__all__
