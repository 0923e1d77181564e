"""Every operator as a ``Function``: ``functions.Mm.apply(a, b)``, ``Relu``, ``Clamp`` and so on.

A class is named as the public function, without underscores: ``LayerNorm`` for ``layer_norm``. It
shows what stands behind that name as a user's own ``Function`` would:

- ``apply(*arguments)`` calls the operator, and records it;
- ``forward(*arguments)`` computes alone;
- ``backward(node, *gradients)`` is the gradient rule, for the node that ``apply`` left;
- ``operators()`` are the operators that the public function is written with: their formulas,
  gradient rules and rules under transformations (``ops/operators/base.py``);
- ``kernels(*arguments)`` is the pair of the signature: the kernels of the forward and the backward
  with their sources and files, and what passes between them.

Classes are made when they are first asked for; ``dir(numbagrad.functions)`` lists their names.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .autograd.function import Function
from .autograd.grad_mode import no_grad
from .autograd.node import Node
from .executor.explain import Explanation
from .ops.operators.base import Operator
from .ops.operators.definition import POINTWISE
from .ops.operators.pointwise_operator import pointwise
from .tensor import Tensor

__all__ = ["OperatorFunction"]


class OperatorFunction(Function):
    """An operator of this library, seen as a ``Function``. Subclasses are made by their names."""

    #: Where the public function stands: a module, and its name there.
    position: tuple[Any, str]

    @classmethod
    def operator(cls) -> Callable[..., Any]:
        """The public function, as it stands now: layers may have put one there that asks them."""
        return getattr(*cls.position)

    @classmethod
    def operators(cls) -> tuple[Operator, ...]:
        """The operators that the public function is written with, most often a single one.

        They are found in its text, or in that of its helpers. There are none of a function that is
        written in other public functions, nor those made for a choice of parameters (``cumsum``).
        """
        return tuple(_operators_of(cls.operator()))

    @classmethod
    def apply(cls, *arguments: Any, **options: Any) -> Any:
        """Call the operator and record it: what the public function returns."""
        return cls.operator()(*arguments, **options)

    @classmethod
    def forward(cls, *arguments: Any, **options: Any) -> Any:
        """The results of the operator, without a history."""
        with no_grad():
            return cls.operator()(*arguments, **options)

    @classmethod
    def backward(cls, ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the inputs of a node, in the order of its ``next_functions``.

        Args:
            ctx: the ``grad_fn`` of a result of :meth:`apply`, which holds what was saved.
            grad_outputs: the gradient of each output of the node.

        Raises:
            TypeError: if ``ctx`` is no node.
            RuntimeError: if what the node saved was freed or written in place.
        """
        if not isinstance(ctx, Node):
            raise TypeError(
                f"{cls.__name__}.backward takes the grad_fn of a result as its first argument, "
                f"not {type(ctx).__name__}"
            )
        return ctx(*grad_outputs)

    @classmethod
    def kernels(cls, *arguments: Any, **options: Any) -> Explanation:
        """The pair of the signature of these arguments, as ``explain`` shows it.

        Floating-point tensors among the arguments are taken to require grad, whether they do or
        not. The operator runs once, and its backward.
        """
        from .compiling import explain

        wanted = {name: _with_gradient(value) for name, value in options.items()}
        return explain(cls.operator())(*[_with_gradient(x) for x in arguments], **wanted)


#: Where functions around one operator are written.
_HELPERS = "numbagrad.ops.operators.pointwise_operator"


def _operators_of(function: Any) -> list[Operator]:
    """The operators that a function names, or else those of its helpers."""
    found = _operators_among(_named_by(function))
    if not found:
        homes = (inspect.unwrap(function).__module__, _HELPERS)
        named = [x for x in _named_by(function) if inspect.isfunction(x)]
        helpers = [x for x in named if x.__module__ in homes]
        found = _operators_among([x for helper in helpers for x in _named_by(helper)])
    return found


def _operators_among(values: Iterable[Any]) -> list[Operator]:
    """The operators among values; of composites, launchers and methods those behind them."""
    behind = [getattr(x, "__self__", x) for x in [getattr(x, "composite", x) for x in values]]
    return list(dict.fromkeys([x for x in behind if isinstance(x, Operator)]))


def _named_by(function: Any) -> Iterator[Any]:
    """The objects that the text of a function of this library names, in that order."""
    if hasattr(function, "composite"):
        yield function
        return
    function = inspect.unwrap(function)
    if not function.__module__.startswith("numbagrad"):
        return
    code = function.__code__
    held = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    if "choose" in held:  # of a variant: what says which operator computes
        choose = held.pop("choose").cell_contents
        yield from () if choose is None else _named_by(choose)
    yield from [cell.cell_contents for cell in held.values()]
    spaces = [function.__globals__]
    for name in code.co_names:
        for value in [space[name] for space in spaces if name in space]:
            if inspect.ismodule(value) and value.__name__.startswith("numbagrad"):
                spaces.append(vars(value))
            yield from value.values() if value.__class__ is dict else [value]
    if "pointwise" in code.co_names:
        yield from [pointwise(x) for x in code.co_consts if x.__class__ is str and x in POINTWISE]


def _with_gradient(value: Any) -> Any:
    if isinstance(value, Tensor):
        is_real = value.is_floating_point() or value.is_complex()
        return value.detach().requires_grad_() if is_real else value
    if isinstance(value, (list, tuple)):
        return type(value)([_with_gradient(x) for x in value])
    return value


@functools.cache
def _positions() -> dict[str, tuple[Any, str]]:
    """Where the public functions of Tensors stand, by the names of their classes."""
    import numbagrad

    found: dict[str, tuple[Any, str]] = {}
    for space in (numbagrad.nn.functional, numbagrad):
        for name in dir(space):
            if name.startswith("_") or name.endswith("_"):
                continue
            value = getattr(space, name)
            if inspect.isfunction(value) and _takes_tensors(value):
                found["".join([part.capitalize() for part in name.split("_")])] = space, name
    return found


def _takes_tensors(function: Callable[..., Any]) -> bool:
    """Whether its first argument is a Tensor, or several."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        return False
    return parameters[0].name in ("input", "tensors") or "Tensor" in str(parameters[0].annotation)


@functools.cache
def _class_of(name: str) -> type[OperatorFunction]:
    position = _positions()[name]
    attributes = {
        "position": position,
        "__module__": __name__,
        "__doc__": getattr(*position).__doc__,
    }
    return type(name, (OperatorFunction,), attributes)


def __getattr__(name: str) -> type[OperatorFunction]:
    if name.startswith("_") or name not in _positions():
        raise AttributeError(f"module '{__name__}' has no operator '{name}'")
    return _class_of(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_positions()])
