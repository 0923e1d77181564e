"""``torch.__config__``: what computes, in words."""

from __future__ import annotations

import llvmlite
import numba
import numpy

from ._version import __version__
from .executor.threads.pool import get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of the library and of what it is built on."""
    return (
        f"numbagrad {__version__} built with:\n  - Numba {numba.__version__}\n"
        f"  - llvmlite {llvmlite.__version__}\n  - NumPy {numpy.__version__}\n"
    )


def parallel_info() -> str:
    """How many threads kernels run on."""
    return f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
