"""The cost model of fusion: how much a loop may hold, and what is computed twice.

``program/fusion.py`` and ``program/rows.py`` ask here. The numbers are in units of one vector
instruction; they may be changed (``cost.model = dataclasses.replace(cost.model, ...)``) before a
function is compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from ...formula import Expression
from ...formula.expression import postorder


class Tiles(NamedTuple):
    """Tiles of a batch: the rows of each but the last, which may have fewer.

    ``units`` are what threads share, each of so many ``tiles``.
    """

    rows: int
    units: int
    tiles: int


@dataclasses.dataclass(frozen=True)
class CostModel:
    """The cost of the steps of a fused loop.

    Attributes:
        streams: arrays that one loop may read; with more, another thing than memory bounds it.
        nodes: nodes of one fused formula; the time to compile grows with them.
        keep: what a value of a row costs at least that is written to the cache, and read by later
            loops over the row, rather than computed again.
        load: reading an element from the cache.
        recompute: steps that are rather done again, from what is kept anyway, than that a result
            waits for a reader that is ``far`` launches away or farther.
        function: an elementary function.
        division: a division or a square root.
        tile: rows that a chain works on at a time, at most.
        least_tile: and at least.
        units: pieces of a batch that threads share, at most.
        chain_saves: bytes of the arena that a chain has to save at least.
        chain_shares: bytes that all tiles read, at most: they stay in the second-level cache.
        chain_factor: bytes of one block among these, at most: it stays in the first-level cache.
        partial_bytes: bytes of the partial results that a sum over rows may leave.
        factor_bytes: bytes of the factor of a product that are worth a product in two pieces, so
            that they lie in its result. Threads then write other rows of a weight than they read,
            which costs more than it saves where all weights stay in caches.
        factor_bytes_single_thread: the same where one thread runs all, which costs no time.
        factor_rows: the smaller piece, at most, as a part of all rows.
        group_flops: arithmetic operations of small products with a common factor that are worth a
            group.
        group_bytes: bytes that small loops of one kind read and write which are worth a group.
        small: bytes that a loop reads and writes which may be one of a group.
        small_product: arithmetic operations of a product which may be one of a group.
    """

    streams: int = 16
    nodes: int = 400
    keep: float = 5
    load: float = 1
    recompute: int = 2
    far: int = 8
    function: float = 20
    division: float = 10
    tile: int = 128
    least_tile: int = 32
    units: int = 16
    chain_saves: int = 1 << 16
    chain_shares: int = 1 << 19
    chain_factor: int = 1 << 14
    partial_bytes: int = 1 << 16
    factor_bytes: int = 1 << 20
    factor_bytes_single_thread: int = 1 << 12
    factor_rows: float = 0.375
    group_flops: int = 4_000_000
    group_bytes: int = 1 << 19
    small: int = 1 << 19
    small_product: int = 8_000_000

    def least_factor(self, threads: int) -> int:
        """Bytes of a factor from on which its product is worth two pieces."""
        return self.factor_bytes if threads > 1 else self.factor_bytes_single_thread

    def tiles(self, rows: int) -> Tiles | None:
        """How so many rows are cut; None if they are too few, or tiles would not be about equal.

        There are two units at least, of two tiles at least, and a power of two of them, so that
        threads get equal shares.
        """
        count = 4
        while count * self.tile < rows:
            count += 4
        tile = -(-rows // count)
        if tile < self.least_tile or tile * (count - 1) >= rows:
            return None
        units = min(count & -count, count // 2, self.units)
        return Tiles(tile, units, count // units)

    def is_worth_a_chain(self, members: int, saved: int, shared: Sequence[int]) -> bool:
        """Whether operations had better run tile by tile; ``shared`` are the bytes of blocks."""
        small = sum(shared) <= self.chain_shares and max(shared, default=0) <= self.chain_factor
        return members > 1 and saved >= self.chain_saves and small

    def of(self, root: Expression, known: set[int], free: set[int]) -> float:
        """The cost of an expression; nodes whose ``id`` is ``known`` are read from the cache."""
        nodes = postorder((root,), known=known | free)
        read = {id(x) for node in nodes for x in node.operands} & known
        return sum([self._step(node) for node in nodes]) + self.load * len(read)

    def _step(self, node: Expression) -> float:
        if node.operation in FUNCTIONS:
            return self.function
        if node.operation in DIVISIONS:
            return self.division
        if node.operation == "constant":
            return 0
        return self.load if node.operation == "input" else 1


#: Functions that cost many instructions.
FUNCTIONS = frozenset(
    "exp exp2 expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfc erfinv sigmoid gelu gelu_gradient ndtr lgamma digamma polygamma pow atan2 "
    "hypot xlogy xlog1py airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 erfcx i0 i0e i1 i1e k0 "
    "k0e k1 k1e log_ndtr ndtri spherical_j0".split()
)

#: Divisions and roots.
DIVISIONS = frozenset(
    "div sqrt rsqrt near_quotient near_sqrt rough_reciprocal remainder floor_divide fmod".split()
)

#: The model in use.
model = CostModel()
