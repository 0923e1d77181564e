"""Every public function, method and property that a class or a mode may override."""

from __future__ import annotations

import functools
import inspect
from typing import Any, NamedTuple

import numbagrad

from ..ops.methods import on_demand
from ..tensor import Tensor
from .asking import is_public_member

__all__ = ["Public", "positions"]

#: Functions of these names say something of a class or of the library.
_NOT_OPERATORS = frozenset(
    ("is_tensor", "kernel", "set_default_tensor_type", "typename", "get_rng_state", "set_rng_state")
)
#: Where functions come from that are operators.
_HOMES = (
    "numbagrad.ops", "numbagrad.nn.functional", "numbagrad.linalg", "numbagrad.fft",
    "numbagrad.special",
)  # fmt: skip


class Public(NamedTuple):
    """A place where a program finds something that can be overridden."""

    owner: Any
    name: str
    value: Any


@functools.cache
def positions() -> tuple[Public, ...]:
    """Every public place, with its function or property; imports the files imported on demand."""
    on_demand.load_all()
    for name in on_demand.homes():
        getattr(numbagrad, name)
    of_a_kind = (numbagrad.linalg, numbagrad.fft, numbagrad.special)
    for module in of_a_kind:
        for name in dir(module):
            getattr(module, name)
    found = [
        Public(Tensor, name, value)
        for name, value in vars(Tensor).items()
        if is_public_member(name, value)
    ]
    for module in (numbagrad, numbagrad.nn.functional, *of_a_kind):
        for name, value in vars(module).items():
            if _is_operator(name, value):
                found.append(Public(module, name, value))
    return tuple(found)


def _is_operator(name: str, value: Any) -> bool:
    if not inspect.isfunction(value) or name.startswith("_") or name in _NOT_OPERATORS:
        return False
    return value.__module__ == "numbagrad" or value.__module__.startswith(_HOMES)
