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
from .dtype import (
    bool_ as bool,
)
from .dtype import (
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from .ops.functions import *  # noqa: F403
from .ops.matmul import *  # noqa: F403
from .ops.view import *  # noqa: F403
from .ops.join import *  # noqa: F403
from .ops.strided import *  # noqa: F403
