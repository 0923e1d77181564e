"""``compile``: whole functions, training steps included, as programs.

``function.py`` decides between recording and running, ``recording.py`` turns a recorded call into a
program, ``backward.py`` does so for the backward of what is differentiated later, and
``surroundings.py`` knows what a function can reach. The programs themselves are of the executor.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..lazy import lazy_names
from ..nn.module import Module

if TYPE_CHECKING:
    from .function import CompiledFunction, CompileError
    from .module import OptimizedModule

__all__ = ["CompileError", "CompiledFunction", "OptimizedModule", "compile"]

# Programs that compile nothing do without the recorder and the fuser.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "CompileError": ".function",
        "CompiledFunction": ".function",
        "OptimizedModule": ".module",
    },
)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "numbagrad",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A function, or a Module, that runs as one program after its first calls; also a decorator.

    The program holds everything the function does: forward, ``backward()``, the step of the
    optimizer. It is recorded once a signature (shapes, dtypes, flags), and again when a Python
    value that the function can reach has changed. With ``fullgraph`` what cannot be part of a
    program raises :class:`CompileError`; else the function then runs as always, with a warning.
    ``dynamic``, ``backend``, ``mode`` and ``options`` are accepted for torch's sake.
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable,
        )  # fmt: skip
    if disable:
        return model
    if not callable(model):
        raise TypeError(f"compile() takes a function or a Module, not {type(model).__name__}")
    from .function import CompiledFunction
    from .module import OptimizedModule

    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph)
    return CompiledFunction(model, fullgraph)
