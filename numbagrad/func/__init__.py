"""Transformations of functions, with torch.func's names: derivatives, batches, module calls.

They nest in any order. ``vmap`` is built on batches of Tensors, ``jvp`` on dual ones
(``numbagrad/transforms``), the reverse derivatives on the engine.
"""

from ..absent import absent
from .derivatives import grad, grad_and_value, jvp, linearize, vjp
from .inspection import debug_unwrap, functionalize
from .jacobians import hessian, jacfwd, jacrev
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .vmap import vmap

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian",
    "jacfwd", "jacrev", "jvp", "linearize", "replace_all_batch_norm_modules_",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip

rearrange = absent("torch.func.rearrange", "einops.rearrange takes the same patterns")
