"""``compile``: whole functions, training steps included, as programs.

``function.py`` decides between capture and running. ``call_capture.py`` turns a captured call into
a program (``snapshot.py`` and ``effects_of_call.py`` say what the call did, ``backward.py`` takes
care of what is differentiated later, ``verification.py`` tries the program), ``captured_call.py``
runs it. ``reachable_state.py`` knows what a call can read: it walks there (``walk.py``) while
``call_events.py`` reports what runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..autograd.node import Node
from ..lazy import lazy_names
from ..nn.module import Module

if TYPE_CHECKING:
    from .function import CompiledFunction, CompileError
    from .module import OptimizedModule
    from .program_explanation import ProgramExplanation

__all__ = [
    "CompileError", "CompiledFunction", "OptimizedModule", "ProgramExplanation", "compile",
    "explain",
]  # fmt: skip

# Programs that compile nothing do without the trace and the fuser.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "CompileError": ".function",
        "CompiledFunction": ".function",
        "OptimizedModule": ".module",
        "ProgramExplanation": ".program_explanation",
    },
)


Compiled = TypeVar("Compiled", bound=Callable[..., Any])


@overload
def compile(
    model: Compiled,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    disable: bool = ...,
) -> Compiled: ...


@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: Any = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    disable: bool = ...,
) -> Callable[[Compiled], Compiled]: ...


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
    optimizer. It is captured once a signature (shapes, dtypes, flags), and again when a Python
    value that the function can reach has changed. With ``fullgraph`` what cannot be part of a
    program raises :class:`CompileError`; else the function then runs as always, with a warning.
    ``dynamic``, ``backend``, ``mode`` and ``options`` are accepted for torch's sake.

    >>> double = torch.compile(lambda x: x * 2)
    >>> double(torch.ones(2))
    tensor([2., 2.])
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


def explain(function: Any) -> Any:
    """``explain(step)(*args)``: call ``step``, and say what that ran.

    For a function or Module that :func:`compile` made it is the program: the launches in order with
    what was fused into each, the memory, what is left to Python. The call does what it always does,
    and if it is the first of its kind it is the one that is captured. For any other function it is
    the kernels with their sources, as ``executor.explain`` shows them. Of an operator these are a
    pair: those of its forward, those of its backward, and what passes between them.

    ``explain(tensor.grad_fn)`` is the pair of a node of the graph: what was compiled for the
    signature that it was made for.
    """
    if isinstance(function, Node):
        from .node_explanation import explain_node

        return explain_node(function)
    from .program_explanation import explaining

    return explaining(function)
