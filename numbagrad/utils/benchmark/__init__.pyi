# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.utils.benchmark``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.utils.benchmark.compare import Compare as Compare
from numbagrad.utils.benchmark.timer import Measurement as Measurement
from numbagrad.utils.benchmark.timer import Timer as Timer

class CallgrindStats:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class FunctionCount:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class FunctionCounts:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class FuzzedParameter:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class FuzzedSparseTensor:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class FuzzedTensor:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Fuzzer:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Language:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class ParameterAlias:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
