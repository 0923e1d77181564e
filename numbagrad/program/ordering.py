"""An order of operations in which less is kept at a time.

``tiling.py`` asks, with what each operation needs to be there before, and the blocks that it uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..executor.plan.views import Memory


def scheduled(
    needs: Sequence[set[int]], uses: Sequence[set[Memory]], sizes: Mapping[Memory, int]
) -> list[int]:
    """Numbers of operations in an order that keeps few bytes at a time.

    Of those that could run next always the one that frees most, which sums up factors as soon as
    they are there; the order that is given if that keeps more.

    Args:
        needs: the numbers of those that have to run before each.
        uses: the blocks that each reads or writes, of which others need nothing.
        sizes: their bytes.
    """
    left = Counter([memory for used in uses for memory in used])
    there: set[Memory] = set()
    waiting = [len(before) for before in needs]
    behind: list[list[int]] = [[] for _ in needs]
    for k, before in enumerate(needs):
        for j in before:
            behind[j].append(k)
    ready = [k for k, count in enumerate(waiting) if count == 0]
    found: list[int] = []

    def growth(k: int) -> int:
        new = sum([sizes[x] for x in uses[k] if x not in there])
        return new - sum([sizes[x] for x in uses[k] if left[x] == 1])

    while ready:
        best = min(ready, key=lambda k: (growth(k), k))
        ready.remove(best)
        found.append(best)
        there |= uses[best]
        left.subtract(uses[best])
        for k in behind[best]:
            waiting[k] -= 1
            if waiting[k] == 0:
                ready.append(k)
    given = list(range(len(needs)))
    return min((given, found), key=lambda order: most_kept(order, uses, sizes))


def most_kept(
    order: Sequence[int], uses: Sequence[set[Memory]], sizes: Mapping[Memory, int]
) -> int:
    """Bytes of the blocks that are there at the same time, at most."""
    first: dict[Memory, int] = {}
    last: dict[Memory, int] = {}
    for at, number in enumerate(order):
        for memory in uses[number]:
            first.setdefault(memory, at)
            last[memory] = at
    live = most = 0
    for at, number in enumerate(order):
        live += sum([sizes[x] for x in uses[number] if first[x] == at])
        most = max(most, live)
        live -= sum([sizes[x] for x in uses[number] if last[x] == at])
    return most


__all__ = ["most_kept", "scheduled"]
