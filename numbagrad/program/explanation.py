"""A program described for people: its launches, what was fused into each, its memory, its sources.

``describe`` reads a ``Program``; ``str()`` of what it returns is a text, ``_repr_svg_`` a picture
(``drawing.py``). Called by ``numbagrad.explain``.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator

from ..executor.cache import library
from ..executor.cache.library import Kernel
from ..executor.plan.lowering import lower
from ..executor.plan.operations import Call, Operation, moved
from ..executor.plan.views import Memory, View
from .drawing import Band, Box, draw
from .program import Program
from .work import flops, space


@dataclasses.dataclass(frozen=True)
class LaunchRow:
    """One operation of a program, as it runs.

    Attributes:
        name: what it is called.
        operators: the operators of the function that it does the work of.
        shape: what it runs over.
        flops: arithmetic operations, by definition; None for functions of users.
        bytes: bytes read and written.
        reads: names of the blocks of memory it reads, and writes.
        launches: how many kernels are run for it; 0 for a call of Python.
        kernels: those kernels.
    """

    name: str
    operators: tuple[str, ...]
    shape: str
    flops: int | None
    bytes: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    launches: int
    kernels: tuple[Kernel, ...]


#: The home of a block that lies in no result.
ARENA = "arena"


@dataclasses.dataclass(frozen=True)
class Block:
    """A block that is kept on the way: where it lies, and the first and last row that needs it.

    ``home`` is the name of the result whose memory holds it before that is written, or ``arena``.
    """

    name: str
    bytes: int
    home: str
    offset: int
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class Description:
    """The description of a program; ``str()`` makes a text of it and ``svg()`` a picture."""

    title: str
    rows: tuple[LaunchRow, ...]
    blocks: tuple[Block, ...]
    arena_bytes: int
    given: tuple[str, ...]
    results: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def block_bytes(self) -> int:
        """Bytes that the blocks would take without sharing."""
        return sum([block.bytes for block in self.blocks])

    @property
    def python_calls(self) -> tuple[str, ...]:
        """The calls of Python functions that are left."""
        return tuple([row.name for row in self.rows if not row.launches])

    @property
    def sources(self) -> dict[pathlib.Path, str]:
        """The files of the generated kernels, and the name of each kernel."""
        kernels = [kernel for row in self.rows for kernel in row.kernels]
        return {kernel.path: kernel.name for kernel in kernels if kernel.path is not None}

    def __str__(self) -> str:
        return "\n".join(_text(self))

    __repr__ = __str__

    def svg(self) -> str:
        """The operations in their order, and beside them the blocks: in the arena, in results."""
        boxes = []
        for row in self.rows:
            detail = f"{', '.join(row.operators)} | {row.shape} | {', '.join(row.reads)} -> "
            note = f"{_amount(row.flops)}flop  {_amount(row.bytes)}B"
            kind = "python" if not row.launches else "fused" if len(row.operators) > 1 else "plain"
            boxes.append(Box(row.name, note, detail + ", ".join(row.writes), kind))
        starts, end = {ARENA: 0}, self.arena_bytes
        for home in sorted({x.home for x in self.blocks} - {ARENA}):
            starts[home] = end
            end += max([x.offset + x.bytes for x in self.blocks if x.home == home])
        bands = [
            Band(x.name, starts[x.home] + x.offset, x.bytes, x.first, x.last,
                 f"{x.name}: {_amount(x.bytes)}B in {x.home}")
            for x in self.blocks
        ]  # fmt: skip
        shared = f"arena {_amount(self.arena_bytes)}B (blocks {_amount(self.block_bytes)}B)"
        return draw(self.title, boxes, shared, end, bands)

    _repr_svg_ = svg


def describe(program: Program, title: str) -> Description:
    """The description of a program. Looks every kernel up again, to name it."""
    names = _names(program)
    rows = []
    library.forget_lookups()
    for operation in program.operations:
        found: list[Kernel] = []
        library.listener = found.append
        try:
            count = 0 if isinstance(operation, Call) else len(lower(operation))
        finally:
            library.listener = None
        rows.append(_row(operation, names, count, found))
    numbers = {id(operation): k for k, operation in enumerate(program.operations)}
    at = [numbers[id(operation)] for operation in program.moments]
    blocks = []
    for memory, (first, last) in program.lifetimes().items():
        host, offset = program.positions[memory]
        home = ARENA if host is None else names[host]
        blocks.append(Block(names[memory], memory.nbytes, home, offset, at[first], at[last]))
    blocks.sort(key=lambda block: (block.home, block.offset, block.first))
    return Description(
        title,
        tuple(rows),
        tuple(blocks),
        program.arena_bytes,
        tuple([f"{names[view.memory]}: {_shape(view)}" for view in program.given]),
        tuple([f"{names[m]}: {m.array.dtype} {m.array.shape}" for m in program.results]),
        tuple([getattr(source, "__qualname__", repr(source)) for source in program.sources]),
    )


def _names(program: Program) -> dict[Memory, str]:
    """Short names for memory: given, results, and blocks of the arena, numbered."""
    names: dict[Memory, str] = {}
    for view in program.given:
        names.setdefault(view.memory, f"given{len(names)}")
    for k, memory in enumerate(program.results):
        names.setdefault(memory, f"result{k}")
    for k, memory in enumerate(program.lifetimes()):  # in the order of their first use
        names.setdefault(memory, f"block{k}")
    for operation in program.operations:
        for view in (*operation.reads, *operation.writes):
            names.setdefault(view.memory, f"made by {operation.name}")
    return names


def _row(
    operation: Operation, names: dict[Memory, str], launches: int, kernels: list[Kernel]
) -> LaunchRow:
    reads = dict.fromkeys([names[view.memory] for view in operation.reads])
    writes = dict.fromkeys([names[view.memory] for view in operation.writes])
    return LaunchRow(
        operation.name, operation.parts or (operation.name,), space(operation), flops(operation),
        moved(operation), tuple(reads), tuple(writes), launches, tuple(kernels),
    )  # fmt: skip


def _shape(view: View) -> str:
    return f"{view.dtype} {view.shape}"


def _amount(number: int | None) -> str:
    """A number with three digits and a prefix: 1234567 -> ``1.23 M``."""
    if number is None:
        return "? "
    scaled, prefix = float(number), ""
    for prefix in ("", "k", "M", "G", "T"):  # noqa: B007 - the last one is used
        if scaled < 1000:
            break
        scaled /= 1000
    return f"{scaled:.3g} {prefix}"


def _text(program: Description) -> Iterator[str]:
    launches = sum([row.launches for row in program.rows])
    arithmetic = sum([row.flops or 0 for row in program.rows])
    traffic = sum([row.bytes for row in program.rows])
    yield (
        f"{program.title}: {launches} launches, {_amount(arithmetic)}flop, {_amount(traffic)}B "
        "read and written"
    )
    yield ""
    width = min(max([len(row.name) for row in program.rows], default=0), 32)
    for k, row in enumerate(program.rows):
        times = f" ×{row.launches}" if row.launches > 1 else ""
        memory = f"{' '.join(row.reads)} -> {' '.join(row.writes)}"
        yield (
            f"{k:3}  {row.name:{width}}  {_amount(row.flops):>6}flop {_amount(row.bytes):>6}B  "
            f"{row.shape}{times}{'' if row.launches else '  (calls Python)'}"
        )
        yield f"     {'':{width}}  {memory}"
        if len(row.operators) > 1:
            yield f"     {'':{width}}  fuses {', '.join(row.operators)}"
    yield ""
    reused = program.block_bytes - program.arena_bytes
    yield (
        f"memory: an arena of {_amount(program.arena_bytes)}B, and results not yet written, hold "
        f"{len(program.blocks)} blocks of together {_amount(program.block_bytes)}B, "
        f"{_amount(max(reused, 0))}B of it reused"
    )
    for block in program.blocks:
        yield (
            f"     {block.name:10} {_amount(block.bytes):>6}B at {block.offset:<10} "
            f"of {block.home:10} rows {block.first} to {block.last}"
        )
    yield f"given:   {'; '.join(program.given) or 'nothing'}"
    yield f"results: {'; '.join(program.results) or 'none'}"
    yield f"numbers read anew at each run: {', '.join(program.numbers) or 'none'}"
    yield f"Python calls left: {', '.join(program.python_calls) or 'none'}"
    yield "sources of generated kernels:" if program.sources else "no generated kernels"
    for path, name in program.sources.items():
        yield f"     {name}: {path}"


__all__ = ["Block", "Description", "LaunchRow", "describe"]
