"""How entries are written that no definition gives: a ``row`` for each call of a public function.

Every family's module adds its rows to ``ENTRIES`` when it is imported, by ``operator_table.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from operator_entry import Entry, Input

ENTRIES: list[Entry] = []


def normal(*shape: int) -> Input:
    """An input without restrictions."""
    return Input(shape)


def positive(*shape: int) -> Input:
    """An input of positive numbers."""
    return Input(shape, ((0.2, 3.0),))


def condition(*shape: int) -> Input:
    """An input of truth values."""
    return Input(shape, fixed="bool")


def row(
    name: str,
    call: Callable[..., Any],
    inputs: Input | tuple[Input, ...],
    reference: Callable[..., Any],
    *,
    case: str = "",
    covers: tuple[str, ...] = (),
    **rest: Any,
) -> None:
    """Add an entry for the public function ``name``; ``case`` tells several apart."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    label = f"{name}-{case}" if case else name
    ENTRIES.append(Entry(label, call, inputs, reference, (name, *covers), **rest))


def same_function(name: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
    """The public function ``name`` with these arguments after the tensors."""
    return lambda t, *tensors: getattr(t, name)(*tensors, *arguments, **options)


def on_list(name: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
    """The public function ``name`` given all tensors as one list."""
    return lambda t, *tensors: getattr(t, name)(list(tensors), *arguments, **options)


def method(name: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
    """The method ``name`` of the first tensor, given the others and these arguments."""
    return lambda t, x, *tensors: getattr(x, name)(*tensors, *arguments, **options)


def with_positions(best: Callable[..., Any], position: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that returns values and indices along dimension 1."""
    return lambda x: (best(x, axis=1), position(x, axis=1))


def changed(change: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that changes a copy of its first array."""

    def reference(x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        copy = x.copy()
        change(copy, *rest)
        return copy

    return reference


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax along dimension 1."""
    return np.exp(x) / np.exp(x).sum(1, keepdims=True)
