"""The names of ``torch.overrides``: functions that classes and modes may override.

Importing this file, or defining a subclass of Tensor, puts a wrapper around every public function
and every method and property of Tensor. A wrapper looks for arguments whose class has a
``__torch_function__`` and asks that instead (``torch_function.py``). What this library calls itself
goes past it: a class sees what a program calls, as in torch.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

import numbagrad

from .dtype import dtype
from .executor import capture
from .ops import on_demand
from .ops.subclass import as_subclass
from .tensor import Tensor
from .torch_function import (
    DisableTorchFunctionSubclass,
    ask,
    contexts,
    disabled_torch_function,
    has_override,
    overriding,
    plain_types,
    state,
)

__all__ = [
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
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
        """What ``func(*args, **kwargs)`` is to return."""
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


# --- wrappers -------------------------------------------------------------------------------------

#: Under which name torch's operators are seen.
_METHOD_OF_OPERATOR = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__mod__": "remainder", "__pow__": "pow", "__matmul__": "matmul",
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
    "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__ne__": "ne",
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__ipow__": "pow_",
    "__neg__": "neg", "__pos__": "positive", "__abs__": "abs",
}  # fmt: skip
#: Methods that are no functions of the elements, or that do not look at an override themselves.
_NOT_OVERRIDABLE = frozenset(
    (
        "__new__", "__init__", "__init_subclass__", "__torch_function__", "__hash__", "__dir__",
        "__iter__", "__getattr__", "__copy__", "__array_wrap__", "as_subclass",
    )
)  # fmt: skip
#: Functions of these names say something of a class or of the library.
_NOT_OPERATORS = frozenset(
    ("is_tensor", "kernel", "set_default_tensor_type", "typename", "get_rng_state", "set_rng_state")
)
#: Functions that make a Tensor of data, whatever class that has: only modes are asked.
_OF_DATA = frozenset(("tensor", "as_tensor", "asarray", "from_numpy", "frombuffer"))

#: Where functions come from that are operators.
_HOMES = ("numbagrad.ops", "numbagrad.nn.functional", "numbagrad.linalg")

_lock = threading.RLock()
#: What was there before: owner, name and value.
_replaced: list[tuple[Any, str, Any]] = []


def install() -> None:
    """Put the wrappers around public functions, if they are not there."""
    with _lock:
        if not _replaced:
            plain_types.update((Tensor, dtype, numbagrad.nn.Parameter))
            on_demand.load_all()
            for name in on_demand.homes():
                getattr(numbagrad, name)
            _wrap_methods()
            for module in (numbagrad, numbagrad.nn.functional, numbagrad.linalg):
                _wrap_functions(module)
            get_default_nowrap_functions.cache_clear()


def uninstall() -> None:
    """Take the wrappers off: no class is asked until the next subclass of Tensor is defined."""
    with _lock:
        while _replaced:
            setattr(*_replaced.pop())


def _replace(owner: Any, name: str, value: Any) -> None:
    _replaced.append((owner, name, vars(owner)[name]))
    setattr(owner, name, value)


def _calls_itself() -> bool:
    """Whether the caller of a wrapper is this library; its layers and optimisers are programs."""
    name = sys._getframe(2).f_globals.get("__name__", "")
    if not name.startswith("numbagrad"):
        return False
    is_program = name.startswith(("numbagrad.nn.", "numbagrad.optim."))
    return not is_program or name.startswith("numbagrad.nn.functional")


def _wrapped(function: Callable[..., Any], name: str, seen_as: Any = None) -> Callable[..., Any]:
    """A function that asks classes and modes first; they see ``seen_as``, or itself."""
    can_decline = name.startswith("torch.Tensor.__")

    is_of_data = name.removeprefix("torch.") in _OF_DATA

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found = [] if is_of_data else overriding(args)
        if kwargs and not is_of_data:
            found += overriding(kwargs.values())
        if (state.modes or (found and not state.disabled)) and not _calls_itself():
            try:
                return ask(seen_as or wrapper, name, found, args, kwargs)
            except TypeError:
                if can_decline and len(args) == 2:
                    return NotImplemented  # the other operand may know
                raise
        return function(*args, **kwargs)

    wrapper.__name__ = name.rpartition(".")[2]
    return wrapper


def _wrap_methods() -> None:
    methods = {
        name: value
        for name, value in vars(Tensor).items()
        if isinstance(value, FunctionType)
        and name not in _NOT_OVERRIDABLE
        and (not name.startswith("_") or name.startswith("__"))
    }
    wrapped: dict[str, Any] = {}
    for name in sorted(methods, key=lambda name: name in _METHOD_OF_OPERATOR):
        seen_as = wrapped.get(_METHOD_OF_OPERATOR.get(name, ""))
        wrapped[name] = _wrapped(methods[name], f"torch.Tensor.{name}", seen_as)
    properties = {
        name: value
        for name, value in vars(Tensor).items()
        if isinstance(value, property) and not name.startswith("_")
    }
    for name, method in wrapped.items():
        _replace(Tensor, name, method)
    for name, found in properties.items():
        made = _wrapped_property(found)
        getattr(made, "__set_name__")(Tensor, name)  # noqa: B009 - errors name it
        _replace(Tensor, name, made)
    _replace(Tensor, "__iter__", _iterated(Tensor.__iter__))


def _wrapped_property(found: property) -> property:
    """A property whose functions ask classes and modes; they see ``__get__`` and ``__set__``."""

    def accessor(kind: str, function: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if function is None:
            return None

        @functools.wraps(function)
        def wrapper(self: Any, *value: Any) -> Any:
            overrides = not state.disabled and has_override(type(self))
            if (state.modes or overrides) and not _calls_itself():
                asked = [self] if overrides else []
                return ask(getattr(made, kind), kind, asked, (self, *value), {})
            return function(self, *value)

        return wrapper

    made = property(
        accessor("__get__", found.fget), accessor("__set__", found.fset),
        accessor("__delete__", found.fdel), found.__doc__,
    )  # fmt: skip
    return made


def _iterated(iterate: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    @functools.wraps(iterate)
    def wrapper(self: Tensor) -> Any:
        if self._array.ndim and has_torch_function_unary(self):
            return iter(handle_torch_function(Tensor.unbind, (self,), self, 0))
        return iterate(self)

    return wrapper


def _wrap_functions(module: ModuleType) -> None:
    for name, value in list(vars(module).items()):
        if not inspect.isfunction(value) or name.startswith("_") or name in _NOT_OPERATORS:
            continue
        home = value.__module__
        if home == "numbagrad" or home.startswith(_HOMES):
            prefix = module.__name__.replace("numbagrad", "torch", 1)
            _replace(module, name, _wrapped(value, f"{prefix}.{name}"))


_disabled_torch_function_impl = disabled_torch_function
install()
