"""A program called with Tensors: one launcher that makes the arrays of its results and runs it.

``composite_pair.py`` uses it for its programs. The launcher is ``replay`` of ``native/replay.py``
with nothing to check and nothing to put back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...codegen.record import row_of, write_list
from ...executor.builtin import at_hand, make_launcher
from ...executor.plan.operations import Array, may_raise
from ...native.replay_layout import Passed, ReplayTable, Result
from ...program import timing
from ...program.program import Program
from ...tensor import Tensor
from .native_launchers import described_runtime


class ProgramCall:
    """``call(*tensors)`` of a program without Python: the arrays of its results, in a tuple.

    The tensors lie as the views that the program is given. Any thread may call; a program that is
    at work without the GIL is not entered again, another one of its kind runs instead.
    """

    __slots__ = ("program", "_checks", "_make", "_free", "_long", "_run")

    def __init__(self, program: Program):
        self.program = program
        self._make: Callable[[], Program] = lambda: Program(
            program.operations, program.given, program.results
        )
        first = _Native(program)
        self._run: Callable[..., tuple[Array, ...]] = first.run
        if not first.is_compiled:
            self._run = self._run_first
        self._long = first.long
        #: Whether it may raise.
        self._checks = any(map(may_raise, program.operations))
        #: Programs that nobody runs.
        self._free = [first]

    def __call__(self, *tensors: Tensor) -> tuple[Array, ...]:
        if not self._long and timing.active is None and not self._checks:  # it keeps the GIL
            return self._run(False, *tensors)
        native = self._take()
        try:
            return self._run_with(native, tensors)
        finally:
            self._free.append(native)

    def _run_first(self, recording: bool, *tensors: Tensor) -> tuple[Array, ...]:
        """Run a program of which the launcher is not there yet, and look whether it is by now."""
        native = self._take()
        try:
            made = native.run(recording, *tensors)
        finally:
            self._free.append(native)
        if native.is_compiled:
            self._run = native.run
        return made

    def _take(self) -> _Native:
        """A program that nobody else runs."""
        try:
            return self._free.pop()
        except IndexError:
            return _Native(self._make())

    def _run_with(self, native: _Native, tensors: tuple[Tensor, ...]) -> tuple[Array, ...]:
        if timing.active is not None:
            return tuple(native.program.run([x._array for x in tensors]))
        made = native.run(False, *tensors)
        if self._checks:
            native.program.check_launches(partial(_arrays, tensors, made))
        return made


def _arrays(tensors: Sequence[Tensor], made: Sequence[Array]) -> list[Array]:
    return [*[x._array for x in tensors], *made]


def is_long(program: Program) -> bool:
    """Whether a program lets go of the GIL while it runs."""
    native = program.native
    return native is not None and native.table is not None and native.table.long != 0


def describe(table: ReplayTable, program: Program, arguments: int) -> Any:
    """Have a table run a program, whose first arrays are those of the ``arguments``.

    Returns what has to be kept alive.

    Raises:
        ValueError: if the program has parts in Python.
    """
    native = program.native
    if native is None:
        raise ValueError("a program with parts in Python cannot be called natively")
    position_of = {slot: position for position, slot in enumerate(native.slots)}
    count = len(program.given)
    forms = [np.empty_like(memory.array) for memory in program.results]
    sizes = [np.array([*x.shape, *x.strides, 0], dtype=np.int64) for x in forms]
    results = [
        row_of(
            Result,
            kept=0,
            type=x.dtype.num,
            rank=x.ndim,
            sizes=form.ctypes.data,
            position=position_of.get(count + k, -1),
        )
        for k, (x, form) in enumerate(zip(forms, sizes, strict=True))
    ]
    passed = [
        row_of(Passed, argument=k, position=position_of[k])
        for k in range(arguments)
        if k in position_of
    ]
    table.runtime = described_runtime().address
    table.program = native.address
    table.program_table = id(native.owner)
    return (
        sizes,
        write_list(table.results, results),
        write_list(table.passed, passed),
        write_list(table.arrays, [0] * len(native.slots)),
    )


class _Native:
    """One program and its launcher; Python runs it while another process compiles that."""

    __slots__ = ("program", "run", "long", "is_compiled", "_kept", "_table")

    def __init__(self, program: Program):
        table = ReplayTable()
        self._kept: Any = describe(table, program, len(program.given))
        table.arguments.count = len(program.given)
        self.program = program
        self.long = is_long(program)
        self.is_compiled = False
        self._table = table
        self.run: Callable[..., tuple[Array, ...]] = self._run_in_python
        self._look()

    def _look(self, at_once: bool = False) -> None:
        """Use the launcher if it is there, or wanted ``at_once``."""
        if at_once or at_hand("replay", "replay"):
            self.run = make_launcher("composite", self._table, "replay", "replay")
            self.is_compiled = True

    def _run_in_python(self, recording: bool, *tensors: Tensor) -> tuple[Array, ...]:
        # The launcher has the error for tensors that were taken away from a node.
        self._look(at_once=len(tensors) != len(self.program.given))
        if self.is_compiled:
            return self.run(recording, *tensors)
        return tuple(self.program.run([x._array for x in tensors]))


__all__ = ["ProgramCall", "describe", "is_long"]
