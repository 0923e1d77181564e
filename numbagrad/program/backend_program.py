"""Programs on the arrays of another backend than the CPU's: it runs the operations, this the rest.

``program_of`` makes the program of some operations; ``compiling`` calls it. A ``BackendProgram``
hands operations that follow one another without Python to ``Backend.prepare`` and calls what that
returns. Memory that is made inside is allocated at each run, in no arena.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import Backend
from ..executor.plan.forms import dense_of
from ..executor.plan.operations import Array, Call, Operation
from ..executor.plan.views import Memory, View
from . import timing
from .program import Program, _Python, as_view
from .traced_values import root_of


def _form(memory: Memory) -> tuple[Any, ...]:
    array = memory.array
    return tuple(dense_of(array))


def empty_like(memory: Memory) -> Array:
    """A new array that lies as a block did when it was captured, on the same device."""
    if memory.where is None:
        return np.empty_like(memory.array)
    return memory.where.allocate(*_form(memory))


class MixedDevicesError(RuntimeError):
    """Raised for operations on the memory of several devices."""


def backend_of_all(operations: Sequence[Operation]) -> Backend | None:
    """The backend of all memory that operations touch; None for the CPU.

    Raises:
        MixedDevicesError: if there are several.
    """
    memories = {view.memory for each in operations for view in (*each.reads, *each.writes)}
    found = {id(where): where for where in [x.where for x in memories if not x.is_scratch]}
    if len(found) > 1:
        raise MixedDevicesError("arrays of several devices")
    return next(iter(found.values()), None)


def program_of(
    operations: Sequence[Operation],
    given: Sequence[View],
    results: Sequence[Memory],
    sources: Sequence[Callable[[], tuple[float, ...]]] = (),
) -> Program:
    """The program of some operations, for the device that their memory is on."""
    where = backend_of_all(operations)
    if where is None:
        return Program(operations, given, results, sources)
    return BackendProgram(where, operations, given, results, sources)


@dataclasses.dataclass
class _Prepared:
    """Operations that follow one another without Python, as the backend runs them."""

    run: Callable[[dict[Memory, tuple[Array, int]], Sequence[float]], None]


class BackendProgram(Program):
    """A program whose memory is that of a backend."""

    def __init__(self, where: Backend, *arguments: Any):
        self.where = where
        #: How the blocks lie that are made inside, in the order of their slots.
        self._forms: dict[Memory, tuple[Any, ...]] = {}
        super().__init__(*arguments)

    def _lay_out(self) -> None:
        """Cut the operations where Python has to act, and let the backend prepare the parts."""
        self.positions, self.arena_bytes = {}, 0
        self._prepared: list[_Prepared | _Python] = []
        self._makers = [(self._maker(memory), memory.array) for memory in self.results]
        together: list[Operation] = []
        for at, operation in enumerate(self.operations):
            self.moments.append(operation)
            for view in operation.writes:
                self._note_block(view.memory)
            if isinstance(operation, Call):
                self._close(together)
                self._prepared.append(_Python(operation, at))
                self._parts.append(_Python(operation, at))
                together = []
            else:
                together.append(operation)
            for view in operation.reads:
                if view.memory not in self._slot:
                    raise ValueError("a program reads memory that it is not given")
        self._close(together)

    def _note_block(self, memory: Memory) -> None:
        """Give a block that is made inside a slot, and keep how it lies."""
        if memory not in self._slot:
            self._slot[memory] = len(self._slot)
            self._start.append(0)
            self._forms[memory] = _form(memory)

    def _close(self, operations: list[Operation]) -> None:
        if operations:
            self._prepared.append(_Prepared(self.where.prepare(tuple(operations))))

    def _maker(self, memory: Memory) -> Callable[[Any], Array]:
        form = _form(memory)
        return lambda like: self.where.allocate(*form)

    @property
    def native(self) -> None:
        """No launcher of the CPU runs it."""
        return None

    def natives(self) -> list[Any]:
        """No part of it has a table."""
        return []

    def _run(
        self, given: Sequence[Array], made: list[Array], numbers: Sequence[float] | None
    ) -> list[Array]:
        """``run``, in the one thread that does."""
        self.draw_numbers(numbers)
        arrays: list[Any] = [*given, *made]
        arrays += [
            self.where.allocate(*self._forms[memory]) for memory in list(self._slot)[len(arrays) :]
        ]
        watch = timing.active
        if watch is not None:
            watch.start(self)
        for part in self._prepared:
            if isinstance(part, _Python):
                self._call(part.call, arrays)
            else:
                part.run(
                    {memory: (arrays[k], self._start[k]) for memory, k in self._slot.items()},
                    self.drawn,
                )
        if watch is not None:
            watch.stop(self)
        return arrays[len(given) : len(given) + len(made)]

    def _call(self, call: Call, arrays: list[Any]) -> None:
        """Call a Python function, and copy what it makes to where the program has it."""
        made = call.function(*self._arrays_for(call.arguments, arrays))
        outputs = made if isinstance(made, (tuple, list)) else (made,)
        for view, array in zip(call.outputs, outputs, strict=False):
            if array.shape != view.shape:
                raise RuntimeError(
                    f"{call.name} made an array of shape {array.shape} where the compiled program "
                    f"expects {view.shape}: its shape depends on values"
                )
            slot = self._slot[view.memory]
            if root_of(array) is not arrays[slot]:
                self.where.copy(as_view(arrays[slot], view, self._start[slot]), array)


__all__ = ["BackendProgram", "MixedDevicesError", "backend_of_all", "empty_like", "program_of"]
