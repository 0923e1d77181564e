"""Clipping of gradients between ``backward`` and the step of an optimizer."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

from ...autograd.grad_mode import no_grad
from ...ops.arguments.requirements import check_elements
from ...ops.creation.from_data import tensor
from ...ops.views.join import stack
from ...tensor import Tensor
from ...type_names import given_for_tensor

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "get_total_norm",
]  # fmt: skip

Tensors = Tensor | Iterable[Tensor]


def _list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@no_grad()
def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors, as if they were one vector.

    Raises:
        RuntimeError: if it is infinite or NaN and ``error_if_nonfinite`` is set.
    """
    norm_type = float(norm_type)
    found = _list(tensors)
    for position, each in enumerate(found):
        if not isinstance(each, Tensor):
            kind = RuntimeError if each is None else TypeError
            raise kind(
                f"get_total_norm(): expected Tensor as element {position} of argument 'tensors', "
                f"but got {given_for_tensor(each)}"
            )
    norms = [each.norm(norm_type) for each in found]
    if not norms:
        return tensor(0.0)
    total = stack(norms).norm(norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients so that their total norm is at most ``max_norm``; return that norm."""
    max_norm = float(max_norm)
    lazy = isinstance(parameters, types.GeneratorType)
    found = _list(parameters)
    if lazy and not found:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3
        )
    gradients = _gradients("clip_grad_norm_", found)
    total = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    _scale(gradients, max_norm, total)
    return total


def _gradients(function: str, parameters: list[Tensor]) -> list[Tensor]:
    """The gradients of those parameters that have one."""
    try:
        return [x.grad for x in parameters if x.grad is not None]
    except AttributeError:
        check_elements(function, parameters)
        raise


def _scale(gradients: list[Tensor], max_norm: float, total: Tensor) -> None:
    """Let gradients of a total norm have one of at most ``max_norm``."""
    if not gradients:
        return
    # A multiplication by one costs less than asking whether it is needed.
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor)


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """``clip_grad_norm_`` with a total norm that is known, as from ``get_total_norm``."""
    gradients = _gradients("clip_grads_with_norm_", _list(parameters))
    _scale(gradients, float(max_norm), total_norm)


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """``clip_grad_norm_`` under the name of torch 0.3."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of the gradients to [-clip_value, clip_value]."""
    limit = float(clip_value)
    for gradient in _gradients("clip_grad_value_", _list(parameters)):
        gradient.clamp_(min=-limit, max=limit)
