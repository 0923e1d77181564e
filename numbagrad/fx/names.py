"""Names in generated code: of variables, unique in a graph, and torch's of public functions."""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numbagrad

from ..dispatch import public_names
from ..program_checks import _assert

__all__ = ["Namespace", "public_name", "snake_case"]

#: Names of generated code's globals.
RESERVED = frozenset({"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"})


def snake_case(name: str) -> str:
    """``CamelCase`` and ``camelCase`` as ``camel_case``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@functools.cache
def _public() -> dict[Callable[..., Any], str]:
    public_names.positions()  # imports what is imported on demand
    places = (("torch", numbagrad), ("torch.nn.functional", numbagrad.nn.functional),
              ("torch.linalg", numbagrad.linalg), ("torch.special", numbagrad.special),
              ("torch.fft", numbagrad.fft))  # fmt: skip
    found: dict[Callable[..., Any], str] = {_assert: "torch._assert"}
    for path, module in places:
        for name, value in list(vars(module).items()):
            if callable(value) and not name.startswith("_") and not isinstance(value, type):
                found.setdefault(value, f"{path}.{name}")
    return found


def public_name(function: Callable[..., Any]) -> str | None:
    """``torch.add`` for that function; None for what is not public in torch."""
    try:
        return _public().get(function)
    except TypeError:  # what has no hash
        return None


class Namespace:
    """The names of a graph, or of the globals of its code, each of which is given once."""

    def __init__(self) -> None:
        self._of_objects: dict[int, str] = {}
        self._used: set[str] = set()
        self._counts: Counter[str] = Counter()

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name that nobody has, near the candidate; of an object that has one, that."""
        if obj is not None and id(obj) in self._of_objects:
            return self._of_objects[id(obj)]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.match(r"(.*)_(\d+)$", candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, 0)
        number = number or self._counts[base]
        while candidate in self._used or self._is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._counts[base] = number
        self._used.add(candidate)
        if obj is not None:
            self._of_objects[id(obj)] = candidate
        return candidate

    def _is_taken(self, name: str, obj: Any) -> bool:
        if keyword.iskeyword(name):
            return True
        if hasattr(builtins, name):
            return getattr(builtins, name) is not obj
        return name in RESERVED
