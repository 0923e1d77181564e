"""Overrides: classes with a ``__torch_function__``, and modes, are asked what a public call does.

``torch_function.py`` finds who is to be asked and asks; here it is put above every public function,
method and property. What this library calls itself goes past: a class sees what a program calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numbagrad

from ..dtype import dtype
from ..tensor import Tensor
from ..torch_function import ask, has_override, overriding, plain_types, state
from . import public_names
from .layers import Arguments, Below, Keywords

__all__ = ["LAYER"]

plain_types.update((Tensor, dtype, numbagrad.nn.Parameter))

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
#: Rooms that call the library as a program does: layers, optimisers, and what stands for a program.
_PROGRAMS = ("numbagrad.nn.", "numbagrad.optim.", "numbagrad.functions")
#: Functions that make a Tensor of data, whatever class that has: only modes are asked.
_OF_DATA = frozenset(("tensor", "as_tensor", "asarray", "from_numpy", "frombuffer"))


class _Seen(NamedTuple):
    """A public function, as classes and modes see it."""

    #: The function that they are given.
    function: Any
    #: How errors name it.
    name: str
    #: One instance of each class that is asked, among the arguments.
    overriding: Callable[[Arguments, Keywords], list[Any]]


def _of_all(arguments: Arguments, keywords: Keywords) -> list[Any]:
    found = overriding(arguments)
    return found + overriding(keywords.values()) if keywords else found


def _of_none(arguments: Arguments, keywords: Keywords) -> list[Any]:
    return []


def _of_first(arguments: Arguments, keywords: Keywords) -> list[Any]:
    return [arguments[0]] if has_override(type(arguments[0])) else []


def _seen() -> dict[Callable[..., Any], _Seen]:
    """Every public function with its view from outside."""
    table: dict[Callable[..., Any], _Seen] = {}
    methods = {}
    for owner, name, value in public_names.positions():
        if isinstance(value, property):
            accessors = {"__get__": value.fget, "__set__": value.fset, "__delete__": value.fdel}
            for kind, accessor in accessors.items():
                if accessor is not None:
                    table[accessor] = _Seen(getattr(value, kind), kind, _of_first)
        elif owner is Tensor:
            methods[name] = value
        else:
            prefix = owner.__name__.replace("numbagrad", "torch", 1)
            looks = _of_none if name in _OF_DATA and owner is numbagrad else _of_all
            table[value] = _Seen(value, f"{prefix}.{name}", looks)
    for name, method in methods.items():
        seen_as = methods.get(_METHOD_OF_OPERATOR.get(name, name), method)
        table[method] = _Seen(seen_as, f"torch.Tensor.{name}", _of_all)
    return table


def _calls_itself() -> bool:
    """Whether the caller of the function is this library; some of its rooms are programs to it.

    Between the two are the frames of this function, of the layer, and of those before it.
    """
    name = sys._getframe(5).f_globals.get("__name__", "")
    if not name.startswith("numbagrad"):
        return False
    is_program = name.startswith(_PROGRAMS)
    return not is_program or name.startswith("numbagrad.nn.functional")


class Overriding:
    """The layer; it acts where a mode is entered or an argument has a class that overrides."""

    def __init__(self) -> None:
        self._seen = _seen()

    def acts_on(self, arguments: Arguments) -> bool:
        """Whether a mode is entered, or an argument has a class that is asked."""
        return bool(state.modes) or (not state.disabled and bool(overriding(arguments)))

    def call(
        self, function: Callable[..., Any], arguments: Arguments, keywords: Keywords, below: Below
    ) -> Any:
        """The result that modes and classes return, if there are any to ask."""
        seen = self._seen.get(function)
        if seen is None:
            return below(arguments, keywords)
        found = seen.overriding(arguments, keywords)
        if not (state.modes or (found and not state.disabled)) or _calls_itself():
            return below(arguments, keywords)
        if seen.name == "torch.Tensor.__iter__":
            return _iterated(found, arguments[0], below)
        if seen.name == "torch.einsum" and isinstance(arguments[-1], (list, tuple)):
            arguments = (
                *arguments[:-1],
                *arguments[-1],
            )  # operands are seen one by one, as in torch
        return _answer(seen, found, arguments, keywords)


def _answer(seen: _Seen, found: list[Any], arguments: Arguments, keywords: Keywords) -> Any:
    try:
        return ask(seen.function, seen.name, found, arguments, keywords)
    except TypeError:
        if seen.name.startswith("torch.Tensor.__") and len(arguments) == 2:
            return NotImplemented  # the other operand may know
        raise


def _iterated(found: list[Any], tensor: Tensor, below: Below) -> Any:
    """An iterator over the rows that ``unbind`` gives, which is what is asked for."""
    if not tensor._array.ndim:
        return below((tensor,), {})
    return iter(ask(Tensor.unbind, "torch.Tensor.unbind", found, (tensor, 0), {}))


LAYER = Overriding()
