# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.nn.qat``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float


class Conv1d:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Conv2d:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Conv3d:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Embedding:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class EmbeddingBag:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Linear:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
