# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.utils.bundled_inputs``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float


class InflatableArg:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class MAX_RAW_TENSOR_SIZE:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class augment_many_model_functions_with_bundled_inputs:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class augment_model_with_bundled_inputs:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class bundle_inputs:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class bundle_large_tensor:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class bundle_randn:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class wrap_cpp_module:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
