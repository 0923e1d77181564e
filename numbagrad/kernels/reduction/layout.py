"""The argument words of reduction kernels, and how a reduction is cut: by sizes and strides alone.

Shared by ``reduction`` (the kernels), the launcher and programs, so that these two cut alike and
give the same bits; imports neither Numba nor LLVM.
"""

from __future__ import annotations

# --- packed arguments (64-bit words), written by the launcher ---------------------------------
KEPT = 0  # number of kept dimensions, after merging
REDUCED = 1  # number of reduced dimensions, at least one
INPUT = 2
OUTPUT = 3
SHIFT = 4  # address of one value for each result (a mean, a maximum)
PARAMETERS_AT = 5  # address of float64 numbers (the order of a norm)
PARTIALS = 6  # address of the results of segments, or 0 if there is one segment
OUTPUTS = 7  # number of results
NUMBER = 8  # reduced elements of each result
ELEMENTS = 9  # the same, but of this launch: segments, when it joins them
SEGMENTS = 10
LENGTH = 11  # reduced elements of a segment
INDICES = 12  # the second output of a selection
SIZES = 16  # kept dimensions outside in, then the reduced ones
INPUT_STEPS = 16 + 33  # strides in bytes
OUTPUT_STEPS = 16 + 2 * 33  # strides in elements; 0 for reduced dimensions
WORDS = 16 + 3 * 33

# --- how a kernel walks -----------------------------------------------------------------------
INNER = 0  # the innermost reduced dimension lies in consecutive memory
OUTER = 1  # the innermost kept dimension does: whole tiles of results at once
STRIDED = 2  # neither does
VARIANT_SHIFT = 5
JOIN_SHIFT = 7  # set in a key: join the results of segments

BLOCK = 4096  # elements combined in one go before the pairwise tree
ROWS = 256  # the same, rows of a tile
SEARCH = 512  # elements that a selection compares before it looks for an index
TILE_BYTES = 4096  # of results in a tile
LEVELS = 40  # of the pairwise tree
TILE_WORDS = TILE_BYTES // 8
TREE_WORDS = LEVELS * TILE_WORDS
UNITS = 32  # segments are made until there are about so many units
GRAIN = 32768  # elements that are worth a thread of their own


def variant_of(kept_step: int, reduced_step: int, item_size: int) -> int:
    """How a kernel walks, by the strides in bytes of the innermost kept and reduced dimensions.

    ``kept_step`` is 0 where no dimension is kept.
    """
    if reduced_step == item_size:
        return INNER
    return OUTER if kept_step == item_size else STRIDED


def join_variant_of(kept_step: int) -> int:
    """How the kernel walks that joins segments; they lie as the results do, ``kept_step`` apart."""
    return OUTER if kept_step == 1 else STRIDED


def groups_of(variant: int, outputs: int, width: int, state_size: int) -> tuple[int, int]:
    """Number of results, or of tiles of them; and the results that a kernel takes together.

    ``width`` is the size of the innermost kept dimension, ``state_size`` the bytes of a result
    while it is combined.
    """
    if variant != OUTER or outputs == 0:
        return outputs, 1
    tile = TILE_BYTES // state_size
    return outputs // width * ((width + tile - 1) // tile), min(width, tile)


def segments_of(number: int, outputs: int, groups: int, together: int) -> tuple[int, int]:
    """Number of segments of the ``number`` reduced elements, and elements of each.

    There is one unless few groups have much work, which threads could not share.
    """
    if groups >= UNITS or outputs * number < 2 * GRAIN:
        return 1, number
    length = max(GRAIN // together, (number * groups + UNITS - 1) // UNITS)
    return (number + length - 1) // length, length


def is_small(units: int, elements: int) -> bool:
    """Whether so many units of so many elements each are no work for threads."""
    return units * elements < 2 * GRAIN


def grain_of(elements: int) -> int:
    """Units of so many elements that are worth a thread of their own."""
    return max(GRAIN // max(elements, 1), 1)
