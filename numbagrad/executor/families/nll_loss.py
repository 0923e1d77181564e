"""Negative log likelihood on ndarrays: the entries of classes, their factors and gradients.

Called by ``nn/functional/class_loss.py``; runs what ``kernels/losses/nll_loss.py`` holds. Input is
(batch, classes, ...), target an int64 array of (batch, ...); both are contiguous, and the targets
were checked. An element whose target is the ignored class counts for nothing; a mean over no other
elements is NaN.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...backend import foreign
from ...dtype import name_of
from ..hand_written import HandWrittenKernel
from ..memory.arrays import filled_like, new_array
from ..plan.spaces import around

Array = np.ndarray[Any, Any]

#: Where the kernels are.
_MODULE = "kernels.losses.nll_loss"

_GRAIN = 32768  # elements that are worth a thread of their own
_PICKS = 4096  # the same, where each is read from a place of its own


@functools.cache
def _kernel(name: str, kind: np.dtype[Any] | None = None) -> HandWrittenKernel:
    return HandWrittenKernel(_MODULE, name if kind is None else f"{name}_{name_of(kind)}")


def factors(
    target: Array, weights: Array | None, ignored: int, mean: bool, kind: np.dtype[Any]
) -> Array:
    """The factor of every element: the weight of its class or 1, over their sum for a mean."""
    made = new_array(target.shape, kind, foreign(target))
    given = 0 if weights is None else weights
    _kernel("factors", kind)(1, 1, made, target, target.size, ignored, int(mean), given)
    return made


def _sizes(shape: tuple[int, ...]) -> tuple[int, int]:
    """Classes, and elements of a batch entry."""
    return around(shape, 1)[1:]


def elements(input: Array, target: Array, factor: Array, ignored: int) -> Array:
    """Minus the entry of its class, of every element, times its factor."""
    made = new_array(target.shape, input.dtype, foreign(input))
    launch_args = made, input, target, factor, *_sizes(input.shape), ignored
    _kernel("elements", input.dtype)(target.size, _PICKS, *launch_args)
    return made


def total(input: Array, target: Array, factor: Array, ignored: int, mean: bool = False) -> Array:
    """The sum of :func:`elements`; ``mean`` says that the factors make it one."""
    if mean and not target.size:
        return filled_like(input, (), input.dtype, np.nan)
    made = new_array((), input.dtype, foreign(input))
    launch_args = made, input, target, factor, *_sizes(input.shape), ignored, target.size
    _kernel("total", input.dtype)(1, 1, *launch_args)
    return made


def placed(
    grad: Array, target: Array, factor: Array, ignored: int, shape: tuple[int, ...]
) -> Array:
    """The gradient of the input: ``grad`` is one number, or has one for every element."""
    made = new_array(shape, grad.dtype, foreign(grad))
    classes, inner = _sizes(shape)
    launch_args = made, grad, target, factor, classes, inner, ignored, int(grad.ndim > 0)
    grain = max(_GRAIN // max(classes * inner, 1), 1)
    _kernel("placed", grad.dtype)(shape[0], grain, *launch_args)
    return made


# --- in programs ----------------------------------------------------------------------------------

#: How an operation of a program uses rows of scores: it reads one of each, or places one.
ELEMENTS, PLACED = "elements", "placed"


def role_of(operation: Any) -> str | None:
    """ELEMENTS or PLACED, for one that does that to rows of float32 or float64."""
    kernel = operation.kernel
    role, _, kind = kernel.name.partition("_")
    known = kernel.module == _MODULE and role in (ELEMENTS, PLACED)
    return role if known and kind in ("float32", "float64") else None


def space_of(operation: Any) -> tuple[int, ...] | None:
    """The shape of the scores (batch, classes) of an operation that has a role, else None."""
    role = role_of(operation)
    if role is None:
        return None
    shape: tuple[int, ...] = operation.args[1 if role == ELEMENTS else 0].shape
    return shape if len(shape) == 2 else None


def ignored_of(launch_args: tuple[Any, ...]) -> int:
    """The ignored class among the arguments of a kernel."""
    return int(launch_args[6])


def elements_of_total(kernel: Any, launch_args: tuple[Any, ...]) -> Any:
    """The elements that :func:`total` sums: kernel, its work, and arguments behind the output.

    None for another kernel, and for what has more dimensions than (batch, classes).
    """
    role, _, kind = kernel.name.partition("_")
    if kernel.module != _MODULE or role != "total" or len(launch_args[1].shape) != 2:
        return None
    return _kernel("elements", np.dtype(kind)), (launch_args[2].size, _PICKS), launch_args[1:7]
