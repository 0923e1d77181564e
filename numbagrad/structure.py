"""Nested arguments and results as a list of leaves and the structure around them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .size import Size
from .tensor import Tensor

#: Stands for a leaf in a structure.
LEAF = "*"
#: By class that a program registered (``utils/_pytree.py``), how its instances are taken apart and
#: made; ``torch.func`` looks into these as well.
REGISTERED: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}


@dataclasses.dataclass(frozen=True)
class Registered:
    """The head of the structure of an instance of a registered class."""

    kind: type
    context: Any = dataclasses.field(hash=False)

    @property
    def __name__(self) -> str:
        return self.kind.__name__


def flatten(value: Any) -> tuple[list[Any], Any]:
    """The leaves of nested tuples, lists, dicts and dataclasses, and a hashable structure."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def flatten_registered(
    value: Any, is_node: Callable[[type], bool] = REGISTERED.__contains__
) -> tuple[list[Any], Any]:
    """As ``flatten``, which looks into instances of registered classes as well."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves, is_node if REGISTERED else None)


def _flatten(value: Any, leaves: list[Any], is_node: Callable[[type], bool] | None = None) -> Any:
    kind = value.__class__
    if kind is Tensor:
        leaves.append(value)
        return LEAF
    if kind is tuple or kind is list:
        structure: list[Any] = [kind]
        for each in value:
            if each.__class__ is Tensor:  # written out: most leaves are
                leaves.append(each)
                structure.append(LEAF)
            else:
                structure.append(_flatten(each, leaves, is_node))
        return tuple(structure)
    if kind is dict or kind is OrderedDict:
        return (kind, tuple(value), *[_flatten(each, leaves, is_node) for each in value.values()])
    if is_node is not None and kind in REGISTERED:
        if not is_node(kind):
            leaves.append(value)
            return LEAF
        children, context = REGISTERED[kind][0](value)
        return (Registered(kind, context), *[_flatten(each, leaves, is_node) for each in children])
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return (kind, *[_flatten(each, leaves, is_node) for each in value])
    if kind is Size:
        return (kind, *value)
    if hasattr(kind, "__dataclass_fields__") and kind.__new__ is object.__new__:
        names = _attributes(value)
        return (kind, names, *[_flatten(getattr(value, name), leaves, is_node) for name in names])
    leaves.append(value)
    return LEAF


def _attributes(value: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass, and of what was set on the object beside them."""
    names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
    return tuple(dict.fromkeys([*names, *getattr(value, "__dict__", ())]))


def containers_in(value: Any) -> Iterator[Any]:
    """The lists, dicts and dataclasses that ``flatten`` looks into: what can be written."""
    if isinstance(value, (tuple, list)):
        entries: Iterable[Any] = value
    elif value.__class__ is dict or value.__class__ is OrderedDict:
        entries = value.values()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        entries = [getattr(value, name) for name in _attributes(value)]
    else:
        return
    if not isinstance(value, tuple):
        yield value
    for each in entries:
        yield from containers_in(each)


def rebuild(structure: Any, leaves: Iterator[Any]) -> Any:
    """The nested value of a structure, with these leaves."""
    if structure == LEAF:
        return next(leaves)
    kind: Any
    if structure[0] is tuple and structure.count(LEAF) == len(structure) - 1:
        return tuple(itertools.islice(leaves, len(structure) - 1))  # as most arguments are
    kind, *rest = structure
    if kind is tuple or kind is list:
        return kind([next(leaves) if each == LEAF else rebuild(each, leaves) for each in rest])
    if kind.__class__ is Registered:
        make = REGISTERED[kind.kind][1]
        return make([rebuild(each, leaves) for each in rest], kind.context)
    if kind is dict or kind is OrderedDict or dataclasses.is_dataclass(kind):
        names, *rest = rest
        values = [rebuild(each, leaves) for each in rest]
        if kind is dict or kind is OrderedDict:
            return kind(zip(names, values, strict=True))
        made: Any = object.__new__(kind)  # type: ignore[arg-type]  # neither its __init__ nor its __post_init__ runs again
        for name, value in zip(names, values, strict=True):
            object.__setattr__(made, name, value)
        return made
    if kind is Size:
        return kind(rest)
    return kind(*[rebuild(each, leaves) for each in rest])


class _Picker:
    """The lines of a function that takes a value of one structure apart."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []

    def leaves_of(self, structure: Any, value: str) -> list[str]:
        """The leaves of ``value``, an expression, as items of a tuple."""
        if structure == LEAF:
            return [value]
        kind, *rest = structure
        name, constant = f"value{len(self.lines)}", f"constant{len(self.lines)}"
        self.lines.append(f"{name} = {value}")
        if kind is tuple or kind is list:
            count = len(rest)
            test = f"{name}.__class__ is not {kind.__name__} or len({name}) != {count}"
        elif kind is dict or kind is OrderedDict:
            self.names[constant] = rest.pop(0)
            self.names[f"kind_{constant}"] = kind
            test = f"{name}.__class__ is not kind_{constant} or tuple({name}) != {constant}"
        else:
            raise NotImplementedError(kind)
        self.lines.append(f"if {test}: return None")
        if kind is dict or kind is OrderedDict:
            self.lines.append(f"{name} = tuple({name}.values())")
        if rest.count(LEAF) == len(rest):
            return [f"*{name}"] if rest else []
        return [x for k, each in enumerate(rest) for x in self.leaves_of(each, f"{name}[{k}]")]


@functools.lru_cache(maxsize=256)
def picker(structure: Any) -> Callable[[Any], tuple[Any, ...] | None] | None:
    """A quick function of values of a structure that returns their leaves.

    It returns None for values that are nested in another way, but does not look whether a leaf is
    one. None itself for structures of more than tuples, lists and dictionaries.
    """
    made = _Picker()
    try:
        leaves = made.leaves_of(structure, "value")
    except NotImplementedError:
        return None
    items = "".join([f"{leaf}, " for leaf in leaves])
    lines = ["def pick(value):", *made.lines, f"return ({items})"]
    exec("\n    ".join(lines), made.names)
    found: Callable[[Any], tuple[Any, ...] | None] = made.names["pick"]
    return found


__all__ = [
    "LEAF", "REGISTERED", "Registered", "containers_in", "flatten", "flatten_registered", "picker",
    "rebuild",
]  # fmt: skip
