"""Functions that kernels are written in: a rule for LLVM, and a body in Python.

``@primitive(body)`` decorates what ``numba.extending.intrinsic`` does, a function of types that
returns a signature and emits LLVM. Called from Python, the primitive runs ``body``: so a kernel,
which is nothing but primitives and arithmetic, runs as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.extending import _Intrinsic


class Primitive(_Intrinsic):
    """An intrinsic that Python can call.

    Attributes:
        py_func: the body in Python.
    """

    def __init__(self, name: str, defn: Callable[..., Any], body: Callable[..., Any] | None = None):
        super().__init__(name, defn)
        self.py_func = body

    def __call__(self, *arguments: Any) -> Any:
        """Run the body in Python."""
        if self.py_func is None:
            raise NotImplementedError(f"{self._name} has no body in Python")
        return self.py_func(*arguments)


def primitive(body: Callable[..., Any]) -> Callable[[Callable[..., Any]], Primitive]:
    """Decorator of a typing function; ``body`` does in Python what the emitted code does."""

    def decorate(typing: Callable[..., Any]) -> Primitive:
        made = Primitive(typing.__name__, typing, body)
        made._register()
        return made

    return decorate
