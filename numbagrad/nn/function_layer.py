"""Layers that are functions with their options kept, as most activations, poolings and losses are.

``@layer`` writes ``__init__`` from the fields of a class, as ``dataclasses`` does, and ``forward``
from a function and the options that it has parameters for; ``@forward_of`` writes that alone.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar

from ..ops.arguments.check import check_constructor
from .module import Module

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform() -> Any:
        """A decorator for type checkers, without effect when programs run."""
        return lambda function: function


__all__ = ["forward_of", "layer"]

_Layer = TypeVar("_Layer", bound=type[Module])

_INIT = """\
def around(layer, {defaults}):
    def __init__(self, {parameters}):
        super(layer, self).__init__({passed})
        {statements}
    return __init__
"""

_FORWARD = """\
def around(compute):
    def forward(self, {inputs}):
        return compute({arguments})
    return forward
"""


@dataclass_transform()
def layer(function: Callable[..., Any] | None = None) -> Callable[[_Layer], _Layer]:
    """A decorator for classes of layers whose options are fields: annotated names of the class.

    Fields that ``__init__`` of the base takes are passed on to it. The others become attributes, or
    buffers where they are Tensors, and in the end ``__post_init__`` is called if the class has it.
    ``forward`` is that of ``function``, see `forward_of`; without one the class defines it itself.
    """

    def decorate(cls: _Layer) -> _Layer:
        _define(cls, "__init__", _initialiser(cls))
        check_constructor(cls, f"{__package__}.")
        return cls if function is None else forward_of(function)(cls)

    return decorate


def forward_of(function: Callable[..., Any]) -> Callable[[_Layer], _Layer]:
    """A decorator for classes of layers whose ``forward`` is a function.

    Its inputs are the parameters without a default. Options are passed to it under their names:
    those that are annotated in the class and its bases, and ``training``.
    """

    def decorate(cls: _Layer) -> _Layer:
        _define(cls, "forward", _forward(function, _options(cls)))
        return cls

    return decorate


def _initialiser(cls: type[Module]) -> Any:
    """``__init__`` of the fields, which keep their annotations if they are attributes."""
    fields = dict(cls.__annotations__)
    taken = inspect.signature(cls.__mro__[1]).parameters
    passed = [name for name in fields if name in taken]
    statements = []
    for name in passed:
        del cls.__annotations__[name]
    for name, kind in cls.__annotations__.items():
        is_tensor = kind.startswith("Tensor")
        statements.append(f"self.register_buffer({name!r}, {name})" if is_tensor
                          else f"self.{name} = {name}")  # fmt: skip
    if "__post_init__" in cls.__dict__:
        statements.append("self.__post_init__()")
    defaults = {name: cls.__dict__[name] for name in fields if name in cls.__dict__}
    for name in defaults:
        delattr(cls, name)
    source = _INIT.format(
        defaults=", ".join([f"default_{name}" for name in defaults]),
        parameters=", ".join([f"{x}=default_{x}" if x in defaults else x for x in fields]),
        passed=", ".join([f"{name}={name}" for name in passed]),
        statements="; ".join(statements),
    )
    made = _compiled(source, cls, *defaults.values())
    made.__annotations__ = {**fields, "return": "None"}
    return made


def _forward(function: Callable[..., Any], options: Container[str]) -> Any:
    signature = inspect.signature(function)
    inputs: dict[str, Any] = {}
    arguments = []
    by_name = False
    for name, parameter in signature.parameters.items():
        if name in options:
            arguments.append(f"{name}=self.{name}" if by_name else f"self.{name}")
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            inputs[name] = _or_tensor(parameter.annotation)
            arguments.append(name)
        else:
            by_name = True
    source = _FORWARD.format(inputs=", ".join(inputs), arguments=", ".join(arguments))
    made = _compiled(source, function)
    made.__doc__ = f"``{function.__name__}`` of the input, with the options of the layer."
    made.__annotations__ = {**inputs, "return": _or_tensor(signature.return_annotation)}
    return made


def _or_tensor(annotation: Any) -> Any:
    """An annotation; formulas have none, as all that they take and return are Tensors."""
    return "Tensor" if annotation is inspect.Signature.empty else annotation


def _compiled(source: str, *arguments: Any) -> Any:
    made: dict[str, Any] = {"__name__": __name__}  # by which warnings know code of this package
    exec(_code(source), made)
    return made["around"](*arguments)


@functools.cache
def _code(source: str) -> CodeType:
    return compile(source, __file__, "exec")


def _define(cls: type[Module], name: str, function: Any) -> None:
    function.__module__ = cls.__module__
    function.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, function)


def _options(cls: type[Module]) -> set[str]:
    """The attributes that are annotated in a class and its bases."""
    return {name for kind in cls.__mro__ for name in inspect.get_annotations(kind)}
