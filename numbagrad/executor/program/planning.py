"""Where a program keeps what it computes on the way: blocks that share memory one after another.

Called by ``program.py``. A block lies in the memory of a result that is not written yet, or in the
arena, one piece of memory that the program owns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .graph import Memory

#: Of the blocks in the arena, in bytes: a line of the cache.
ALIGNMENT = 64
#: Smaller blocks stay in the arena: the address of a result is set anew at each run.
_LEAST_IN_RESULT = 512


class BlockPlace(NamedTuple):
    """Where a block begins: so many bytes into a result, or into the arena if that is None."""

    host: Memory | None
    offset: int


class _Region:
    """Memory for blocks, of which several may have the same place one after another."""

    def __init__(self, host: Memory | None, until: int):
        self.host = host
        #: The moment at which the memory itself is needed, and how much there is.
        self.until = until
        self.size = float("inf") if host is None else host.nbytes
        self.used = 0
        self._placed: list[tuple[int, int, int, int]] = []

    def place(self, size: int, first: int, last: int) -> int | None:
        """The first place that is free for so many bytes all that time, and takes it; or None."""
        offset = 0
        for low, high, begin, end in sorted(self._placed):
            if begin <= last and first <= end and offset < high and low < offset + size:
                offset = high
        if last >= self.until or offset + size > self.size:
            return None
        self._placed.append((offset, offset + size, first, last))
        self.used = max(self.used, offset + size)
        return offset


def plan(
    lifetimes: Mapping[Memory, tuple[int, int]], hosts: Sequence[tuple[Memory, int]]
) -> tuple[dict[Memory, BlockPlace], int]:
    """Places for blocks, large ones first, and the bytes of the arena.

    Args:
        lifetimes: the first and the last moment at which each block is needed.
        hosts: results, and the moment at which each is first needed itself.
    """
    regions = [_Region(*host) for host in sorted(hosts, key=lambda host: -host[1])]
    arena = _Region(None, max([last for _, last in lifetimes.values()], default=0) + 1)
    places = {}
    for block in sorted(lifetimes, key=lambda block: (-block.nbytes, lifetimes[block])):
        size = -(-max(block.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        # Kernels count on where scratch memory lies in a line, which results need not share.
        fits = size >= _LEAST_IN_RESULT and not block.is_scratch
        for region in (*regions, arena) if fits else (arena,):
            offset = region.place(size, *lifetimes[block])
            if offset is not None:
                places[block] = BlockPlace(region.host, offset)
                break
    return places, arena.used


__all__ = ["ALIGNMENT", "BlockPlace", "plan"]
