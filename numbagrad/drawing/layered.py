"""The layout of a directed graph without cycles: items in layers, edges from layer to layer.

After Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System
Structures" (1981): every item gets a layer, edges over several layers get a place in each, each
layer is ordered by the barycentres of its neighbours, and then items move as close to their
neighbours as the order allows. Called by ``autograd/graph/picture.py``; calls nothing.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_right, insort
from collections.abc import Sequence

__all__ = ["Layout", "arrange"]

#: How often layers are ordered anew, and items moved.
_SWEEPS = 8
#: Places of long edges, at most so many times the number of items: more would only cost time.
_MOST_POSITIONS = 10


@dataclasses.dataclass
class Layout:
    """Where everything is.

    Attributes:
        layers: by item: its layer; an edge leads to a larger one.
        centers: by item: the place of its middle along the layer, in pixels, from 0 on.
        bends: by edge: where it passes the layers in between, ``(layer, position)``.
        width: the extent of all layers.
    """

    layers: list[int]
    centers: list[float]
    bends: list[list[tuple[int, float]]]
    width: float


def arrange(widths: Sequence[float], edges: Sequence[tuple[int, int]], gap: float) -> Layout:
    """Lay out a graph.

    Args:
        widths: of the items, in pixels. An item comes before all items it has edges to.
        edges: pairs of items.
        gap: pixels between neighbours in a layer.
    """
    layers = _layers(len(widths), edges)
    sizes = list(widths)
    depth = list(layers)
    chains: list[list[int]] = []
    budget = _MOST_POSITIONS * len(widths)
    for first, last in edges:
        between = range(layers[first] + 1, layers[last])
        chain = []
        if len(between) <= budget:
            budget -= len(between)
            chain = list(range(len(sizes), len(sizes) + len(between)))
            sizes.extend([0.0] * len(between))
            depth.extend(between)
        chains.append([first, *chain, last])
    links = [pair for chain in chains for pair in zip(chain, chain[1:])]  # noqa: B905
    rows = _ordered(depth, links)
    centers = _placed(rows, sizes, links, gap)
    bends = [[(depth[item], centers[item]) for item in chain[1:-1]] for chain in chains]
    rights = [centers[item] + size / 2 for item, size in enumerate(sizes)]
    return Layout(layers, centers[: len(widths)], bends, max(rights, default=0.0))


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Layers counted from the top, each item as low as the items it leads to allow."""
    above_bottom = [0] * count
    for first, last in sorted(edges, reverse=True):
        above_bottom[first] = max(above_bottom[first], above_bottom[last] + 1)
    top = max(above_bottom, default=0)
    return [top - height for height in above_bottom]


def _neighbours(count: int, links: Sequence[tuple[int, int]]) -> tuple[list[list[int]], ...]:
    """By item: those above it and those below it."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for first, last in links:
        above[last].append(first)
        below[first].append(last)
    return above, below


def _ordered(depth: Sequence[int], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The items of each layer, in an order in which few links cross."""
    rows: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for item, layer in enumerate(depth):
        rows[layer].append(item)
    above, below = _neighbours(len(depth), links)
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        near = above if down else below
        order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for layer in order:
            rank = _ranks(rows[layer - 1 if down else layer + 1])
            _sort_by_barycentre(rows[layer], near, rank)
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _ranks(row: Sequence[int]) -> dict[int, int]:
    return {item: rank for rank, item in enumerate(row)}


def _sort_by_barycentre(row: list[int], near: list[list[int]], rank: dict[int, int]) -> None:
    """Order a layer by the mean rank of neighbours; items without any keep their place."""
    own = _ranks(row)
    keys = {}
    for item in row:
        ranks = [rank[other] for other in near[item] if other in rank]
        keys[item] = sum(ranks) / len(ranks) if ranks else float(own[item])
    row.sort(key=lambda item: (keys[item], own[item]))


def _crossings(rows: Sequence[Sequence[int]], below: list[list[int]]) -> int:
    """How many pairs of links cross."""
    count = 0
    for upper, lower in zip(rows, rows[1:]):  # noqa: B905
        rank = _ranks(lower)
        seen: list[int] = []
        for item in upper:
            ends = sorted([rank[other] for other in below[item] if other in rank])
            for end in ends:
                count += len(seen) - bisect_right(seen, end)
            for end in ends:
                insort(seen, end)
    return count


def _placed(
    rows: Sequence[list[int]],
    sizes: Sequence[float],
    links: Sequence[tuple[int, int]],
    gap: float,
) -> list[float]:
    """The middle of each item: near those of its neighbours, without overlap in a layer."""
    above, below = _neighbours(len(sizes), links)
    centers = [0.0] * len(sizes)
    for row in rows:
        _spread(row, [0.0] * len(row), sizes, gap, centers)
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        for row in rows if down else reversed(rows):
            wanted = []
            for item in row:
                positions = [centers[other] for other in near[item]]
                wanted.append(sum(positions) / len(positions) if positions else centers[item])
            _spread(row, wanted, sizes, gap, centers)
    left = min([center - size / 2 for center, size in zip(centers, sizes, strict=True)], default=0)
    return [center - left for center in centers]


def _spread(
    row: Sequence[int],
    wanted: Sequence[float],
    sizes: Sequence[float],
    gap: float,
    centers: list[float],
) -> None:
    """Move the items of a layer to where they want to be, as far as order and gaps allow.

    The sum of squared distances is smallest if items that would overlap stand side by side around
    their mean: pools of neighbours are joined until none overlap (Ayer et al., "An Empirical
    Distribution Function for Sampling with Incomplete Information", 1955).
    """
    offset, previous = 0.0, 0.0
    offsets = []
    pools: list[list[float]] = []  # sum of places where the pool's first item would be, and count
    for number, (item, position) in enumerate(zip(row, wanted, strict=True)):
        if number:
            offset += previous + gap + sizes[item] / 2
        previous = sizes[item] / 2
        offsets.append(offset)
        pools.append([position - offset, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    bases = [total / count for total, count in pools for _ in range(int(count))]
    for item, base, shift in zip(row, bases, offsets, strict=True):
        centers[item] = base + shift
