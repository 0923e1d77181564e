# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.storage``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.untyped_storage import UntypedStorage as UntypedStorage

class TypedStorage:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
