"""The Tensor, and what wraps an ndarray as one."""

from .copies import leaf_of_class
from .copies import unpickled as _unpickled  # noqa: F401 - pickles name it
from .state import TensorState
from .tensor import Tensor, new_tensor

__all__ = ["Tensor", "TensorState", "leaf_of_class", "new_tensor"]

Tensor.__module__ = __name__  # where programs, pickles and messages find it
