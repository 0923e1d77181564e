"""``allow_mutation_on_saved_tensors``: what is saved is copied before it is written in place.

Within the context nodes keep handles instead of tensors; whatever writes a tensor says so before
(``watching.before_write``), and the tensors of that memory which a handle stands for are cloned.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ..grad_mode import state as grad_mode
from ..hooks import watching
from ..hooks.saved_hooks import pop_hooks, push_hooks

__all__ = ["allow_mutation_on_saved_tensors"]

_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the "
    "graph was originally recorded."
)


class _Handle:
    """Stands for a saved tensor in the nodes that save it."""

    __slots__ = ("__weakref__",)


class MutationContext:
    """The saved tensors that one context knows; empty again once the context was left.

    Attributes:
        original: by handle: the saved tensor, as long as it was not written.
        cloned: by handle: the copy made before it was written.
        tid_to_weakhandle: by tensor and version: the handle, as long as a node has it.
        sid_to_tid: by memory: the tensors saved of it.
    """

    def __init__(self) -> None:
        self.cloned: Any = WeakKeyDictionary()
        self.original: Any = WeakKeyDictionary()
        self.tid_to_weakhandle: Any = WeakValueDictionary()
        self.sid_to_tid: Any = defaultdict(set)

    def clear(self) -> None:
        """Forget everything."""
        for table in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            table.clear()

    def pack(self, tensor: Any) -> _Handle:
        """The handle of a tensor that is saved."""
        key = (id(tensor), tensor._array.ctypes.data, tensor._version)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = _Handle()
            self.original[handle] = tensor
        self.sid_to_tid[_memory_of(tensor)].add(key)
        return handle

    def unpack(self, handle: _Handle) -> Any:
        """The tensor as it was saved."""
        if handle in self.cloned:
            return self.cloned[handle]
        if _active is not self or handle not in self.original:
            raise AssertionError(_OUTSIDE)
        return self.original[handle]

    def before_write(self, tensor: Any) -> None:
        """Clone what is saved of the memory of a tensor."""
        for key in self.sid_to_tid.get(_memory_of(tensor), ()):
            handle = self.tid_to_weakhandle.get(key)
            if handle is not None and handle in self.original:
                recording = grad_mode.enabled
                grad_mode.enabled = False
                try:
                    self.cloned[handle] = self.original.pop(handle).clone()
                finally:
                    grad_mode.enabled = recording


_active: MutationContext | None = None


def _memory_of(tensor: Any) -> int:
    array = tensor._array
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array)


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[MutationContext]:
    """Let tensors that nodes saved be written in place: a backward uses the values of before.

    Forward and backward both have to run in the block. A tensor is copied when it is written while
    a node has saved it.

    Returns:
        The state of the context, for debugging.

    Raises:
        RuntimeError: if contexts are nested.
    """
    global _active
    if _active is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = MutationContext()
    push_hooks(context.pack, context.unpack)
    _active = context
    watching.write_watchers.append(context.before_write)
    try:
        yield context
    finally:
        watching.write_watchers.remove(context.before_write)
        _active = None
        pop_hooks()
        context.clear()
