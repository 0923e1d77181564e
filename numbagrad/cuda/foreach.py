"""Formulas over many groups of arrays, in one launch: what an optimizer does to all parameters.

While a block of :func:`together` is open, formulas over arrays of one size and dtype are not
launched but kept, by the arrays that they have in common: those of a parameter are a chain. At its
end, or before anything else is launched or read, chains that do the same become one launch of the
composed formula (``kernels/foreach.py``). What a step computes is therefore defined by the
formulas of ``optim/update.py`` alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dtype import from_numpy as dtype_of
from ..executor.plan.operations import Operation, Pointwise
from ..executor.plan.views import Memory, Number, View
from ..formula import Formula, substitute, symbol
from . import launches
from .driver import driver
from .kernels import foreach as texts
from .kernels.pointwise import NUMBER, UNIT, Operand
from .launches import LaunchArgs, bits_of, blocks_for
from .pointwise import printed

#: A formula, for each of its inputs an array of the group or a number, and the array it writes.
Step = tuple[Formula, tuple[tuple[str, int], ...], int]


@dataclasses.dataclass
class _Chain:
    """Formulas over one group of arrays, in their order."""

    size: int
    dtype: Any
    device: int
    arrays: list[View] = dataclasses.field(default_factory=list)
    positions: dict[int, int] = dataclasses.field(default_factory=dict)
    steps: list[Step] = dataclasses.field(default_factory=list)
    numbers: list[Any] = dataclasses.field(default_factory=list)

    def position_of(self, view: View) -> int:
        """The number of an array in the group, which may be new in it."""
        address = _address(view)
        if address not in self.positions:
            self.positions[address] = len(self.arrays)
            self.arrays.append(view)
        return self.positions[address]

    def add(self, operation: Pointwise) -> None:
        """Note a formula."""
        slots = []
        for x in operation.operands:
            if isinstance(x, View):
                slots.append(("a", self.position_of(x)))
            else:
                slots.append(("n", len(self.numbers)))
                self.numbers.append(x)
        (output,) = operation.outputs
        self.steps.append((operation.formula, tuple(slots), self.position_of(output)))

    def join(self, other: _Chain) -> None:
        """Note the formulas of another chain, which has none of these arrays, behind its own."""
        behind = len(self.numbers)
        moved = {("a", k): ("a", self.position_of(x)) for k, x in enumerate(other.arrays)}
        moved |= {("n", k): ("n", behind + k) for k in range(len(other.numbers))}
        for formula, slots, output in other.steps:
            position = moved["a", output][1]
            self.steps.append((formula, tuple([moved[x] for x in slots]), position))
        self.numbers += other.numbers


def _address(view: View) -> int:
    return int(view.memory.address) + view.offset


class _Queue:
    """The chains that wait, and which bytes of blocks of memory they are about."""

    def __init__(self) -> None:
        self.chains: list[_Chain] = []
        self._of: dict[int, _Chain] = {}
        self._ranges: dict[int, set[tuple[int, int]]] = {}

    def take(self, operation: Pointwise) -> bool:
        """Keep a formula; False if what waits has to run before it can be kept."""
        views = _views(operation)
        size, dtype = views[-1].size, views[-1].dtype
        device = int(_block(views[-1]).device)
        found = {id(x): x for v in views if (x := self._of.get(_address(v))) is not None}
        alike = [(x.size, x.dtype, x.device) == (size, dtype, device) for x in found.values()]
        if not all(alike) or not all([self._is_apart(v) for v in views]):
            return False
        chain, *others = found.values() or [_Chain(size, dtype, device)]
        for other in others:
            chain.join(other)
            self._of |= dict.fromkeys(other.positions, chain)
        self.chains = [x for x in self.chains if id(x) not in found]
        self.chains.append(chain)
        chain.add(operation)
        for view in views:
            self._of[_address(view)] = chain
            self._ranges.setdefault(id(_block(view)), set()).add(_range(view))
        return True

    def _is_apart(self, view: View) -> bool:
        """Whether a view is one that waits already, or shares no byte with those."""
        start, end = own = _range(view)
        known = self._ranges.get(id(_block(view)), set())
        return own in known or all([end <= low or start >= high for low, high in known])


def _block(view: View) -> Any:
    """The block of device memory that a view lies in."""
    array: Any = view.memory.array
    return array.block


def _range(view: View) -> tuple[int, int]:
    return _address(view), _address(view) + view.size * view.dtype.itemsize


def _views(operation: Pointwise) -> list[View]:
    return [*[x for x in operation.operands if isinstance(x, View)], *operation.outputs]


class _State(threading.local):
    """The operations that wait in a thread; None outside of blocks."""

    queue: _Queue | None = None


_state = _State()


@contextlib.contextmanager
def together() -> Iterator[None]:
    """A block in which formulas wait for others; they have run when it ends, also by an error."""
    if _state.queue is not None:
        yield
        return
    _state.queue = _Queue()
    try:
        yield
    finally:
        try:
            flush()
        finally:
            _state.queue = None


def keeps(operation: Operation) -> bool:
    """Whether an operation waits from here on; else what waited has run, and it is to run now."""
    queue = _state.queue
    if queue is None:
        return False
    if not _is_simple(operation) or _is_given_numbers(operation):
        flush()
        return False
    assert isinstance(operation, Pointwise)
    if queue.take(operation):
        return True
    flush()
    assert _state.queue is not None
    return _state.queue.take(operation)


def _is_simple(operation: Operation) -> bool:
    """Whether it is a formula of one result over arrays of one size and real dtype, and numbers."""
    if not isinstance(operation, Pointwise) or len(operation.outputs) != 1:
        return False
    views = _views(operation)
    output = views[-1]
    return (
        operation.compute == dtype_of(output.dtype).name
        and operation.compute in ("float32", "float64")
        and not operation.formula.booleans
        and all([x in (None, operation.compute) for x in operation.numbers])
        and all([x.dtype == output.dtype and x.shape == output.shape for x in views])
        and all([x.contiguous for x in views])
        and output.size > 0
    )


def _is_given_numbers(operation: Operation) -> bool:
    """Whether it takes numbers that a program is given anew at each run."""
    assert isinstance(operation, Pointwise)
    return any([isinstance(x, Number) for x in operation.operands])


# --- in programs ----------------------------------------------------------------------------------


class Batch:
    """Formulas of a program that run together: those that do the same as one launch.

    Memory lies elsewhere at each run, but what shares memory with what does not change.
    """

    def __init__(self, chains: list[_Chain]):
        self._groups = list(_alike(chains).values())

    def __len__(self) -> int:
        return len(self._groups)

    def run(self, start_of: Callable[[Memory], int], numbers: Sequence[Any]) -> None:
        """Launch the formulas; ``start_of`` gives the address of a block of memory."""
        for chains in self._groups:
            _launch(chains, lambda view: start_of(view.memory) + view.offset, numbers)


def batches(operations: Sequence[Operation]) -> list[Batch | list[Operation]]:
    """Operations of a program in their order, formulas that may wait for one another in batches.

    Where that saves no launch they are left as they are.
    """
    parts: list[Batch | list[Operation]] = []
    waiting: list[Operation] = []
    queue = _Queue()

    def close() -> None:
        nonlocal queue, waiting
        batch = Batch(queue.chains)
        parts.append(batch if len(batch) < len(waiting) else waiting)
        queue, waiting = _Queue(), []

    for operation in operations:
        if not _is_simple(operation):
            close()
            parts.append([operation])
            continue
        assert isinstance(operation, Pointwise)
        if not queue.take(operation):
            close()
            taken = queue.take(operation)
            assert taken
        waiting.append(operation)
    close()
    return [x for x in parts if len(x)]


def _alike(chains: list[_Chain]) -> dict[Any, list[_Chain]]:
    """Chains by what they do."""
    alike: dict[Any, list[_Chain]] = {}
    for chain in chains:
        key = chain.dtype, chain.device, tuple(chain.steps), tuple(chain.numbers)
        alike.setdefault(key, []).append(chain)
    return alike


def flush() -> None:
    """Run what waits in this thread. Called before anything else is launched or read."""
    queue = _state.queue
    if queue is None or not queue.chains:
        return
    _state.queue = None  # launches do not look here again
    try:
        for chains in _alike(queue.chains).values():
            _launch(chains, _address)
    finally:
        _state.queue = _Queue()


launches.before_launches.append(flush)


@contextlib.contextmanager
def on_stream(device: int, stream: int | None) -> Iterator[None]:
    """A block whose work is queued on a stream: behind the current one, which waits for it.

    None is the current one.
    """
    where = driver()
    before = where.stream(device)
    if stream is None or stream == before:
        yield
        return
    flush()
    where.set_stream(device, stream)
    where.queue_behind(before, device, device)
    try:
        yield
    finally:
        flush()
        where.set_stream(device, before)
        where.queue_behind(stream, device, device)


@functools.lru_cache(maxsize=256)
def _composed(steps: tuple[Step, ...]) -> tuple[Formula, tuple[int, ...]]:
    """The steps as one formula, and which arrays its outputs are."""
    now: dict[tuple[str, int], Any] = {}
    written: dict[int, None] = {}
    for formula, slots, output in steps:
        given = {
            name: now.get(slot, symbol(f"{slot[0]}{slot[1]}"))
            for name, slot in zip(formula.inputs, slots, strict=True)
        }
        (now["a", output],) = substitute(formula.outputs, given)
        written[output] = None
    slots_of = sorted({slot for _, slots, _ in steps for slot in slots})
    inputs = [f"{kind}{position}" for kind, position in slots_of]
    whole = Formula(inputs, [now["a", x] for x in written])
    used = [x for x in inputs if x in whole.uses]
    return Formula(used, whole.outputs), tuple(written)


@functools.lru_cache(maxsize=256)
def _source(steps: tuple[Step, ...], dtype: str, arrays: int, piece: int, threads: int) -> Any:
    """The kernel of chains, and the numbers that it is given."""
    formula, written = _composed(steps)
    walks = [NUMBER if name[0] == "n" else UNIT for name in formula.inputs]
    operands = [Operand(x, dtype, walk) for x, walk in zip(formula.inputs, walks, strict=True)]
    positions = [-1 if name[0] == "n" else int(name[1:]) for name in formula.inputs]
    body = printed(formula, dtype)
    made = texts.source(
        "step", dtype, arrays, tuple(operands), tuple(positions), written, body, piece, threads
    )
    return made, [int(name[1:]) for name in formula.inputs if name[0] == "n"]


def _launch(
    chains: list[_Chain], address_of: Callable[[View], int], given: Sequence[Any] = ()
) -> None:
    """One launch for chains that do the same; ``given`` are the numbers of a program."""
    first = chains[0]
    dtype, where = dtype_of(first.dtype).name, driver()
    steps, arrays = tuple(first.steps), len(first.arrays)
    source, numbers = _source(steps, dtype, arrays, where.piece, where.threads)
    table, pieces = [], 0
    for chain in chains:
        if chain.size:
            table.append([pieces, chain.size, *map(address_of, chain.arrays)])
            pieces += -(-chain.size // where.piece)
    if not table:
        return
    launch_args = LaunchArgs()
    stream = where.stream(first.device)
    there = _uploaded(np.array(table, np.int64).tobytes(), first.device, stream)
    launch_args.add(there.address, len(table), pieces)
    for k in numbers:
        number = first.numbers[k]
        launch_args.add(
            bits_of(given[number.index] if isinstance(number, Number) else number, dtype)
        )
    launch = launch_args.launch(source, blocks_for(pieces, 1))
    launches.run([launch], lambda memory: memory.address, (), first.device)


@functools.lru_cache(maxsize=64)
def _uploaded(table: bytes, device: int, stream: int) -> Any:
    """A table in memory of a device; parameters seldom move, so that it is there from before.

    Each stream has its own, as the copy is queued on it, and what reads it is.
    """
    where = driver()
    cells = np.frombuffer(table, np.uint8)
    block = where.allocate(len(table), device)
    where.upload_later(block.address, cells.ctypes.data, len(table), cells, device)
    return block
