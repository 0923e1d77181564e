# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.distributed.algorithms``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.distributed.algorithms import ddp_comm_hooks as ddp_comm_hooks

class Join:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class JoinHook:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Joinable:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class model_averaging:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
