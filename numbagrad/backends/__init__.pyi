# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.backends``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..lazy import lazy_names
from collections.abc import Iterator
from numbagrad.backends import cpu as cpu
from numbagrad.backends import cuda as cuda
from numbagrad.backends import cudnn as cudnn
from numbagrad.backends import mkl as mkl
from numbagrad.backends import mkldnn as mkldnn
from numbagrad.backends import mps as mps
from numbagrad.backends import nnpack as nnpack
from numbagrad.backends import openmp as openmp
from numbagrad.backends import opt_einsum as opt_einsum
from numbagrad.backends import quantized as quantized
import contextlib

class Switches:

    def __init__(self, **values: Any) -> None:
        ...

    def __setattr__(self, name: str, value: Any) -> None:
        ...
@contextlib.contextmanager
def flags_of(module: Any, values: dict[str, Any]) -> Iterator[None]:
    ...
def set_switches(module: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    ...
class ContextProp:

    def __init__(self, getter: Any, setter: Any) -> None:
        ...

    def __get__(self, obj: Any, objtype: Any) -> Any:
        ...

    def __set__(self, obj: Any, val: Any) -> None:
        ...
PropModule = type(contextlib)
_NAMES = ('cpu', 'cuda', 'cudnn', 'cusparselt', 'mha', 'mkl', 'mkldnn', 'mps', 'nnpack', 'openmp', 'opt_einsum', 'quantized')
