"""``torch.nn.modules.module``: Module, and hooks of every module, at torch's path."""

from ..module import Module
from ..module import indented as _addindent
from ..module_hooks import (
    EVERY_MODULE,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ..module_state import IncompatibleKeys as _IncompatibleKeys

#: Behind the name of a module, the key of ``get_extra_state`` in a state_dict.
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

# The tables of hooks, which libraries that call modules in their own way look through.
_global_forward_pre_hooks = EVERY_MODULE.forward_pre
_global_forward_hooks = EVERY_MODULE.forward
_global_forward_hooks_with_kwargs = EVERY_MODULE.forward_with_kwargs
_global_forward_hooks_always_called = EVERY_MODULE.forward_always_called
_global_backward_pre_hooks = EVERY_MODULE.backward_pre
_global_backward_hooks = EVERY_MODULE.backward
_global_parameter_registration_hooks = EVERY_MODULE.parameters
_global_buffer_registration_hooks = EVERY_MODULE.buffers
_global_module_registration_hooks = EVERY_MODULE.modules

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip
