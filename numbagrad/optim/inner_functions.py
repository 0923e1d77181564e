"""Functions of torch's ``optim.optimizer`` that optimizers of libraries import from it.

``optimizer.py`` shows them at torch's path; nothing here calls them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.grad_mode import set_grad_enabled
from ..dtype import dtype as DType
from ..dtype import float32, float64, get_default_dtype
from ..ops.complex.complex_numbers import view_as_real
from ..tensor import Tensor

__all__ = ["ParamsT"]

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
params_t = ParamsT


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of ``step``: without recording, unless the optimizer is differentiable."""

    @functools.wraps(func)
    def use_grad(self: Any, *arguments: Any, **keywords: Any) -> Any:
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *arguments, **keywords)

    return use_grad


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether steps are fused or of lists of tensors where nobody has said so: neither."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Kinds of devices whose steps can be captured in graphs."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _get_scalar_dtype(is_fused: bool | None = None) -> DType:
    """The dtype of counters of steps."""
    return float64 if get_default_dtype() is float64 and not is_fused else float32


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    return x


def _to_scalar(x: Any) -> Any:
    return x.squeeze() if isinstance(x, Tensor) and x.ndim else x


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex parameters, and what belongs to them, by views of their real numbers."""
    for position, parameter in enumerate(params):
        if parameter.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[position] = view_as_real(tensors[position])
