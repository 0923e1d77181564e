# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.utils.backend_registration``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float


class generate_methods_for_privateuse1_backend:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class rename_privateuse1_backend:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
