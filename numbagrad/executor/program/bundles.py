"""Launches that consist of launches: chains, one after another over some rows, and groups.

``tiling.py`` and ``grouping.py`` make them, ``lowering.py`` has them lowered here, and
``kernels/bundle.py`` runs them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...kernels import bundle_layout as layout
from ...kernels import matmul_layout
from .. import library
from .graph import Memory, Operation, Product, View, moved

#: Work (elements) from which on the units of a chain are shared out among threads.
_SHARED = 1 << 16

#: Bytes read and written by loops of a group that are worth a thread.
_SHARE = 1 << 18


class Tile(Memory):
    """What the views of a chain lie in: where its first unit finds the first tile in a block.

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
    unit to unit lies in a ``Tile``. ``fresh`` are the numbers of products that add up over the
    tiles of a unit. ``inputs`` and ``outputs`` are all that others see.
    """

    name: str
    members: tuple[Operation, ...]
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


def lower_chain(
    operation: Chain, lower: Callable[[Operation], list[Any]], make_launch: Callable[..., Any]
) -> Any:
    """The launch of a chain."""
    parts = []
    for number, member in enumerate(operation.members):
        for launch in lower(member):
            if number in operation.fresh:
                launch.words[matmul_layout.ACCUMULATES] = 0
            parts.append((launch, number in operation.fresh))
    starts = np.cumsum([0, *[launch.words.size for launch, _ in parts]])
    moves: list[tuple[int, int]] = []
    base = layout.CHAIN_WORDS + layout.PART_WORDS * len(parts)
    for (launch, fresh), start in zip(parts, starts, strict=False):
        moves += [
            (int(start) + word, memory.step)
            for word, memory, _ in launch.addresses
            if isinstance(memory, Tile) and memory.step
        ]
        if fresh:
            moves.append((int(start) + matmul_layout.ACCUMULATES, 1))
    moves_at, base = base, base + layout.MOVE_WORDS * len(moves)
    unit_words = int(starts[-1])
    words = np.zeros(base + operation.units * unit_words, dtype=np.int64)
    words[[layout.CHAIN_PARTS, layout.CHAIN_PARTS_AT]] = len(parts), layout.CHAIN_WORDS
    words[[layout.CHAIN_MOVES, layout.CHAIN_MOVES_AT]] = len(moves), moves_at
    words[[layout.CHAIN_TILES, layout.CHAIN_UNIT_WORDS]] = operation.tiles, unit_words
    for k, (place, step) in enumerate(moves):
        at = moves_at + layout.MOVE_WORDS * k
        words[[at + layout.MOVE_PLACE, at + layout.MOVE_STEP]] = base + place, step
    work = operation.units * operation.tiles * sum([launch.work for launch, _ in parts])
    grain = 1 if work >= _SHARED else operation.units
    kernel = library.hand_written("bundle", "run_chain", code="calls")
    made = make_launch(operation.name, kernel, words, operation.units, grain, [], work=work)
    blocks = _Blocks(operation)
    for k, ((launch, _), start) in enumerate(zip(parts, starts, strict=False)):
        at = layout.CHAIN_WORDS + layout.PART_WORDS * k
        words[at + layout.PART_KERNEL] = launch.kernel
        words[[at + layout.PART_ARGUMENTS, at + layout.PART_TOTAL]] = base + start, launch.total
        for unit in range(operation.units):
            first = base + unit * unit_words + int(start)
            words[first : first + launch.words.size] = launch.words
            for word, memory, offset in launch.addresses:
                block, step = blocks.of(memory)
                made.addresses.append((first + word, block, offset + unit * step))
            made.numbers += [(first + word, number, kind) for word, number, kind in launch.numbers]
    return made


class _Blocks:
    """The blocks that the words of the parts of a chain are addresses in."""

    def __init__(self, operation: Chain):
        self._units = operation.units
        self._known = {
            view.memory for x in operation.members for view in (*x.reads, *x.writes)
        }  # fmt: skip
        self._own: dict[Memory, Memory] = {}

    def of(self, memory: Memory) -> tuple[Memory, int]:
        """The block for some memory of a part, and how far apart units are in it."""
        if isinstance(memory, Tile):
            return memory.block, memory.unit
        if memory in self._known:
            return memory, 0
        size = -(-memory.nbytes // 64) * 64  # what a row loop keeps, each unit for itself
        return self._own.setdefault(memory, Memory.scratch(size * self._units)), size


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


def lower_group(
    operation: Group, lower: Callable[[Operation], list[Any]], make_launch: Callable[..., Any]
) -> Any:
    """The launch of a group."""
    launches = [launch for member in operation.members for launch in lower(member)]
    total = sum([launch.total for launch in launches])
    start = layout.GROUP_WORDS + layout.PART_WORDS * len(launches)
    starts = np.cumsum([start, *[launch.words.size for launch in launches]])
    words = np.zeros(starts[-1], dtype=np.int64)
    words[layout.GROUP_PARTS] = len(launches)
    kernel = library.hand_written("bundle", "run_group", code="calls")
    work = sum([launch.work for launch in launches])
    if isinstance(operation.members[0], Product):
        shares = sum([launch.total / launch.grain for launch in launches])
    else:
        shares = sum([moved(member) for member in operation.members]) / _SHARE
    grain = max(-(-total // max(int(shares), 1)), 1)
    made = make_launch(operation.name, kernel, words, total, grain, [], work=work)
    for k, (launch, at) in enumerate(zip(launches, starts.tolist(), strict=False)):
        part = layout.GROUP_WORDS + layout.PART_WORDS * k
        words[part + layout.PART_KERNEL] = launch.kernel
        words[[part + layout.PART_ARGUMENTS, part + layout.PART_TOTAL]] = at, launch.total
        words[at : at + launch.words.size] = launch.words
        made.addresses += [(at + word, memory, offset) for word, memory, offset in launch.addresses]
        made.numbers += [(at + word, number, kind) for word, number, kind in launch.numbers]
    return made


__all__ = ["Chain", "Group", "Tile", "lower_chain", "lower_group"]
