"""Transformations of functions, with torch.func's names: derivatives, batches, module calls.

They nest in any order. ``vmap`` is built on batches of Tensors, ``jvp`` on dual ones
(``numbagrad/transforms``), the reverse derivatives on the engine.
"""

from .derivatives import grad, grad_and_value, jvp, linearize, vjp
from .jacobians import hessian, jacfwd, jacrev
from .modules import functional_call, stack_module_state
from .vmap import vmap

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip
