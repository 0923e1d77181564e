# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.autograd.forward_ad``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..transforms import levels
from ..transforms.layouts import check_differentiable, laid_out_as, of_dtype
from ..transforms.levels import DUAL, Dual, Level, dual, settled, state_of
from ..transforms.tracking import has_history
from .grad_mode import GradModeContext
from typing import NamedTuple

class UnpackedDualTensor(NamedTuple):
    primal: Tensor
    tangent: Tensor | None
def _open_levels() -> list[Level]:
    ...
def enter_dual_level() -> int:
    ...
def exit_dual_level(*, level: int | None=...) -> None:
    ...
class dual_level(GradModeContext):

    def __enter__(self) -> int:
        ...

    def __exit__(self, *exception: object) -> None:
        ...
_is_fwd_grad_enabled = levels.tangents_are_enabled
class _set_fwd_grad_enabled(GradModeContext):

    def __init__(self, mode: bool) -> None:
        ...

    def clone(self) -> _set_fwd_grad_enabled:
        ...

    def __enter__(self) -> None:
        ...

    def __exit__(self, *exception: object) -> None:
        ...
def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None=...) -> Tensor:
    ...
def dual_view(level: Level, tensor: Tensor, tangent: Tensor) -> Tensor:
    ...
def _is_dual_at(level: Level, tensor: Tensor) -> bool:
    ...
def unpack_dual(tensor: Tensor, *, level: int | None=...) -> UnpackedDualTensor:
    ...
def parts(level: Level, tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    ...
