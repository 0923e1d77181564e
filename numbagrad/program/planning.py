"""Where a program keeps what it computes on the way: blocks that share memory one after another.

Called by ``program.py``. A block lies in the memory of a result that is not written yet, or in the
arena, one piece of memory that the program owns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..executor.plan.views import Memory

#: Alignment of the blocks in the arena, in bytes: a line of the cache.
ALIGNMENT = 64
#: Smaller blocks stay in the arena: the address of a result is set anew at each run.
_LEAST_IN_RESULT = 512


#: A range of bytes of a result, and the first moment at which they are needed.
Touch = tuple[int, int, int]


class BlockPosition(NamedTuple):
    """Where a block begins: so many bytes into a result, or into the arena if that is None."""

    host: Memory | None
    offset: int


class _Region:
    """Memory for blocks, of which several may have the same place one after another."""

    def __init__(self, host: Memory | None, touched: Iterable[Touch] = ()):
        self.host = host
        self.size = float("inf") if host is None else host.nbytes
        self.used = 0
        self._placed: list[tuple[float, float, float, float]] = [
            (low, high, moment, float("inf")) for low, high, moment in touched
        ]

    def position(self, size: int, first: int, last: int) -> int | None:
        """The first place that is free for so many bytes all that time, and takes it; or None."""
        offset = 0
        for low, high, begin, end in sorted(self._placed):
            if begin <= last and first <= end and offset < high and low < offset + size:
                offset = -(-int(high) // ALIGNMENT) * ALIGNMENT
        if offset + size > self.size:
            return None
        self._placed.append((offset, offset + size, first, last))
        self.used = max(self.used, offset + size)
        return offset


def plan(
    lifetimes: Mapping[Memory, tuple[int, int]], hosts: Mapping[Memory, Sequence[Touch]]
) -> tuple[dict[Memory, BlockPosition], int]:
    """Places for blocks, large ones first, and the bytes of the arena.

    Args:
        lifetimes: the first and the last moment at which each block is needed.
        hosts: results, and what is needed of each itself, from which moment on.
    """
    late = sorted(hosts, key=lambda host: -min([moment for *_, moment in hosts[host]]))
    regions = [_Region(host, hosts[host]) for host in late]
    arena = _Region(None)
    positions = {}
    for block in sorted(lifetimes, key=lambda block: (-block.nbytes, lifetimes[block])):
        size = -(-max(block.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        # Kernels count on where scratch memory lies in a line, which results need not share.
        fits = size >= _LEAST_IN_RESULT and not block.is_scratch
        for region in (*regions, arena) if fits else (arena,):
            offset = region.position(size, *lifetimes[block])
            if offset is not None:
                positions[block] = BlockPosition(region.host, offset)
                break
    return positions, arena.used


__all__ = ["ALIGNMENT", "BlockPosition", "Touch", "plan"]
