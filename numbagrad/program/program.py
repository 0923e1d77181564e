"""A program ready to run: launches over planned memory, cut where Python has to act.

``Program`` takes the operations of a trace (after fusion), lowers them, has ``planning.py`` lay
what they make into memory by the time it is needed, and runs them: native parts in one call each.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..codegen.record import WORD_BYTES, row_of, write_list
from ..executor.builtin import launcher_address, make_launcher, runtime
from ..executor.cache import library
from ..executor.capture import Outdated
from ..executor.families.indexing import view_at
from ..executor.memory.buffers import maker_like
from ..executor.plan.launch import Launch
from ..executor.plan.lowering import lower
from ..executor.plan.operations import Array, Call, Check, Operation, is_check
from ..executor.plan.sharing import extent
from ..executor.plan.views import Memory, Number, View, mapped
from ..executor.threads.forking import let_go, new_lock, restore
from ..kernels.launches.program_layout import Launch as LaunchRow
from ..kernels.launches.program_layout import MayFail, Patch, ProgramTable
from ..kernels.pointwise.source import loaded_as
from ..number_range import wrapped_number
from . import bundles, row_stages, timing  # noqa: F401 - they say how their operations are lowered
from .planning import ALIGNMENT, Touch, plan
from .traced_values import root_of

#: Work (elements) from which on a program lets go of the GIL.
_LONG = 1 << 16


@dataclasses.dataclass
class _Native:
    """Launches that follow one another without Python."""

    launches: list[Launch]
    first: int  # the moment of its first launch
    run: Callable[..., None] | None = None
    slots: tuple[int, ...] = ()
    native: NativeRun | None = None
    #: The table, and the same if a launch may fail.
    table: ProgramTable | None = None
    watched: ProgramTable | None = None
    keep: tuple[Any, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a launch noted that it failed."""
        return self.watched is not None and self.watched.failed != 0


class NativeRun(NamedTuple):
    """How compiled code runs a program that has no parts in Python.

    Attributes:
        address: of the launcher, or 0 if there is nothing to run.
        table: what it runs.
        slots: what the launcher is called with, as numbers of the arrays given, then the results.
    """

    address: int
    table: ProgramTable | None
    slots: tuple[int, ...]

    @property
    def owner(self) -> Array | None:
        """The array that is the self of the launcher."""
        return None if self.table is None else self.table.words


@dataclasses.dataclass
class _Python:
    """A call of a Python function, and where its arrays come from and go to."""

    call: Call
    at: int


class Program:
    """Operations over given memory, made ready to run any number of times.

    Args:
        operations: what to do, in order.
        given: memory from outside, by the views of it that :meth:`run` is given arrays for.
        results: memory that the caller keeps: made anew by each run and returned by it.
        sources: functions that yield the numbers of each run, in the order of their index.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        given: Sequence[View],
        results: Sequence[Memory],
        sources: Sequence[Callable[[], tuple[float, ...]]] = (),
    ):
        self.operations = tuple(operations)
        self.given = tuple(given)
        self.results = tuple(results)
        self._makers = [(maker_like(memory.array), memory.array) for memory in results]
        self.sources = tuple(sources)
        #: The numbers of the last run.
        self.drawn: Sequence[float] = ()
        self._lock = new_lock(self)
        # Slots of arrays that are known only when the program runs.
        self._slot: dict[Memory, int] = {}
        self._start = [view.offset for view in given] + [0] * len(results)
        for memory in (*[view.memory for view in given], *results):
            self._slot[memory] = len(self._slot)
        self._parts: list[_Native | _Python] = []
        self._number_cells: list[tuple[int, Any]] = []
        self._number_positions: dict[tuple[Any, str], int] = {}
        self.launches: list[Launch] = []
        #: The operation of every moment: of each launch and each call of Python, in order.
        self.moments: list[Operation] = []
        self._lay_out()

    # --- making -----------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Lower the operations, place what they make, and write the tables of the launches."""
        self._cut()
        blocks = self.lifetimes()
        if not all([block.made for block in blocks]):
            raise ValueError("a program reads memory that it is not given")
        self.positions, self.arena_bytes = plan(blocks, self._hosts())
        self._arena = np.zeros(self.arena_bytes + ALIGNMENT, dtype=np.uint8)
        self._base = -(-self._arena.ctypes.data // ALIGNMENT) * ALIGNMENT
        self._assemble()

    def _cut(self) -> None:
        """Lower the operations, and cut them where Python has to act."""
        lowered = iter(library.together(
            [functools.partial(lower, x) for x in self.operations if not isinstance(x, Call)]
        ))  # fmt: skip
        for operation in self.operations:
            if isinstance(operation, Call):
                self._parts.append(_Python(operation, len(self.moments)))
                self.moments.append(operation)
                for view in operation.outputs:
                    if view.memory not in self._slot:
                        self._slot[view.memory] = len(self._slot)
                        self._start.append(0)
                continue
            launches = next(lowered)
            if not self._parts or isinstance(self._parts[-1], _Python):
                self._parts.append(_Native([], len(self.moments)))
            part = self._parts[-1]
            assert isinstance(part, _Native)
            part.launches += launches
            self.launches += launches
            self.moments += [operation] * len(launches)

    def lifetimes(self) -> dict[Memory, tuple[int, int]]:
        """For every block that is neither given nor a result, the first and the last moment."""
        return {block: span for block, span in self._spans().items() if block not in self._slot}

    def _spans(self) -> dict[Memory, tuple[int, int]]:
        """For all memory the first and the last moment that needs it."""
        spans: dict[Memory, tuple[int, int]] = {}

        def needed(block: Memory, at: int) -> None:
            first, last = spans.get(block, (at, at))
            spans[block] = min(first, at), max(last, at)

        for part in self._parts:
            if isinstance(part, _Native):
                for at, launch in enumerate(part.launches, part.first):
                    for _, memory, _ in launch.addresses:
                        needed(memory, at)
            else:
                for view in (*part.call.reads, *part.call.written):
                    needed(view.memory, part.at)
        return spans

    def _hosts(self) -> dict[Memory, list[Touch]]:
        """Results whose memory is there before it is needed: which bytes, from which moment on."""
        python = {view.memory for call in self.operations if isinstance(call, Call)
                  for view in call.outputs}  # fmt: skip
        hosts: dict[Memory, dict[tuple[int, int], int]] = {
            memory: {} for memory in self.results if memory not in python
        }
        for at, operation in enumerate(self.moments):
            for view in (*operation.reads, *operation.writes):
                if view.memory in hosts:
                    hosts[view.memory].setdefault(view.bytes, at)
        return {
            memory: [(low, high, at) for (low, high), at in touched.items()]
            for memory, touched in hosts.items()
            if touched
        }

    def _assemble(self) -> None:
        """Write the tables of the native parts."""
        cells = [(number, dtype) for launch in self.launches for _, number, dtype in launch.numbers]
        self._numbers = np.zeros(max(len(cells), 1), dtype=np.int64)
        for number, dtype in cells:
            if (number, dtype) in self._number_positions:
                continue
            position = self._number_positions[number, dtype] = len(self._number_positions)
            cell = self._numbers[position : position + 1].view(_stored(dtype))[:1]
            if isinstance(number, Number):
                fast: Any = memoryview(cell.data) if cell.dtype.kind == "f" else cell
                self._number_cells.append((number.index, fast))
            else:  # an int that the dtype does not hold loses its upper bits, as everywhere
                wraps = cell.dtype.kind in "iu" and type(number) is int
                cell[0] = wrapped_number(number, cell.dtype) if wraps else number
        for part in self._parts:
            if isinstance(part, _Native):
                self._assemble_part(part)

    def _found_at(self, memory: Memory, offset: int) -> tuple[int | None, int]:
        """The slot of the array that holds a byte of a block, and its place there.

        The slot of the arena is None.
        """
        slot = self._slot.get(memory)
        if slot is not None:
            return slot, offset - self._start[slot]
        position = self.positions[memory]
        return None if position.host is None else self._slot[
            position.host
        ], position.offset + offset

    def _assemble_part(self, part: _Native) -> None:
        total = sum(launch.args.size for launch in part.launches)
        packed = np.zeros(total, dtype=np.int64)
        table = ProgramTable()
        launches: list[tuple[int, ...]] = []
        patches: list[tuple[int, ...]] = []
        slots: dict[int, int] = {}
        start = 0
        for k, launch in enumerate(part.launches):
            own = packed[start : start + launch.args.size]
            start += launch.args.size
            own[:] = launch.args
            for word, memory, offset in launch.addresses:
                slot, offset = self._found_at(memory, offset)
                if slot is None:
                    own[word] = self._base + offset
                else:
                    argument = slots.setdefault(slot, len(slots))
                    target = own.ctypes.data + 8 * word
                    patches.append(row_of(Patch, target=target, argument=argument, offset=offset))
            for word, number, dtype in launch.numbers:
                position = self._number_positions[number, dtype]
                own[word] = self._numbers.ctypes.data + 8 * position
            if launch.fallible:
                note = MayFail(own)
                note.failed = table.address + WORD_BYTES * ProgramTable.failed.position
                note.failure = k + 1
                part.watched = table
            kernel, total, grain = launch.kernel, launch.total, launch.grain
            at = own.ctypes.data
            launches.append(
                row_of(LaunchRow, kernel=kernel, arguments=at, total=total, grain=grain)
            )
        table.runtime = runtime().address
        entries = write_list(table.launches, launches), write_list(table.patches, patches)
        table.long = sum(launch.work for launch in part.launches) > _LONG
        address = launcher_address("run_program", "program")
        part.run = make_launcher("run_program", table, "run_program", "program")
        part.slots = tuple(slots)
        part.table = table
        part.native = NativeRun(address, table, part.slots)
        part.keep = (packed, entries)
        if any([launch.changing for launch in part.launches]):
            restore(self, packed)

    # --- running ----------------------------------------------------------------------------------

    @property
    def native(self) -> NativeRun | None:
        """How compiled code runs it, between :meth:`prepare` and :meth:`check_launches`.

        None if there is Python among its parts, other than checks before all else.
        """
        parts = self._parts[len(self.checks) :]
        if not parts:
            return NativeRun(0, None, ())
        if len(parts) > 1 or isinstance(parts[0], _Python):
            return None
        return parts[0].native

    @functools.cached_property
    def first_checks(self) -> int:
        """The number of checks that it begins with: if one of them fails nothing was written."""
        return len([*itertools.takewhile(is_check, self.operations)])

    @functools.cached_property
    def checks(self) -> tuple[Call, ...]:
        """The first checks, as far as they are in Python."""
        found = itertools.takewhile(
            lambda part: isinstance(part, _Python) and part.call.check, self._parts
        )
        return tuple([part.call for part in found if isinstance(part, _Python)])

    def prepare(self, given: Sequence[Array]) -> None:
        """Prepare a native run: the numbers, and checks of the arrays given."""
        self.draw_numbers()
        for call in self.checks:
            call.function(*self._arrays_for(call.arguments, given))

    def check_launches(self, arrays: Callable[[], Sequence[Array]]) -> None:
        """Raise if a launch of a native run failed; ``arrays`` returns those given and made."""
        part = self._parts[-1] if self._parts else None
        if isinstance(part, _Native) and part.failed:
            self._raise(part, arrays())

    def draw_numbers(self, numbers: Sequence[float] | None = None) -> None:
        """Write the numbers of a run, those of the sources or the given ones.

        Raises:
            Outdated: if the program does not hold for the state of a source; that of the others is
                as it was.
        """
        if numbers is None:
            try:
                numbers = [x for source in self.sources for x in source()]
            except Outdated as problem:
                self.undo_sources(problem.source)
                raise
        self.drawn = numbers
        for index, cell in self._number_cells:
            cell[0] = numbers[index]

    def run(
        self,
        given: Sequence[Array],
        reused: dict[int, Array] | None = None,
        numbers: Sequence[float] | None = None,
    ) -> list[Array]:
        """Run on arrays that lie as the views in ``given`` did; returns arrays for ``results``.

        Results are new at each run but for those in ``reused``, which are written instead. The
        numbers come from the sources, or from ``numbers``.
        """
        if reused:
            made = [
                reused[k] if k in reused else new(array)
                for k, (new, array) in enumerate(self._makers)
            ]
        else:
            made = [new(array) for new, array in self._makers]
        lock = self._lock
        if lock._is_owned():
            raise RuntimeError("a compiled program was called by a Python function inside of it")
        try:
            with lock:
                return self._run(given, made, numbers)
        except BaseException:
            let_go(lock)  # or the next thread would wait for ever
            raise

    def _run(
        self, given: Sequence[Array], made: list[Array], numbers: Sequence[float] | None
    ) -> list[Array]:
        """``run``, in the one thread that does."""
        self.draw_numbers(numbers)
        arrays: list[Any] = [*given, *made]
        watch = timing.active
        if watch is not None:
            watch.start(self)
        if len(self._parts) == 1 and isinstance(self._parts[0], _Native):
            part = self._parts[0]
            part.run(*[arrays[slot] for slot in part.slots])  # type: ignore[misc]
            if part.failed:
                self._raise(part, arrays)
        else:
            arrays += [None] * (len(self._slot) - len(arrays))
            for each in self._parts:
                if isinstance(each, _Native):
                    each.run(*[arrays[slot] for slot in each.slots])  # type: ignore[misc]
                    if each.failed:
                        self._raise(each, arrays)
                    continue
                if watch is None:
                    self._call(each.call, arrays)
                else:
                    watch.call(each.call, self._call, arrays)
            made = arrays[len(given) : len(given) + len(made)]
        if watch is not None:
            watch.stop(self)
        return made

    def undo_sources(self, until: Any = None) -> None:
        """Take back what the last calls of the sources wrote, of those before that of a state."""
        for source in self.sources:
            state = getattr(source, "state", None)
            if state is not None and state is until:
                break
            if state is not None:
                state.undo()

    def natives(self) -> list[tuple[ProgramTable, list[Operation]]]:
        """The table of every part without Python, and the operation of each launch."""
        return [
            (part.table, self.moments[part.first : part.first + len(part.launches)])
            for part in self._parts
            if isinstance(part, _Native) and part.table is not None
        ]

    def _raise(self, part: _Native, arrays: Sequence[Any]) -> None:
        """Raise for the launch of a part that failed; those after it did not run."""
        assert part.watched is not None
        failed = part.watched.failed
        part.watched.failed = 0
        operation = self.moments[part.first + failed - 1]
        if isinstance(operation, Check):
            operation.explain(*self._arrays_for(operation.arguments, arrays))
        raise RuntimeError(
            f"kernel {operation.name} raised an exception inside a compiled "
            "program; call the function without compile() to see which, and where"
        )

    def _call(self, call: Call, arrays: list[Any]) -> None:
        """Call a Python function, and keep the arrays it makes."""
        given = self._arrays_for(call.arguments, arrays)
        if call.exchanges:
            self._exchange(call, given)
            return
        made = call.function(*given)
        outputs = made if isinstance(made, (tuple, list)) else (made,)
        for view, array in zip(call.outputs, outputs, strict=False):
            if array.shape != view.shape:
                raise RuntimeError(
                    f"{call.name} made an array of shape {array.shape} where the compiled program "
                    f"expects {view.shape}: its shape depends on values"
                )
            slot = self._slot[view.memory]
            root = root_of(array)
            own = not any([root is each for each in arrays])  # it may return what it was given
            if own and _lies_as(array, root, view):
                arrays[slot] = root
            else:  # into memory as it was when captured; outputs may share a block
                if arrays[slot] is None:
                    arrays[slot] = np.empty_like(view.memory.array)
                as_view(arrays[slot], view)[...] = array

    #: The error of an exchange with other processes in the last run, until somebody has seen it.
    exchange_error: BaseException | None = None

    def _exchange(self, call: Call, given: Sequence[Any]) -> None:
        """Take part in an exchange with other processes, which writes the first array given."""
        try:
            call.function(*given)
        except Exception as problem:
            self.exchange_error = problem
            raise

    def _arrays_for(self, arguments: Any, arrays: Sequence[Any]) -> Any:
        """Arguments with arrays in the places of views."""

        def array_of(argument: Any) -> Any:
            if not isinstance(argument, View):
                return argument
            slot, offset = self._found_at(argument.memory, argument.offset)
            if slot is None:
                offset += self._base - self._arena.ctypes.data
                return np.ndarray(
                    argument.shape, argument.dtype, self._arena, offset, argument.strides
                )
            return as_view(arrays[slot], argument, argument.offset - offset)

        return mapped(arguments, array_of)


def _stored(dtype: str) -> np.dtype[Any]:
    """The dtype a Python number is written in."""
    return np.dtype(loaded_as(dtype))


def _lies_as(array: Array, root: Array, view: View) -> bool:
    """Whether an array lies in the memory of ``root`` as a view does in its own."""
    return bool(
        root.shape == view.memory.array.shape
        and root.strides == view.memory.array.strides
        and root.dtype == view.memory.array.dtype
        and array.strides == view.strides
        and array.ctypes.data - extent(root)[0] == view.offset
    )


def as_view(array: Array, view: View, start: int = 0) -> Array:
    """``view`` of memory, of which ``array`` begins at byte ``start``."""
    same = array.shape == view.shape and array.strides == view.strides
    if same and array.dtype == view.dtype and view.offset == start:
        return array
    return view_at(array, view.shape, view.strides, view.offset - start, view.dtype)


__all__ = ["Program", "as_view"]
