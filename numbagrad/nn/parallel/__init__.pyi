# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.nn.parallel``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.distributed.data_parallel import DistributedDataParallel as DistributedDataParallel
from numbagrad.nn.data_parallel import DataParallel as DataParallel
from numbagrad.nn.parallel.data_parallel import data_parallel as data_parallel

class gather:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class parallel_apply:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class replicate:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class scatter:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
