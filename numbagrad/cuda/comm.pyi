# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.cuda.comm``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float


class broadcast:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class broadcast_coalesced:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class gather:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class reduce_add:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class reduce_add_coalesced:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class scatter:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
