"""``torch._six``: names for Python 2 and 3, which programs of before 2023 import."""

from __future__ import annotations

import builtins
import collections.abc as container_abcs
import queue
from math import inf, nan
from typing import Any

__all__ = ["container_abcs", "get_function_from_type", "inf", "int_classes", "istuple",
           "iteritems", "nan", "queue", "string_classes", "with_metaclass"]  # fmt: skip

string_classes: Any = (str, bytes)
int_classes: Any = int
FileNotFoundError = builtins.FileNotFoundError
PY2, PY3, PY37 = False, True, True


def istuple(obj: Any) -> bool:
    """Whether something is a tuple."""
    return isinstance(obj, tuple)


def iteritems(mapping: Any) -> Any:
    """The items of a mapping."""
    return mapping.items()


def get_function_from_type(cls: type, name: str) -> Any:
    """The attribute of a class, or None."""
    return getattr(cls, name, None)


def with_metaclass(meta: type, *bases: type) -> Any:
    """A base class with a metaclass."""
    return meta("temporary_class", bases, {})
