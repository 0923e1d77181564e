# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.nn.modules.module``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.nn.module import Module as Module
from numbagrad.nn.module_hooks import register_module_forward_hook as register_module_forward_hook
from numbagrad.nn.module_hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from numbagrad.nn.module_hooks import register_module_full_backward_hook as register_module_full_backward_hook
from numbagrad.nn.module_hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook

class register_module_backward_hook:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class register_module_buffer_registration_hook:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class register_module_module_registration_hook:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class register_module_parameter_registration_hook:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
