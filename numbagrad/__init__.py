"""numbagrad: torch's autograd interface on kernels compiled by Numba.

``import numbagrad as torch`` runs autograd code written for torch. This file is the public
namespace; every name comes from the room that defines it.
"""

from ._version import __version__
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from .tensor import Tensor
