"""Functions that ask the layers before they compute, for public ones that do not ask by themselves.

``asking`` puts a function with the same parameters around another one, once, when a method or a
public function is defined. Of what programs call most, as ``a * b`` and ``x.shape``, the question
stands in the function itself (see ``layers.py``), which saves the call in between.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

from . import layers

__all__ = ["asking", "asking_member", "asks", "is_public_member", "public_members"]

Kind = TypeVar("Kind", bound=type[Any])

#: Methods that are no functions of the elements, or that do not look at an override themselves.
_NOT_OVERRIDABLE = frozenset(
    (
        "__new__", "__init__", "__init_subclass__", "__torch_function__", "__hash__", "__dir__",
        "__getattr__", "__copy__", "__array_wrap__", "__array_ufunc__", "__array_function__",
        "as_subclass",
    )
)  # fmt: skip

#: The question, before a call of ``compute`` with what the function was given. A call by keyword
#: takes several times as long as one by position, and is saved where keywords are left out.
_SOURCE = """\
def around(compute, layers, into, {defaults}):
    def asking({parameters}):
        if layers.everywhere and layers.asks(asking):
            return layers.ask(asking, [{positional}], {{{asked}}}, {more})
        {written}
        {ordinary}
        return compute({arguments})
    return asking
"""


def asks(function: Any) -> bool:
    """Whether a function asks the layers by itself."""
    return isinstance(function, FunctionType) and not {"everywhere", "active"}.isdisjoint(
        function.__code__.co_names
    )


def _is_position_of(function: FunctionType, name: str) -> bool:
    """Whether a method asks by itself, and is no function of a namespace or of another name too.

    Classes and modes see methods and functions apart.
    """
    own = function.__name__.strip("_") == name.strip("_")
    return own and "everywhere" in function.__code__.co_names


def asking(
    function: Callable[..., Any], name: str, into: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A function like ``function``, called ``name``, that asks the layers first.

    With ``into`` it has ``out`` as well: ``into(arguments, keywords, out)`` writes what the
    function makes.
    """
    parameters = _parameters(function)
    around = FunctionType(_code_around(parameters, into is not None), globals())
    defaults = function.__kwdefaults__ or {}
    values = [defaults.get(name, _REQUIRED) for name in parameters[3]]
    made: Any = functools.update_wrapper(around(function, layers, into, *values), function)
    made.__name__ = name
    if function.__name__ != name:
        made.__qualname__ = name
    made.__defaults__ = function.__defaults__
    made.__kwdefaults__ = function.__kwdefaults__ if into is None else {**defaults, "out": None}
    return made


#: No argument is this object.
_REQUIRED = object()
#: The names of positional parameters, how many of them have no name, what takes more of them, the
#: names of those by keyword, and what takes more of these.
_Parameters = tuple[tuple[str, ...], int, str, tuple[str, ...], str]


def _parameters(function: Any) -> _Parameters:
    code = function.__code__
    names, count, by_keyword = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    rest = list(names[count + by_keyword :])
    more = rest.pop(0) if code.co_flags & inspect.CO_VARARGS else ""
    others = rest.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else ""
    positional, keywords = names[:count], names[count : count + by_keyword]
    return positional, code.co_posonlyargcount, more, keywords, others


@functools.cache
def _code_around(parameters: _Parameters, has_out: bool) -> CodeType:
    positional, unnamed, more, keywords, others = parameters
    taken = [*positional[:unnamed], *(["/"] if unnamed else []), *positional[unnamed:]]
    out = ["out"] if has_out else []
    taken += [f"*{more}"] if more else ["*"] if keywords or out else []
    passed = [*positional, *([f"*{more}"] if more else []), *[f"{k}={k}" for k in keywords]]
    both = [f"**{others}"] if others else []
    left_out = [f"{k} is default_{k}" for k in keywords] + [f"not {x}" for x in (more, others) if x]
    short = f"if {' and '.join(left_out)}: return compute({', '.join(positional)})"
    named = ", ".join([*[f"{k!r}: {k}" for k in keywords], *both])
    plain = ", ".join([*positional, *([f"*{more}"] if more else []), ""])
    written = f"if out is not None: return into(({plain}), {{{named}}}, out)"
    source = _SOURCE.format(
        defaults=", ".join([f"default_{k}" for k in keywords]),
        parameters=", ".join([*taken, *keywords, *out, *both]),
        arguments=", ".join([*passed, *both]),
        positional=", ".join(positional),
        asked=", ".join([*[f"{k!r}: {k}" for k in (*keywords, *out)], *both]),
        written=written if has_out else "",
        more=more or "()",
        ordinary=short if left_out else "",
    )
    code = compile(source, __file__, "exec")
    return next(x for x in code.co_consts if isinstance(x, CodeType))


def asking_member(value: Any, name: str) -> Any:
    """A method or property of Tensor as one that asks; others are returned as they are."""
    if isinstance(value, property):
        parts: list[Any] = [value.fget, value.fset, value.fdel]
        get, put, delete = [f if f is None or asks(f) else asking(f, f.__name__) for f in parts]
        made: Any = property(get, put, delete, value.__doc__)
        if hasattr(made, "__set_name__"):  # errors name it
            made.__set_name__(object, name)
        return made
    if not isinstance(value, FunctionType):
        return value
    if _is_position_of(value, name):
        value.__name__ = name  # by which classes know it
        return value
    return asking(value, name)


def is_public_member(name: str, value: Any) -> bool:
    """Whether a class or a mode may override a member of Tensor."""
    if isinstance(value, FunctionType) and name.startswith("__"):
        return name not in _NOT_OVERRIDABLE
    return isinstance(value, (FunctionType, property)) and not (
        name.startswith("_") or name in _NOT_OVERRIDABLE
    )


def public_members(kind: Kind) -> Kind:
    """Decorate a class: all that programs see of it asks."""
    for name, value in list(vars(kind).items()):
        if is_public_member(name, value):
            setattr(kind, name, asking_member(value, name))
    return kind
