# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.nested``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float


class as_nested_tensor:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class masked_select:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class narrow:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class nested_tensor:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class nested_tensor_from_jagged:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class to_padded_tensor:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
