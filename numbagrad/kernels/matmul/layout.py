"""The argument words of the matmul kernels, how their work is counted, and which kernel does it.

Shared by ``matmul`` (the kernels), the launcher and plain Python callers; imports neither Numba nor
LLVM, so that a process whose kernels are all in the disk cache can pack arguments and count units.
"""

from __future__ import annotations

#: Index of each int64 word at ``args``, for ``C = A @ B``. Strides count elements; those of A and
#: B may be anything, also 0 or negative. The columns of C are contiguous (its column stride is not
#: read), and C overlaps no operand. No size is 0. A batch has two dimensions (a batch of one
#: dimension has an outer size of 1), each operand with its own strides.
A, B, C = 0, 1, 2  # addresses
M, N, K = 3, 4, 5
OUTER, INNER = 6, 7  # sizes of the batch
A_ROW, A_COLUMN, A_OUTER, A_INNER = 8, 9, 10, 11
B_ROW, B_COLUMN, B_OUTER, B_INNER = 12, 13, 14, 15
C_ROW, C_COLUMN, C_OUTER, C_INNER = 16, 17, 18, 19
PACKS = 20  # PACKS_A, PACKS_B or their sum, which only the kernel of tiles reads
#: Requests of programs alone, 0 otherwise; the row kernel serves none of them. C may be added to.
#: C may be the sum of several products of equal shapes and strides, the terms: the addresses of A
#: and B for each further one lie behind the other words. And a kernel may run on what was written.
ACCUMULATES = 21  # 1 where C is added to
TERMS = 22  # further terms
EPILOGUE = 23  # address of the kernel that is called for tiles of C that are complete, or 0
EPILOGUE_WORDS = 24  # where its own arguments begin, counted in words from the first one here
#: Where threads share the depth, each of its blocks is a piece of work. The first writes C, each of
#: the others leaves a partial result in memory of its own, and who is done last adds them up.
PIECES = 25  # or 0
PARTIALS = 26  # address of the results of all pieces but the first, as contiguous matrices
COUNTERS = 27  # where the counters begin, in words from the first one here; 0 before and after
WIDTH = 28  # columns of C in one unit of work
WORDS = 29

#: The arguments of an epilogue: the address of these words, and a range of rows of C.
TILE_ARGUMENTS = 0  # address of its own arguments
TILE_BATCH = 1
TILE_COLUMN, TILE_COLUMNS = 2, 3  # the first column of the tile, and how many it has
TILE_WORDS = 4

#: The kernels, each compiled when a product first needs it.
TILES, DOTS, ROW = 0, 1, 2

PACKS_A, PACKS_B = 1, 2

#: Rows of C in one unit of work.
UNIT_ROWS = 4

#: Columns of C in one unit of work: many where rows can be shared out among threads instead. Wide
#: units are about equally wide, in whole tiles.
WIDE_COLUMNS, NARROW_COLUMNS, WHOLE_TILES = 256, 64, 32

#: Rows from which on a unit is wide.
WIDE_FROM_ROWS = 48

#: Elements of B that the second-level cache has room for beside the rest: up to here every thread
#: had better read all of B, and write whole rows of C.
SHARED = 1 << 16

#: Rows from which on tiles always read a copy of B, whose vectors begin at lines of the cache and
#: whose rows share pages.
PACKED_FROM_ROWS = 192

#: The same for sums of products: without copies, all terms pass over a few rows that stay in the
#: cache.
SUMS_PACKED_FROM_ROWS = 512

#: Rows from which on threads share columns of a small B too, and each packs its own.
COLUMNS_FROM_ROWS = 512

#: Rows this many bytes apart (or a multiple) fall on the same few lines of the first-level cache.
CONFLICT = 4096

#: Columns of A this many bytes apart or further are on so many pages that a copy costs less, if
#: many columns of B share it. Where fewer do, so must a block of A fill this many bytes.
FAR, MANY_PAGES = 1024, 400_000

#: An operand of more bytes comes from memory each time, so that packing it costs least.
CACHE = 1 << 23

#: Bytes in a block of the depth, at most, for each method; a row takes all of the depth at once.
TILES_DEPTH_BYTES, DOTS_DEPTH_BYTES = 2048, 16384

#: Rows of C that are added up at once when all pieces are done: whole units, and whole tiles.
JOINED_ROWS = 24

#: Steps of a product that are worth a thread: about 20 µs; and where a weight is long, about 5.
SHARE, LONG_SHARE = 1_000_000, 250_000

#: Elements of a weight whose update is work for two threads.
UPDATE = 1 << 16

#: For a shared depth: counters that a launch has room for, bytes of C, and of partial results.
MOST_COUNTERS, RESULT_BYTES, PARTIAL_BYTES = 64, 1 << 20, 1 << 23

#: Words around the counters, which threads write, so that they share no cache line with others.
APART = 16

#: Products of bfloat16 by pairs (``pairs.py``): rows in a panel of A, columns in a panel of B, and
#: bytes of B that pass over all rows, for the second-level cache.
PAIR_ROWS, PAIR_COLUMNS, PAIR_BLOCK_BYTES = 12, 32, 1 << 18

#: Vectors along the depth from which on tiles of dot products cost less than packing a small B.
DOT_VECTORS = 12


def is_dots(
    rows: int, columns: int, depth_bytes: int, a_column: int, b_row: int, vector_bytes: int
) -> bool:
    """Whether a product is best done as tiles of dot products."""
    if a_column != 1 or b_row != 1:
        return False
    if rows == 1:
        return True
    return rows <= 128 and columns <= 128 and depth_bytes >= DOT_VECTORS * vector_bytes


def packs_b(rows: int, size: int, b_row: int, b_column: int, item_size: int, plain: bool) -> bool:
    """Whether tiles read a copy of B, which has ``size`` elements, packed in their order."""
    if b_column != 1 or rows >= (PACKED_FROM_ROWS if plain else SUMS_PACKED_FROM_ROWS):
        return True
    if b_row * item_size & (CONFLICT - 1) != 0:
        return False
    return rows >= (8 if size * item_size > CACHE else 48)


def packs_a(columns: int, depth: int, a_row: int, a_column: int, item_size: int) -> bool:
    """Whether tiles read a copy of A, packed in their order."""
    if a_row == 1:
        far = a_column * item_size
        if columns >= 256:
            return far >= FAR
        return columns >= 96 and far * min(depth, TILES_DEPTH_BYTES // item_size) >= MANY_PAGES
    if columns < 256:
        return False
    return a_column != 1 or a_row * item_size & (CONFLICT - 1) == 0


def pairs_in_place(columns: int, depth: int) -> bool:
    """Whether products of bfloat16 read A, of contiguous rows, where it lies.

    Pairs of neighbours along the depth are there already, unless it is odd; panels are worth a copy
    where they are read often, or where the rows of one compete for places in the cache.
    """
    return depth % 2 == 0 and columns <= 512 and 2 * depth & (CONFLICT - 1) != 0


def method_of(
    rows: int, columns: int, depth: int, a_row: int, a_column: int, b_row: int, b_column: int,
    item_size: int, vector_bytes: int, plain: bool,
) -> tuple[int, int]:  # fmt: skip
    """The kernel of a product, and what it packs (PACKS_A, PACKS_B, their sum or 0).

    A ``plain`` product is the only term, and not added to what C holds.
    """
    if rows == 1 and b_column == 1 and plain:
        return ROW, 0
    if is_dots(rows, columns, depth * item_size, a_column, b_row, vector_bytes):
        return DOTS, 0
    packs = PACKS_A if packs_a(columns, depth, a_row, a_column, item_size) else 0
    if packs_b(rows, depth * columns, b_row, b_column, item_size, plain):
        packs += PACKS_B
    return TILES, packs


def unit_columns(rows: int, columns: int, depth: int) -> int:
    """Columns of C in one unit of work of a ``rows`` × ``columns`` result."""
    if rows < WIDE_FROM_ROWS:
        return NARROW_COLUMNS
    if rows < COLUMNS_FROM_ROWS and depth * columns <= SHARED:
        return max(columns, 1)
    blocks = max((columns + WIDE_COLUMNS - 1) // WIDE_COLUMNS, 1)
    width = (columns + blocks - 1) // blocks
    return max((width + WHOLE_TILES - 1) // WHOLE_TILES * WHOLE_TILES, 1)


def depth_blocks(method: int, depth: int, item_size: int) -> int:
    """Blocks of the depth, about equally long, which are summed one after another."""
    block = DOTS_DEPTH_BYTES if method == DOTS else TILES_DEPTH_BYTES
    return (depth * item_size + block - 1) // block


def possible_pieces(method: int, rows: int, columns: int, depth: int, item_size: int) -> int:
    """The blocks of a depth that threads can share, or 0: their results have to stay in caches."""
    pieces = depth_blocks(method, depth, item_size)
    result = rows * columns * item_size
    if pieces < 2 or joined_groups(rows) > MOST_COUNTERS:
        return 0
    if result > RESULT_BYTES or (pieces - 1) * result > PARTIAL_BYTES:
        return 0
    return pieces


def joined_groups(rows: int) -> int:
    """Groups of rows of C that are added up at once, each with a counter."""
    return (rows + JOINED_ROWS - 1) // JOINED_ROWS


def matmul_units(rows: int, columns: int, width: int, batch: int) -> int:
    """Units of work in ``batch`` products that make (rows × columns) matrices.

    Units are ordered by batch, then by block of columns (each ``width`` wide), then by group of
    rows: a contiguous range of them is a few rectangles of C. Every element of C is computed by the
    same sequence of operations in whatever rectangle it lies, so any partition gives the same bits.
    """
    return batch * ((columns + width - 1) // width) * ((rows + UNIT_ROWS - 1) // UNIT_ROWS)


def equal_width(method: int, columns: int, threads: int) -> int:
    """Columns for each thread, in whole vectors, or all where these make no nearly equal shares."""
    whole = UNIT_ROWS if method == DOTS else WHOLE_TILES // 2
    width = ((columns + threads - 1) // threads + whole - 1) // whole * whole
    return width if width * threads * 8 <= columns * 9 else max(columns, 1)


def least_share(
    rows: int, columns: int, depth: int, a_deep: bool, b_deep: bool, item_size: int
) -> int:
    """Steps that are worth a thread, for factors as in ``division``.

    Fewer where a weight is long: each thread then has a part of it in all products of a layer,
    which have equally many steps, and in its update, if that is large enough to be shared. A long
    batch is another matter: what small operators left in the cache of one thread takes longer to
    come to another one than the product takes.
    """
    long = 0 if a_deep and b_deep else depth
    if a_deep:
        long = max(long, rows)
    is_long = max(long, columns) * item_size > TILES_DEPTH_BYTES
    is_large = max(depth, rows) * columns >= UPDATE
    return LONG_SHARE if is_long and is_large else SHARE


def division(
    method: int, rows: int, columns: int, depth: int, terms: int, batch: int, a_deep: bool,
    b_deep: bool, item_size: int, threads: int,
) -> tuple[int, int]:  # fmt: skip
    """The division of a product among threads: pieces of its depth or 0, and the width of units.

    What a thread reads that another one wrote comes from the caches of that one, at a fraction of
    the speed of its own. Operands were most likely written in equal shares of their outermost
    dimension, as by the update of a weight; whether that is the depth say ``a_deep`` and
    ``b_deep``. So what is counted is how many elements of others a thread reads, where threads
    share units as they usually are, whole rows, equal shares of columns, or the depth.
    """
    usual = unit_columns(rows, columns, depth)
    share = least_share(rows, columns, depth, a_deep, b_deep, item_size)
    sharing = min(threads, rows * columns * depth * terms // share)
    if method == ROW or batch != 1 or sharing < 2:
        return 0, usual
    across = min((columns + usual - 1) // usual, sharing)
    down = sharing // across
    width, of_others = usual, 0
    if a_deep or across > 1:
        of_others += depth * rows // down
    if b_deep or down > 1:
        of_others += depth * columns // across
    by_rows = (depth * rows // sharing if a_deep else 0) + depth * columns
    # What follows then reads other parts of C than it would otherwise: the last term.
    by_columns = depth * rows + (depth * columns // sharing if b_deep else 0) + rows * columns
    narrow = equal_width(method, columns, sharing)
    if across == 1 and narrow < usual and by_columns * 4 < by_rows * 3:
        width, of_others = narrow, by_columns
    elif across > 1 and depth * columns <= 2 * SHARED and by_rows * 4 < by_columns * 3:
        width, of_others = columns, by_rows
    pieces = possible_pieces(method, rows, columns, depth, item_size) if terms == 1 else 0
    if pieces == 0:
        return 0, width
    along = min(pieces, sharing)
    down = sharing // along
    by_depth = rows * columns * (pieces - 1) // sharing
    if not a_deep or down > 1:
        by_depth += depth // along * (rows // down)
    if not b_deep or down > 1:
        by_depth += depth // along * columns
    return (pieces, usual) if by_depth < of_others else (0, width)


def matmul_grain(
    rows: int, columns: int, width: int, batch: int, threads: int, steps: int, pieces: int,
    share: int,
) -> int:  # fmt: skip
    """Units for one thread: an equal share of the work, of ``share`` steps at least, or all.

    An element of C takes so many ``steps``: the depth, and what else is done with it. Shares are
    not cut further, since every piece packs its operands anew.
    """
    units = matmul_units(rows, columns, width, batch) * max(pieces, 1)
    sharing = min(threads, units, batch * rows * columns * steps // share)
    return -(-units // max(sharing, 1)) if units else 1
