"""The scalar language: formulas are traced, differentiated, simplified and printed here.

Operator definitions in `ops/` are written with the functions exported here; the executor turns the
traced `Formula` into kernels. This room imports NumPy only, never Numba.
"""

from . import expression
from .differentiate import differentiate
from .expression import *
from .printing import print_numba
from .simplify import simplify, simplify_all
from .trace import Formula, trace
from .types import Typing

__all__ = ["Formula", "Typing", "differentiate", "print_numba", "simplify", "simplify_all", "trace"]
__all__ += expression.__all__
