# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.nn.attention.flex_attention``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float


class AuxOutput:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class AuxRequest:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class BlockMask:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class FlexKernelOptions:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class and_masks:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class create_block_mask:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class create_mask:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class flex_attention:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class noop_mask:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class or_masks:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
