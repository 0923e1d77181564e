"""Nested arguments and results as a list of leaves and the structure around them."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

#: Stands for a leaf in a structure.
LEAF = "*"


def flatten(value: Any) -> tuple[list[Any], Any]:
    """The leaves of nested tuples, lists, dicts and dataclasses, and a hashable structure."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Any:
    kind = value.__class__
    if kind is tuple or kind is list:
        return (kind, *[_flatten(each, leaves) for each in value])
    if kind is dict or kind is OrderedDict:
        return (kind, tuple(value), *[_flatten(each, leaves) for each in value.values()])
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return (kind, *[_flatten(each, leaves) for each in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple([field.name for field in dataclasses.fields(value)])
        return (kind, names, *[_flatten(getattr(value, name), leaves) for name in names])
    leaves.append(value)
    return LEAF


def rebuild(structure: Any, leaves: Iterator[Any]) -> Any:
    """The nested value of a structure, with these leaves."""
    if structure == LEAF:
        return next(leaves)
    kind, *rest = structure
    if kind is tuple or kind is list:
        return kind([rebuild(each, leaves) for each in rest])
    if kind is dict or kind is OrderedDict or dataclasses.is_dataclass(kind):
        names, *rest = rest
        values = [rebuild(each, leaves) for each in rest]
        if dataclasses.is_dataclass(kind):
            return kind(**dict(zip(names, values, strict=True)))
        return kind(zip(names, values, strict=True))
    return kind(*[rebuild(each, leaves) for each in rest])


__all__ = ["flatten", "rebuild"]
