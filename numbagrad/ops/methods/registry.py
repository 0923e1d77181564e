"""How functions of this folder become methods of Tensor.

The files of this folder define public functions (exported by their ``__all__`` into the namespace
of the package) and mark those that are methods too with the decorator below.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from ...tensor import Tensor
from ..arguments.check import as_method
from ..arguments.kinds import FORMS

#: A function or a property.
Decorated = TypeVar("Decorated", bound=Any)

#: Methods whose file is imported when they are first called (``on_demand.py``), and once more if an
#: interrupt ended that import: they may be installed again.
ON_DEMAND: set[str] = set()


def method(*names: str) -> Callable[[Decorated], Decorated]:
    """Make a function a method of Tensor under its own name, or under the given names."""

    def install(function: Decorated) -> Decorated:
        for name in names or (function.__name__,):
            if name in vars(Tensor) and name not in ON_DEMAND:
                raise ValueError(f"Tensor.{name} is defined twice")
            if isinstance(function, FunctionType) and (
                "<locals>" in function.__qualname__ or function.__name__.startswith("_")
            ):
                function.__qualname__ = name  # Python's own errors call it so
            setattr(Tensor, name, as_method(function, name))
        return function

    return install


def install_form(form: Callable[..., Any], function: Callable[..., Any], name: str) -> None:
    """Make ``form`` a method whose arguments are those of ``function``, and are checked as such."""
    form.__name__ = form.__qualname__ = name
    form.__annotations__ = function.__annotations__
    signature = inspect.signature(function)
    taken = [x for each, x in signature.parameters.items() if each != "out"]
    form.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]
    if hasattr(function, FORMS):
        setattr(form, FORMS, getattr(function, FORMS))
    method(name)(form)
