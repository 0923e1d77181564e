"""Errors that name the function and the argument, where something else was given for a Tensor.

Operators read the array of a Tensor without asking first whether it is one: a question for each
argument would cost every right call. So the public functions ask when a call has failed, here.
What the rooms import from one another are the functions themselves, which pay nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from .arguments import check_elements, require_tensor

Function = TypeVar("Function", bound=Callable[..., Any])

_ONE = frozenset(("Tensor",))
_ONE_OR_NONE = frozenset(("Tensor | None",))
_SEVERAL = frozenset(("Sequence[Tensor]", "Iterable[Tensor]", "list[Tensor]", "tuple[Tensor, ...]"))
_KINDS = _ONE | _ONE_OR_NONE | _SEVERAL


def check_tensors(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any] | None = None,
) -> None:
    """Raise a TypeError for the first argument that had to be a Tensor and is none.

    Which have to be one is what the annotations say. Arguments that do not fit the signature raise
    nothing: Python's own error is about them.
    """
    signature = inspect.signature(function)
    try:
        given = signature.bind(*arguments, **(keywords or {})).arguments
    except TypeError:
        return
    for position, (name, parameter) in enumerate(signature.parameters.items(), 1):
        if name not in given:
            continue
        value, annotation = given[name], parameter.annotation
        if parameter.kind is parameter.VAR_POSITIONAL:
            if annotation in _ONE:
                check_elements(function.__name__, value, position)
        elif annotation in _ONE or (annotation in _ONE_OR_NONE and value is not None):
            require_tensor(function.__name__, value, name, position)
        elif annotation in _SEVERAL and isinstance(value, (list, tuple)):
            check_elements(function.__name__, value, position)


def checked(function: Function) -> Function:
    """The function, whose failures say so if an argument had to be a Tensor and is none."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except (AttributeError, TypeError, ValueError):
            check_tensors(function, arguments, keywords)
            raise

    return call  # type: ignore[return-value]


#: Functions that ask when they fail: they are so short that a call around them would be felt.
_ASKING = frozenset(("mm", "matmul", "linear"))
#: Rooms whose functions end in pointwise programs, which ask what their operands are.
_ASKING_ROOMS = frozenset((
    f"{__package__}.functions", f"{__package__}.operator", "numbagrad.nn.functional.activation",
))  # fmt: skip


def _asks(function: Callable[..., Any]) -> bool:
    return function.__module__ in _ASKING_ROOMS or function.__name__ in _ASKING


def _kinds(function: Callable[..., Any]) -> list[str]:
    """The annotations of the inputs that have to be Tensors."""
    inputs = {k: v for k, v in function.__annotations__.items() if k not in ("return", "out")}
    kinds = [str(kind) for kind in inputs.values()]
    return [kind for kind in kinds if kind in _KINDS]


def takes_others(function: Any) -> bool:
    """Whether a method has Tensors among its arguments for which it does not ask itself."""
    return type(function) is FunctionType and len(_kinds(function)) > 1 and not _asks(function)


def check_namespace(names: dict[str, Any], package: str) -> None:
    """Put ``checked`` functions in the place of those of ``package`` in a public namespace.

    Their ``__module__`` becomes the namespace, which is where pickle looks for them.
    """
    for name, function in list(names.items()):
        if not name.startswith("_"):
            names[name] = public_function(function, names["__name__"], package)


def public_function(value: Any, namespace: str, package: str) -> Any:
    """The value, or as a ``checked`` function if it is one of ``package``: what users see."""
    if type(value) is not FunctionType or _asks(value):
        return value
    if not value.__module__.startswith(package) or not _kinds(value):
        return value
    public = checked(value)
    public.__module__ = namespace
    return public
