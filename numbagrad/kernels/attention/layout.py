"""The arguments of attention kernels: sizes, strides and addresses that the executor packs.

Queries, keys and values are (heads, length, width), contiguous; heads are those of the whole batch.
Imports neither Numba nor LLVM.
"""

from __future__ import annotations

from ...codegen.record import Record, Word


class Sizes(Record):
    """Sizes of one attention, and how its mask broadcasts."""

    queries = Word()
    keys = Word()
    width = Word()  # of queries and keys
    value_width = Word()
    causal = Word()  # whether a query sees no key behind it
    heads = Word()  # of one sample
    mask_batch = Word()  # elements from one to the next of the mask, along each of its dimensions
    mask_head = Word()
    mask_query = Word()
    mask_key = Word()


#: Queries and keys whose scores are computed together: they stay in the first cache.
QUERY_BLOCK, KEY_BLOCK = 64, 48

#: The widest queries and values there is scratch memory for.
WIDEST = 256

#: Elements of scratch memory, and what packing and whole vectors may write behind each part.
SLACK = 4096
PANELS = WIDEST * QUERY_BLOCK + SLACK
SCORES = KEY_BLOCK * QUERY_BLOCK + SLACK
BYTES = 8 * (2 * PANELS + 2 * SCORES + 8 * QUERY_BLOCK)
