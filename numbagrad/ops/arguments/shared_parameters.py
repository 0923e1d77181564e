"""Parameters that many public functions have, each group declared once: of new tensors, of losses.

A function under `shares` names what it needs of a group. The public function, which is made of it,
has the parameters of the group: signature, checks, docstring and stub follow. Its source is put
together from the parameters, so that a call costs what it would if it was written by hand.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...device import CPU, defaults
from .requirements import home_of_new, require_strided, shape_of

__all__: list[str] = []

Parameter = inspect.Parameter
BY_PLACE = Parameter.POSITIONAL_OR_KEYWORD
_Function = Callable[..., Any]


class Group(NamedTuple):
    """Parameters that are declared together.

    Attributes:
        parameters: what users give, in their order.
        given: what functions are given, by the name under which they ask for it: an expression of
            the parameters and of ``function``, the public name. A parameter is there if an
            expression that is asked for reads it.
        reads: what the expressions use besides.
    """

    parameters: tuple[Parameter, ...]
    given: dict[str, str]
    reads: dict[str, Any]


def by_keyword(name: str, default: Any, annotation: str = "Any") -> Parameter:
    """A parameter that is given by its name."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def shares(*groups: Group, name: str = "") -> Callable[[_Function], _Function]:
    """Decorate a function some of whose parameters are given by groups: the public one is made.

    Parameters of a group stand where the function has the first that it gives; one that the
    function has as well keeps its own default.

    Args:
        groups: each gives what its ``given`` names.
        name: of the public function, if not that of the decorated one.
    """

    def decorate(body: _Function) -> _Function:
        return _public(body, groups, name or body.__name__)

    return decorate


def _public(body: _Function, groups: tuple[Group, ...], name: str) -> _Function:
    own = inspect.signature(body).parameters
    taken: dict[str, Parameter] = {}
    passed = []
    names: dict[str, Any] = {"body": body, "function": name, "__name__": body.__module__}
    for x in own.values():
        group = next((g for g in groups if x.name in g.given), None)
        value = x.name if group is None else group.given[x.name]
        passed.append(f"{x.name}={value}" if x.kind is x.KEYWORD_ONLY else value)
        if group is None:
            taken[x.name] = x
        else:
            taken.update({y.name: y for y in _read(group, own) if y.name not in taken})
            names.update(group.reads)
    parameters = sorted(taken.values(), key=lambda x: x.kind)
    exec(f"def made({_written(parameters)}):\n    return body({', '.join(passed)})", names)
    made = names.pop("made")
    made.__name__ = made.__qualname__ = name
    made.__doc__ = body.__doc__
    made.__annotations__ = {x.name: x.annotation for x in parameters if x.annotation is not x.empty}
    made.__annotations__["return"] = body.__annotations__["return"]
    with_default = [x for x in parameters if x.default is not x.empty]
    by_place = [x.default for x in with_default if x.kind is not x.KEYWORD_ONLY]
    by_name = {x.name: x.default for x in with_default if x.kind is x.KEYWORD_ONLY}
    made.__defaults__, made.__kwdefaults__ = tuple(by_place) or None, by_name or None
    return made


def _written(parameters: list[Parameter]) -> str:
    """The parameters of a function as its source names them, without their defaults."""
    found = ["*" + x.name if x.kind is x.VAR_POSITIONAL else x.name for x in parameters]
    by_name = [x.kind is x.KEYWORD_ONLY for x in parameters]
    if True in by_name and not any(x.kind is x.VAR_POSITIONAL for x in parameters):
        found.insert(by_name.index(True), "*")
    return ", ".join(found)


@functools.cache
def _words(expression: str) -> list[str]:
    return re.findall(r"\w+", expression)


def _read(group: Group, own: Mapping[str, Parameter]) -> list[Parameter]:
    """The parameters of a group that a function with parameters of its ``own`` has."""
    words = {word for x in own if x in group.given for word in _words(group.given[x])}
    found = [x for x in group.parameters if x.name in words]
    default = {x.name: own[x.name].default for x in found if x.name in own}
    return [
        x.replace(default=default[x.name]) if default.get(x.name, x.empty) is not x.empty else x
        for x in found
    ]


def _dense(function: str, device: Any, layout: Any, pin_memory: Any) -> Any:
    """The device, where a dense tensor in ordinary memory is asked for."""
    require_strided(function, layout, pin_memory)
    return device


#: Options of functions that make tensors: for ``where`` the backend that is to hold the result, for
#: ``device`` what was given, where defaults are those of another tensor.
TENSOR_OPTIONS = Group(
    (
        by_keyword("dtype", None),
        by_keyword("layout", None),
        by_keyword("device", None),
        by_keyword("requires_grad", False, "bool"),
        by_keyword("pin_memory", False, "bool"),
    ),
    {
        "dtype": "dtype",
        "where": "None if device is layout is None and not pin_memory and defaults.current is CPU "
        "else home_of_new(function, device, layout, pin_memory)",
        "device": "device if layout is None and not pin_memory else "
        "_dense(function, device, layout, pin_memory)",
        "requires_grad": "requires_grad",
    },
    {"CPU": CPU, "defaults": defaults, "home_of_new": home_of_new, "_dense": _dense},
)

#: Sizes as separate arguments, as one, or by name.
SIZES = Group(
    (Parameter("sizes", Parameter.VAR_POSITIONAL, annotation="Any"), by_keyword("size", None)),
    {"shape": "shape_of(function, sizes, size)"},
    {"shape_of": shape_of},
)
