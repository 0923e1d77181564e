"""The parts of functions, classes, cells and tensors that are read to see whether they changed.

``walk.py`` gives these functions to ``Watched``: each reads, in Python, what the words of
``native/object_offsets.py`` tell to compiled code.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable
from typing import Any

from ..native.object_offsets import PARTS_OF_FUNCTION, has_attributes, words_of_default
from ..ops.methods.on_demand import METHODS
from ..optim.optimizer import Optimizer
from ..program.compiled_guards import Words
from ..tensor import Tensor
from .classes import is_a, scope_of, without_asking
from .object_state import is_plain

#: A word that is never what it has to be: Python compares.
_NEVER = [(id(None), 0, 1)]

#: The flag of a class that is not built into Python or an extension, so that others may write it.
CAN_CHANGE = 1 << 9


def parts_of_function(function: types.FunctionType) -> list[Any]:
    attributes = vars(function) if has_attributes(function) else None
    return [*[getattr(function, name) for name in PARTS_OF_FUNCTION], attributes]


def parts_of_entry(entry: Any) -> list[Any]:
    """A value in a class, or the functions that a descriptor in it calls."""
    inner = without_asking(entry, "__func__")
    accessors = [without_asking(entry, name) for name in ("fget", "fset", "fdel")]
    found = [entry if inner is None else inner, *accessors]
    return [each for each in found if not is_plain(each)]


def attributes_of_class(kind: type) -> list[Any]:
    """All attributes that instances of a class find in it and in its bases.

    But for the property that stands before the state of optimizers while calls are captured.
    """
    found: list[Any] = []
    for each in kind.__mro__:
        scope = dict(scope_of(each))
        if each is Optimizer:
            scope.pop("state", None)
        found += [each, *scope.keys(), *scope.values()]
    return found


def head_of_object(value: Any) -> list[Any]:
    return [type(value), without_asking(value, "__dict__")]


def methods_of_tensor(names: list[str]) -> list[Any]:
    """Methods of Tensor; those that are defined when they are first used are as good as there."""
    return [name if name in _ON_DEMAND else vars(Tensor).get(name) for name in names]


_ON_DEMAND = frozenset([name for names in METHODS.values() for name in names.split()])


def seen_natively(value: Any) -> Any:
    """The words that compiled code compares in the place of a reader, if it can."""
    if type(value) is collections.defaultdict:
        return words_for(value, words_of_default)
    return value if is_a(value, set) else None


def bases_of_class(kind: type) -> list[Any]:
    return [kind.__bases__, kind.__name__, kind.__qualname__]


def words_for(value: Any, find: Callable[[Any], list[Any] | None]) -> Words | None:
    """The words that tell whether an object is what it was; None if there are none."""
    return Words(value, lambda: find(value) or _NEVER) if find(value) else None


def contents_of_cell(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not assigned yet
        return []


def contents_of_array(array: Any) -> list[Any]:
    """How an array of NumPy lies, whether it may be written, and its elements."""
    return [*array.shape, *array.strides, array.flags.num, array.dtype, array.tobytes()]


def entries_of(scope: Any) -> list[Any]:
    return [*scope.keys(), *scope.values()]


#: Entries of a tensor's dictionary that are no state of its own, or that captures look at.
_OWN = frozenset(("_accumulated", "_memory", "_view_origin", "_unrecorded_at", "_made_by"))


def extras_of(tensor: Tensor) -> list[Any]:
    """The hooks of a tensor and what users set on it: names, each followed by its value."""
    found = vars(tensor)
    if not found:
        return []
    return [part for key, value in found.items() if key not in _OWN for part in (key, value)]


__all__ = [
    "CAN_CHANGE", "attributes_of_class", "bases_of_class", "contents_of_array", "contents_of_cell",
    "entries_of", "extras_of", "head_of_object", "methods_of_tensor", "parts_of_entry",
    "parts_of_function",
    "seen_natively", "words_for",
]  # fmt: skip
