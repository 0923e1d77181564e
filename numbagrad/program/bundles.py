"""Launches that consist of launches: chains, one after another over some rows, and groups.

``tiling.py`` and ``grouping.py`` make them, ``executor/plan/lowering.py`` has them lowered here,
and ``kernels/launches/bundle.py`` runs them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..codegen.record import Record, row_of, size_of
from ..executor.cache import library
from ..executor.plan.launch import Launch
from ..executor.plan.lowering import lower, lower_single, lowers
from ..executor.plan.operations import Array, Operation, Product, moved
from ..executor.plan.views import Memory, View
from ..kernels.launches import bundle_layout as layout
from ..kernels.matmul import layout as matmul_layout

#: Work (elements) from which on the units of a chain are shared out among threads.
_SHARED = 1 << 16

#: Bytes read and written by loops of a group that are worth a thread.
_SHARE = 1 << 18


class Tile(Memory):
    """The position of a chain's views in a block: where its first unit finds the first tile.

    Attributes:
        block: the block.
        step: bytes from one tile of a unit to the next.
        unit: bytes from one unit to the next.
    """

    __slots__ = ("block", "step", "unit")

    def __init__(self, block: Memory, step: int, unit: int):
        self.array, self.made, self.address = block.array, block.made, block.address
        self.nbytes, self.whole = block.nbytes, block.whole
        self.block, self.step, self.unit = block, step, unit


@dataclasses.dataclass(eq=False)
class Chain(Operation):
    """Operations that run one after another for a few rows, then for the next few.

    ``members`` are on the views of the first tile, and of the first unit: there are ``units`` of
    them, for threads to share, each with its own ``tiles``. What differs from tile to tile or from
    unit to unit lies in a ``Tile``. The last tile of the last unit may be shorter: then ``shorter``
    are the members for so many rows, also on views that begin where the first tile does.
    ``fresh`` are the numbers of products that add up over the tiles of a unit. ``inputs`` and
    ``outputs`` are all that others see.
    """

    name: str
    members: tuple[Operation, ...]
    shorter: tuple[Operation, ...]
    units: int
    tiles: int
    rows: int
    fresh: frozenset[int]
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]

    @property
    def reads(self) -> Iterator[View]:
        return iter(self.inputs)

    @property
    def writes(self) -> Iterator[View]:
        return iter(self.outputs)


@lowers(Chain)
def lower_chain(operation: Chain) -> list[Launch]:
    """The launch of a chain."""
    fresh = [k in operation.fresh for k, member in enumerate(operation.members)]
    every = [
        (launch, own)
        for member, own in zip(operation.members, fresh, strict=True)
        for launch in lower_single(member)
    ]
    parts = [launch for launch, _ in every]
    for launch, own in every:
        if own:
            launch.args[matmul_layout.ACCUMULATES] = 0
    last = [launch for member in operation.shorter for launch in lower_single(member)]
    assert len(last) in (0, len(parts))  # one table is as long as the other
    starts = _starts(parts)
    moves: list[tuple[int, int]] = []
    for (launch, own), start in zip(every, starts, strict=False):
        moves += [
            (start + word, memory.step)
            for word, memory, _ in launch.addresses
            if isinstance(memory, Tile) and memory.step
        ]
        if own:
            moves.append((start + matmul_layout.ACCUMULATES, 1))
    parts_at = size_of(layout.Chain)
    last_at = parts_at + size_of(layout.Part) * len(parts)
    moves_at = last_at + size_of(layout.Part) * len(last)
    base, unit_words = moves_at + size_of(layout.Move) * len(moves), starts[-1]
    shorter_at = base + operation.units * unit_words
    launch_args = np.zeros(shorter_at + _starts(last)[-1], dtype=np.int64)
    chain = layout.Chain(launch_args)
    chain.parts, chain.parts_at = len(parts), parts_at
    chain.moves, chain.moves_at = len(moves), moves_at
    chain.tiles, chain.unit_words = operation.tiles, unit_words
    chain.last_unit, chain.last_at = operation.units - 1 if last else -1, last_at
    for (position, step), row in zip(
        moves, _rows(layout.Move, launch_args, moves_at), strict=False
    ):
        row[:] = row_of(layout.Move, position=base + position, step=step)
    work = operation.units * operation.tiles * sum([launch.work for launch in parts])
    grain = 1 if work >= _SHARED else operation.units
    kernel = library.hand_written("kernels.launches.bundle", "run_chain", code="calls")
    made = Launch(operation.name, kernel, launch_args, operation.units, grain, [], work=work)
    made.changing = bool(moves)
    blocks = _Blocks(operation)
    _describe_parts(launch_args, parts_at, parts, base)
    _describe_parts(launch_args, last_at, last, shorter_at)
    for k, launch in enumerate(parts):
        for unit in range(operation.units):
            first = base + unit * unit_words + starts[k]
            _pack(made, first, launch, blocks, unit, 0)
    for k, (launch, start) in enumerate(zip(last, _starts(last), strict=False)):
        blocks.share(launch, parts[k])
        _pack(made, shorter_at + start, launch, blocks, operation.units - 1, operation.tiles - 1)
    return [made]


def _starts(launches: Sequence[Any]) -> list[int]:
    """Where the arguments of each of several launches begin, and where those of the last end."""
    return [0, *itertools.accumulate([launch.args.size for launch in launches])]


def _describe_parts(launch_args: Array, at: int, launches: Sequence[Any], start: int) -> None:
    """Write from a place on which kernels run; ``start`` is where their own arguments begin."""
    rows = _rows(layout.Part, launch_args, at)
    for launch, own, row in zip(launches, _starts(launches), rows, strict=False):
        position = start + own
        row[:] = row_of(layout.Part, kernel=launch.kernel, arguments=position, total=launch.total)


def _rows(record: type[Record], launch_args: Array, at: int) -> Iterator[Array]:
    """The places of records that follow one another from a place on, up to the end of the array."""
    size = size_of(record)
    return (launch_args[k : k + size] for k in range(at, launch_args.size, size))


def _pack(made: Any, first: int, launch: Any, blocks: _Blocks, unit: int, tile: int) -> None:
    """Put the arguments of a part of a chain behind each other, for one tile of a unit."""
    made.args[first : first + launch.args.size] = launch.args
    for word, memory, offset in launch.addresses:
        block, step = blocks.of(memory)
        moved = tile * memory.step if isinstance(memory, Tile) else 0
        made.addresses.append((first + word, block, offset + unit * step + moved))
    made.numbers += [(first + word, number, kind) for word, number, kind in launch.numbers]


class _Blocks:
    """The blocks that the arguments of the parts of a chain are addresses in."""

    def __init__(self, operation: Chain):
        self._units = operation.units
        self._known = {
            view.memory
            for x in (*operation.members, *operation.shorter)
            for view in (*x.reads, *x.writes)
        }  # fmt: skip
        self._own: dict[Memory, tuple[Memory, int]] = {}

    def of(self, memory: Memory) -> tuple[Memory, int]:
        """The block for some memory of a part, and how far apart units are in it."""
        if isinstance(memory, Tile):
            return memory.block, memory.unit
        if memory in self._known:
            return memory, 0
        if memory not in self._own:  # what a row loop keeps, each unit for itself
            size = -(-memory.nbytes // 64) * 64
            self._own[memory] = Memory.scratch(size * self._units), size
        return self._own[memory]

    def share(self, shorter: Any, part: Any) -> None:
        """Have a part for fewer rows keep what it keeps where the one for all rows does."""
        kept, mine = (
            [x for _, x, _ in launch.addresses if not isinstance(x, Tile) and x not in self._known]
            for launch in (part, shorter)
        )
        for memory, own in zip(kept, mine, strict=False):
            if own.nbytes <= memory.nbytes:
                self._own[own] = self.of(memory)


@dataclasses.dataclass(eq=False)
class Group(Operation):
    """Operations none of which depends on another, each of a single launch, side by side."""

    name: str
    members: tuple[Operation, ...]

    @property
    def reads(self) -> Iterator[View]:
        return (view for member in self.members for view in member.reads)

    @property
    def writes(self) -> Iterator[View]:
        return (view for member in self.members for view in member.writes)


@lowers(Group)
def lower_group(operation: Group) -> list[Launch]:
    """The launch of a group."""
    launches = [launch for member in operation.members for launch in lower(member)]
    total = sum([launch.total for launch in launches])
    parts_at = size_of(layout.Group)
    start = parts_at + size_of(layout.Part) * len(launches)
    starts = [start + own for own in _starts(launches)]
    launch_args = np.zeros(starts[-1], dtype=np.int64)
    layout.Group(launch_args).parts = len(launches)
    _describe_parts(launch_args, parts_at, launches, start)
    kernel = library.hand_written("kernels.launches.bundle", "run_group", code="calls")
    work = sum([launch.work for launch in launches])
    if isinstance(operation.members[0], Product):
        shares = sum([launch.total / launch.grain for launch in launches])
    else:
        shares = sum([moved(member) for member in operation.members]) / _SHARE
    grain = max(-(-total // max(int(shares), 1)), 1)
    made = Launch(operation.name, kernel, launch_args, total, grain, [], work=work)
    made.changing = any([launch.changing for launch in launches])
    for launch, at in zip(launches, starts, strict=False):
        launch_args[at : at + launch.args.size] = launch.args
        made.addresses += [(at + word, memory, offset) for word, memory, offset in launch.addresses]
        made.numbers += [(at + word, number, kind) for word, number, kind in launch.numbers]
    return [made]


__all__ = ["Chain", "Group", "Tile", "lower_chain", "lower_group"]
