# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.ao.nn``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float


class intrinsic:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class qat:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class quantizable:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class quantized:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class sparse:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
