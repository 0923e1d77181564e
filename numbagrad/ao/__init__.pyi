# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.ao``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.ao import nn as nn
from numbagrad.ao import quantization as quantization

class ns:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class pruning:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
