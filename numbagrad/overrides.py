"""The names of ``torch.overrides``: functions that classes and modes may override.

Importing this file, or defining a subclass of Tensor, wakes a layer above every public function and
every method and property of Tensor (``dispatch/overriding.py``). It looks for arguments whose class
has a ``__torch_function__`` and asks that instead (``torch_function.py``).
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from .absent import absent
from .dispatch import layers
from .executor import capture
from .ops.methods.subclass import as_subclass
from .tensor import Tensor
from .torch_function import (
    DisableTorchFunctionSubclass,
    ask,
    contexts,
    disabled_torch_function,
    has_override,
    overriding,
    state,
)

__all__ = [
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "get_default_nowrap_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


# --- modes ----------------------------------------------------------------------------------------


class TorchFunctionMode:
    """A context that sees every call of a public function by its thread.

    A subclass defines ``__torch_function__(self, func, types, args=(), kwargs=None)``, in which the
    mode itself is not active.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """The result that ``func(*args, **kwargs)`` is to have."""
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        capture.refuse("a TorchFunctionMode, which sees every call")
        state.modes.append(self)
        contexts.change(1)
        return self

    def __exit__(self, *exception: object) -> None:
        contexts.change(-1)
        state.modes.pop()

    def _asked(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``__torch_function__``, with the mode itself out of the way."""
        modes = state.modes
        state.modes = modes[:-1]
        try:
            return self.__torch_function__(func, types, args, kwargs)
        finally:
            state.modes = modes


# --- what Tensor itself does ----------------------------------------------------------------------


def default_torch_function(
    cls: type[Tensor], func: Any, types: Any, args: tuple[Any, ...], kwargs: Any
) -> Any:
    """``Tensor.__torch_function__``: call the function, and make Tensors in its result ``cls``."""
    if not all([issubclass(cls, kind) for kind in types]):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in get_default_nowrap_functions() else _converted(result, cls)


def _converted(result: Any, cls: type[Tensor]) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return as_subclass(result, cls)
    if isinstance(result, (tuple, list)):
        # Shapes have no Tensors in them; results with names are made from a sequence.
        items = [_converted(item, cls) for item in result]
        if all([new is old for new, old in zip(items, result, strict=True)]):
            return result
        return type(result)(*items) if hasattr(result, "_make") else type(result)(items)
    return result


@functools.lru_cache(maxsize=1)
def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results keep their class: gradients, and what a view shows."""
    return {Tensor.grad.__get__}


# --- questions ------------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode, or the class of one of the arguments, is to be asked."""
    if state.modes:
        return True
    return not state.disabled and any([has_override(type(x)) for x in relevant_args])


def has_torch_function_unary(argument: Any) -> bool:
    """``has_torch_function`` of one argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments: Any) -> bool:
    """``has_torch_function`` of these arguments."""
    return has_torch_function(arguments)


def handle_torch_function(
    public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask for ``public_api(*args, **kwargs)``, as the functions of this library do.

    Raises:
        TypeError: if everybody who is asked returns NotImplemented.
    """
    found = overriding(relevant_args)
    return ask(public_api, _full_name(public_api), found, args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorate a function so that classes may override it.

    Args:
        dispatcher: called with the arguments; returns those whose classes are asked.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapper, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapper

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a Tensor, or an object whose class has a ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that classes and modes are asked about, by the module or class they are in.

    Of a property it is the function that reads it, ``Tensor.shape.__get__``.
    """
    from .dispatch import public_names

    found: dict[Any, list[Callable[..., Any]]] = {}
    for owner, _, value in public_names.positions():
        function = value.__get__ if isinstance(value, property) else value
        found.setdefault(owner, []).append(function)
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """The public functions of the namespace, and of Tensor, that nobody is asked about."""
    import numbagrad

    asked: set[Any] = {
        function
        for functions in get_overridable_functions().values()
        for function in functions
        if isinstance(function, FunctionType)
    }
    candidates = [*vars(numbagrad).values(), *vars(Tensor).values()]
    found: set[Any] = {x for x in candidates if isinstance(x, FunctionType)}
    return found - asked


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    """For each function that classes are asked about one with its parameters, which returns -1."""
    return {
        function: _returning_minus_one(function)
        for functions in get_overridable_functions().values()
        for function in functions
        if isinstance(function, FunctionType)
    }


def _returning_minus_one(function: Callable[..., Any]) -> Callable[..., int]:
    def override(*arguments: Any, **keywords: Any) -> int:
        signature.bind(*arguments, **keywords)
        return -1

    signature = inspect.signature(function)
    vars(override)["__signature__"] = signature
    override.__name__ = function.__name__
    return override


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function that ``__torch_function__`` was given belongs to Tensor."""
    owner = getattr(func, "__self__", None)
    return isinstance(owner, property) or any([func is x for x in vars(Tensor).values()])


def resolve_name(func: Any) -> str | None:
    """The name under which a program finds a function, such as ``torch.Tensor.add``."""
    owner = getattr(func, "__self__", None)
    for name, value in vars(Tensor).items():
        if value is func:
            return f"torch.Tensor.{name}"
        if value is owner and isinstance(owner, property):
            return f"torch.Tensor.{name}.{func.__name__}"
    return _full_name(func) if callable(func) and hasattr(func, "__name__") else None


def _full_name(function: Any) -> str:
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", None) or repr(function)
    if module == "numbagrad.nn.functional" or module.startswith("numbagrad.nn.functional."):
        module = "torch.nn.functional"
    elif module.partition(".")[0] == "numbagrad":
        module = "torch"
    return f"{module}.{name}" if module else name


class enable_reentrant_dispatch:
    """A context that torch needs below its dispatcher; here there is nothing to enable."""

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, *exception: object) -> None:
        """Nothing."""


# --- whether classes are asked --------------------------------------------------------------------

_lock = threading.RLock()
_installed = False


def install() -> None:
    """Have public functions ask classes, from now on."""
    global _installed
    with _lock:
        if not _installed:
            _installed = True
            layers.change("overriding", 1)
            get_default_nowrap_functions.cache_clear()


def uninstall() -> None:
    """No class is asked until the next subclass of Tensor is defined."""
    global _installed
    with _lock:
        if _installed:
            layers.change("overriding", -1)
            _installed = False


_disabled_torch_function_impl = disabled_torch_function
install()


redispatch_function = absent(
    "torch.overrides.redispatch_function",
    "call the function itself, under DisableTorchFunctionSubclass",
)
