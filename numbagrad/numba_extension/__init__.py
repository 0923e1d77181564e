"""Tensors as arguments of functions that users compile with Numba's ``@njit``.

Numba loads this room through its extension entry point (``numbagrad_numba.py``) when it meets the
first tensor. Nothing else of the package does, so that without such functions Numba stays out.

Inside a function a tensor is an array that shares its memory; it comes back as itself, any other
array as an ndarray. A tensor that requires grad raises while the mode is one that records. The
version of a tensor that the function may write counts up, whether or not a call writes it.
"""

from .tensor_type import TensorType
from .writes import CountWrites

__all__ = ["CountWrites", "TensorType", "register"]


def register() -> None:
    """Make tensors known to Numba: what importing this room has done.

    For source trees, whose entry points Numba does not see.
    """
