# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.nn.parameter``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..lazy import lazy_names
from ..tensor import leaf_of_class, new_tensor
from ..torch_function import disabled_torch_function
from numbagrad.nn.uninitialized import UninitializedBuffer as UninitializedBuffer
from numbagrad.nn.uninitialized import UninitializedParameter as UninitializedParameter
from numbagrad.nn.uninitialized import UninitializedTensorMixin as UninitializedTensorMixin
from numbagrad.nn.uninitialized import is_lazy as is_lazy
import numpy as np

UNINITIALIZED = ('UninitializedBuffer', 'UninitializedParameter', 'UninitializedTensorMixin', 'is_lazy')
class Parameter(Tensor):
    __torch_function__ = disabled_torch_function

    def __new__(cls, data: Tensor | None=..., requires_grad: bool=...) -> Parameter:
        ...

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        ...

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        ...

    def __repr__(self) -> str:
        ...
    __hash__ = Tensor.__hash__
_ParameterMeta = type(Parameter)
class Buffer(Tensor):
    __torch_function__ = disabled_torch_function
    persistent: bool

    def __new__(cls, data: Tensor | None=..., *, persistent: bool=...) -> Buffer:
        ...
    __hash__ = Tensor.__hash__
