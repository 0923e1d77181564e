"""The package ``functorch``, which torch brings beside ``torch``: torch.func under its older names.

``import functorch`` finds this module while the package has torch's name (``torch_alias.py``). Its
functions are those of ``torch.func`` and warn, as torch's do; modules as functions of their
parameters, which torch.func has no more, are made of ``functional_call``.
"""

from __future__ import annotations

import copy
import functools
import importlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import func
from ..nn.module import Module
from ..tensor import Tensor
from ..torch_alias import TORCH_VERSION
from .modules import functional_call, stack_module_state

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble",
    "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip

__version__ = TORCH_VERSION

#: Modules below the package, which are there and whose names are absent.
_ABSENT_MODULES = frozenset({"compile", "dim", "einops", "experimental"})


def __getattr__(name: str) -> Any:
    if name in _ABSENT_MODULES:  # with ``from functorch import dim``, as with ``import``
        return importlib.import_module(f"functorch.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _warn(name: str, instead: str) -> None:
    text = f"functorch.{name} is deprecated, as in torch: use {instead}"
    warnings.warn(text, FutureWarning, stacklevel=3)


def _deprecated(name: str) -> Callable[..., Any]:
    """The function of ``torch.func``, which warns when it is called as one of ``functorch``."""
    function = getattr(func, name)

    @functools.wraps(function)
    def warning(*arguments: Any, **keywords: Any) -> Any:
        _warn(name, f"torch.func.{name}")
        return function(*arguments, **keywords)

    return warning


functionalize = _deprecated("functionalize")
grad = _deprecated("grad")
grad_and_value = _deprecated("grad_and_value")
hessian = _deprecated("hessian")
jacfwd = _deprecated("jacfwd")
jacrev = _deprecated("jacrev")
jvp = _deprecated("jvp")
vjp = _deprecated("vjp")
vmap = _deprecated("vmap")


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters and buffers, which are two sequences of tensors."""

    def __init__(
        self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def forward(
        self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        """Call the module with other tensors, in the order in which they were handed out."""
        state = _by_name(self.param_names, params, "parameters")
        state |= _by_name(self.buffer_names, buffers, "buffers")
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """A module without buffers as a function of its parameters, a sequence of tensors."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with other parameters, in the order in which they were handed out."""
        state = _by_name(self.param_names, params, "parameters")
        return functional_call(self.stateless_model, state, args, kwargs)


def _by_name(names: Sequence[str], tensors: Iterable[Tensor], kind: str) -> dict[str, Tensor]:
    given = tuple(tensors)
    if len(given) != len(names):
        raise ValueError(
            f"this function of a module takes {len(names)} {kind} ({', '.join(names)}), "
            f"but got {len(given)}"
        )
    return dict(zip(names, given, strict=True))


def _copied(model: Module, disable_autograd_tracking: bool) -> tuple[Module, Any, Any]:
    """A copy of a module, and its named parameters and buffers, each tensor once."""
    model = copy.deepcopy(model)
    parameters = dict(model.named_parameters())
    if disable_autograd_tracking:
        for parameter in parameters.values():
            parameter.requires_grad_(False)
    return model, parameters, dict(model.named_buffers())


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A copy of a module as a function ``f(params, *args)``, and its parameters.

    Args:
        model: without buffers; it is left as it is.
        disable_autograd_tracking: whether the parameters do not require grad.

    Raises:
        RuntimeError: if the module has buffers.
    """
    _warn("make_functional", "torch.func.functional_call")
    if next(iter(model.buffers()), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    model, parameters, _ = _copied(model, disable_autograd_tracking)
    return FunctionalModule(model, tuple(parameters)), tuple(parameters.values())


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A copy of a module as a function ``f(params, buffers, *args)``, its parameters and buffers.

    Args:
        model: is left as it is.
        disable_autograd_tracking: whether the parameters do not require grad.
    """
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    model, parameters, buffers = _copied(model, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(model, tuple(parameters), tuple(buffers))
    return function, tuple(parameters.values()), tuple(buffers.values())


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """One of several equal modules as a function, and the state of all, stacked for ``vmap``.

    Raises:
        RuntimeError: without a module, or if they differ in class or in training mode.
    """
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    parameters, buffers = stack_module_state(models)
    function = FunctionalModuleWithBuffers(
        copy.deepcopy(models[0]), tuple(parameters), tuple(buffers)
    )
    stacked = [tuple([each.detach() for each in some.values()]) for some in (parameters, buffers)]
    return function, stacked[0], stacked[1]
