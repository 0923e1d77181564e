"""``torch.nn.modules.module``: Module, and hooks of every module, at torch's path."""

from ...absent import lacking
from ..module import Module
from ..module_hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from ..module_state import IncompatibleKeys as _IncompatibleKeys

#: Behind the name of a module, the key of ``get_extra_state`` in a state_dict.
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "there are hooks of every module for forward and for full backward",
    """register_module_backward_hook register_module_buffer_registration_hook
    register_module_module_registration_hook register_module_parameter_registration_hook""",
)

__all__ = [
    "Module", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
]  # fmt: skip
