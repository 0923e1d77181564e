"""Methods of Tensor that are functions of the public namespace too, as ``clamp_(x, min=0)``.

Methods take sizes and dimensions one by one; the functions of the same names take them in a tuple.
``numbagrad/__init__.py`` imports this file after those that define the methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ...type_names import type_name
from ..arguments.check import checked
from ..arguments.kinds import NOT_GIVEN, Ints, takes
from ..arguments.requirements import require_tensor
from ..reductions.reduction import count_nonzero
from ..views import view
from ..views.expand import broadcast_to
from ..views.splitting import dsplit, hsplit, vsplit
from .registry import method

__all__ = [
    "addmv_", "as_strided_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "conj_physical_",
    "detach_", "fill_", "get_device", "logit_", "nan_to_num_", "permute", "reshape", "resize_as_",
    "round_", "square_", "squeeze", "xlogy_", "zero_",
]  # fmt: skip


def detach_(input: Tensor) -> Tensor:
    """Take the history off a tensor, in place."""
    require_tensor("detach_", input)
    return input.detach_()


def get_device(input: Tensor) -> int:
    """-1, the number of the CPU."""
    require_tensor("get_device", input)
    return input.get_device()


# --- in a tuple, not one by one -------------------------------------------------------------------


def _require_ints(function: str, name: str, value: Any) -> None:
    """Raise a TypeError unless the value is a list or tuple: functions take no int alone."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(
            f"{function}(): argument '{name}' (position 2) must be tuple of ints, not "
            f"{type_name(value)}"
        )


def reshape(input: Tensor, shape: Ints) -> Tensor:
    """The elements in another shape (one size may be -1): a view if strides allow, else a copy."""
    if shape.__class__ is not tuple:
        _require_ints("reshape", "shape", shape)
    return view.reshape(input, shape)


def permute(input: Tensor, dims: Ints) -> Tensor:
    """Dimensions in another order."""
    if dims.__class__ is not tuple:
        _require_ints("permute", "dims", dims)
    return view.permute(input, dims)


@takes("input: Tensor", "input: Tensor, dim: Sizes")
def squeeze(input: Tensor, dim: Any = NOT_GIVEN) -> Tensor:
    """The dimensions of size 1 left out: all of them, or those in ``dim``."""
    return view.squeeze(input, dim)


def _one_by_one(function: Callable[..., Any], parameter: str) -> None:
    """Install the method of a function, which takes ints for its parameter one by one as well."""
    name = function.__name__
    called = checked(function, ahead=True, is_method=True)
    takes_tuples_only = function.__annotations__[parameter] == "Ints"

    def by_method(self: Tensor, *given: Any, **keywords: Any) -> Any:
        if len(given) > 1 or (given and takes_tuples_only and isinstance(given[0], int)):
            given = (given,)
        return called(self, *given, **keywords)

    by_method.__name__ = name
    by_method.__doc__ = f"{function.__doc__}\n\n``{parameter}`` may be given one by one."
    method(name)(by_method)


_one_by_one(broadcast_to, "size")
for _function in (hsplit, vsplit, dsplit):
    _one_by_one(_function, "indices_or_sections")
_one_by_one(count_nonzero, "dim")

# --- the same -------------------------------------------------------------------------------------

addmv_ = Tensor.addmv_
as_strided_ = Tensor.as_strided_
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
conj_physical_ = Tensor.conj_physical_
fill_ = Tensor.fill_
logit_ = Tensor.logit_
nan_to_num_ = Tensor.nan_to_num_
resize_as_ = Tensor.resize_as_
round_ = Tensor.round_
square_ = Tensor.square_
xlogy_ = Tensor.xlogy_
zero_ = Tensor.zero_
