"""The Python array API standard (2024.12): ``x.__array_namespace__()``.

Arrays are Tensors, and the functions are torch's under the standard's names and arguments, so
gradients, compiled programs and transformations know them. They differ from the public namespace
where the standard does: arrays without dimensions count in promotion, shapes come as tuples, and
wrong axes raise IndexError. Operators and methods of Tensors are torch's. docs/array-api.md says
what differs from the standard.
"""

from __future__ import annotations

from .. import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from . import creation, elementwise, fft, linalg, manipulation, statistics
from .creation import *
from .elementwise import *
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import *
from .statistics import *

__array_api_version__ = "2024.12"

__all__ = [
    "__array_api_version__", "bool", "complex128", "complex64", "fft", "float32", "float64",
    "int16", "int32", "int64", "int8", "linalg", "matmul", "matrix_transpose", "tensordot", "uint8",
    "vecdot",
]  # fmt: skip
__all__ += creation.__all__
__all__ += elementwise.__all__
__all__ += manipulation.__all__
__all__ += statistics.__all__
