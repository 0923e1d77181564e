"""Masks of attention as functions of positions, and the blocks of scores that they leave.

``BlockMask`` says for every block of queries which blocks of keys are computed in part and which
whole, as torch's kernels read it. Programs build it once and look at it; ``flex_attention``
(``flex_attention.py``) evaluates its ``mask_mod``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...dtype import int32
from ...ops.creation.filled import zeros
from ...ops.creation.sequences import arange
from ...tensor import Tensor
from ..functional.padding import pad

__all__ = [
    "BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks",
]  # fmt: skip

#: ``mask_mod(batch, head, query, key)``: whether a query sees a key, all 0-dimensional tensors.
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

#: The size of the blocks of a mask, which libraries take over as their default.
DEFAULT_BLOCK_SIZE = 128


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that hides nothing."""
    return batch.new_ones((), dtype=bool)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """A mask that shows what all of several masks show.

    Raises:
        RuntimeError: for what cannot be called.
    """
    return _combined(mask_mods, lambda a, b: a & b, True)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """A mask that shows what one of several masks shows.

    Raises:
        RuntimeError: for what cannot be called.
    """
    return _combined(mask_mods, lambda a, b: a | b, False)


def _combined(mask_mods: tuple[MaskMod, ...], join: Callable[..., Tensor], start: bool) -> MaskMod:
    if not all(callable(mask_mod) for mask_mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask_mod(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
        shown = [each(batch, head, token_q, token_kv) for each in mask_mods]
        return functools.reduce(join, shown, batch.new_full((), start, dtype=bool))

    return mask_mod


def over_scores(mod: Callable[..., Tensor], takes_score: bool) -> Callable[..., Tensor]:
    """A function of one score and its four indices, or of the indices alone, for all scores.

    What is returned takes the scores (batch, heads, queries, keys), if ``takes_score``, and four
    vectors of indices.
    """
    from ...func.vmap import vmap

    for dim in (3, 2, 1, 0):
        indices = tuple([0 if dim == other else None for other in range(4)])
        mod = vmap(mod, ((0, *indices) if takes_score else indices))
    return mod


def indices_of(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    """The vectors 0, 1, ... of batches, heads, queries and keys."""
    return [arange(size, device=device) for size in sizes]


def create_mask(
    mod_fn: Callable[..., Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """The tensor of a mask, (B, H, Q_LEN, KV_LEN) of bools.

    Args:
        mod_fn: ``mask_mod(b, h, q_idx, kv_idx)``, or ``score_mod(score, b, h, q_idx, kv_idx)``,
            which hides a score where it makes it -infinity.
        B: the number of batches; None is 1.
        H: the number of heads; None is 1.
        Q_LEN: the number of queries.
        KV_LEN: the number of keys.
        device: of the mask.
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    indices = indices_of(sizes, device)
    if _takes_scores(mod_fn):
        scores = over_scores(mod_fn, True)(zeros(sizes, device=device), *indices)
        return ~scores.isneginf()
    return over_scores(mod_fn, False)(*indices)


def _takes_scores(mod_fn: Callable[..., Tensor]) -> bool:
    import inspect

    names = inspect.signature(mod_fn).parameters.values()
    count = len([name for name in names if name.default is name.empty])
    if count not in (4, 5):
        raise AssertionError(f"create_mask: {mod_fn} takes {count} arguments, not 4 or 5")
    return count == 5


def _blocks(mask: Tensor, sizes: tuple[int, int], separate: bool) -> tuple[Tensor, Tensor | None]:
    """Which blocks of a mask hold some, or all (None if not ``separate``), of their elements."""
    rows, columns = sizes
    mask = pad(mask, (0, -mask.size(3) % columns, 0, -mask.size(2) % rows))
    batch, heads, queries, keys = mask.shape
    parts = mask.view(batch, heads, queries // rows, rows, keys // columns, columns)
    counts = parts.permute(0, 1, 2, 4, 3, 5).sum((-2, -1))
    if not separate:
        return counts > 0, None
    whole = counts == rows * columns
    return (counts > 0) & ~whole, whole


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row are there, and their columns before those of the others."""
    columns = blocks.int().argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1).int(), columns.int().contiguous()


def _dense(counts: Tensor, columns: Tensor) -> Tensor:
    """The opposite: (..., rows, columns) of whole numbers, 1 for the blocks that are there."""
    among_first = arange(columns.size(-1), device=counts.device) < counts.unsqueeze(-1)
    found = zeros(columns.shape, dtype=int32, device=counts.device)
    return found.scatter(-1, columns.long(), among_first.int())


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The ``BlockMask`` of a mask.

    Args:
        mask_mod: ``mask_mod(b, h, q_idx, kv_idx)``, whether a query sees a key.
        B: the number of batches; None is 1, for all of them.
        H: the number of heads; None is 1, for all of them.
        Q_LEN: the number of queries.
        KV_LEN: the number of keys.
        device: of the mask.
        BLOCK_SIZE: of blocks, or those of queries and of keys.
        separate_full_blocks: whether blocks that hide nothing are listed apart.
        compute_dq_write_order: of torch's kernels; has to be False.

    Raises:
        NotImplementedError: for ``compute_dq_write_order``.
    """
    if compute_dq_write_order:
        raise NotImplementedError("create_block_mask: compute_dq_write_order is of torch's kernels")
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    partial, whole = _blocks(mask, sizes, separate_full_blocks)
    return _of_blocks(partial, whole, sizes, mask_mod, (Q_LEN, KV_LEN))


def _of_blocks(
    partial: Tensor, whole: Tensor | None, sizes: tuple[int, int], mask_mod: Any, lengths: Any
) -> BlockMask:
    full: tuple[Any, Any] = (None, None) if whole is None else _ordered(whole)
    return BlockMask.from_kv_blocks(*_ordered(partial), *full, sizes, mask_mod, lengths)


#: The tensors of a BlockMask.
_TABLES = (
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
    "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
)  # fmt: skip


class BlockMask:
    """A mask and the blocks of scores that it leaves, by queries and by keys.

    ``kv_num_blocks`` (batch, heads, rows) counts for every block of queries the blocks of keys that
    are seen in part, ``kv_indices`` (batch, heads, rows, columns) begins with them; ``full_...``
    has those that are seen whole, and ``q_...`` the same by blocks of keys.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK_SIZE, DEFAULT_BLOCK_SIZE),
        mask_mod: MaskMod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for kind, counts, columns in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (counts is None) != (columns is None):
                raise AssertionError(
                    f"full_{kind}_num_blocks and full_{kind}_indices must be both provided or "
                    "omitted"
                )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A BlockMask from its tables by queries; those by keys are computed from them.

        Args:
            kv_num_blocks: blocks seen in part, counted for each block of queries.
            kv_indices: their columns before the others.
            full_kv_num_blocks: blocks seen whole, counted.
            full_kv_indices: their columns before the others.
            BLOCK_SIZE: of blocks, or those of queries and of keys.
            mask_mod: the mask; None hides nothing in these blocks.
            seq_lengths: of queries and keys, whole blocks by default.
            compute_q_blocks: whether the tables by keys are made.
        """
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        given = (kv_num_blocks, kv_indices), (full_kv_num_blocks, full_kv_indices)
        by_keys: list[Any] = []
        for counts, columns in given:
            if counts is None or columns is None or not compute_q_blocks:
                by_keys += [None, None]
            else:
                by_keys += _ordered(_dense(counts, columns).transpose(-2, -1).bool())
        if seq_lengths is None:
            rows, columns_ = kv_indices.shape[-2:]
            seq_lengths = rows * sizes[0], columns_ * sizes[1]
        by_queries = kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices
        mod = noop_mask if mask_mod is None else mask_mod
        tables: Any = (*by_queries, *by_keys)
        return cls(*(seq_lengths, *tables, sizes, mod))

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Lengths, tables, four orders of torch's kernels (None), sizes of blocks and the mask.

        Args:
            flatten: whether lengths and sizes are two items each, or pairs.
        """
        tables = [getattr(self, name) for name in _TABLES]
        lengths, sizes = tuple(self.seq_lengths), tuple(self.BLOCK_SIZE)
        ends = (lengths, sizes) if flatten else ((lengths,), (sizes,))
        return (*ends[0], *tables, None, None, None, None, *ends[1], self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(batch, heads, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of scores."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many per cent of the scores are in blocks that are not computed."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self) -> Tensor:
        """(batch, heads, blocks of queries, blocks of keys): 1 for those that are computed."""
        partial = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return partial
        return partial | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads, blocks of queries; whole numbers keep the dimension."""
        wanted = index if isinstance(index, tuple) else (index,)
        sizes = self.kv_num_blocks.shape
        picks = []
        for pick, size in zip(wanted, sizes, strict=False):
            if isinstance(pick, int):
                if not -size <= pick < size:
                    raise IndexError(f"index {pick} is out of bounds for dimension of size {size}")
                pick = slice(pick % size, pick % size + 1)
            picks.append(pick)
        tables = [getattr(self, name) for name in _TABLES[:4]]
        parts: Any = [None if table is None else table[tuple(picks)] for table in tables]
        has_columns = self.q_indices is not None
        parts += [self.BLOCK_SIZE, self.mask_mod, self.seq_lengths, has_columns]
        return BlockMask.from_kv_blocks(*parts)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask of fewer queries and keys, or of as many as its blocks hold."""
        rows, columns = [
            -(-length // size)
            for length, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True)
        ]
        kept: list[Any] = []
        for counts, blocks in (
            (self.kv_num_blocks, self.kv_indices),
            (self.full_kv_num_blocks, self.full_kv_indices),
        ):
            if counts is None or blocks is None:
                kept.append(None)
            else:
                kept.append(_dense(counts, blocks)[..., :rows, :columns].bool())
        lengths = (new_q_len, new_kv_len)
        return _of_blocks(kept[0], kept[1], self.BLOCK_SIZE, self.mask_mod, lengths)

    def to(self, device: Any) -> BlockMask:
        """The mask with its tables on a device."""
        made = BlockMask.__new__(BlockMask)
        vars(made).update(vars(self))
        for name in _TABLES:
            table = getattr(self, name)
            setattr(made, name, None if table is None else table.to(device))
        return made

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of the blocks, for each batch and head; shaded where only some are computed.

        Args:
            grid_size: the most rows and columns that are drawn; -1 draws all.
            limit: the most pictures.
        """
        dense = self.to_dense()
        if isinstance(grid_size, int):
            grid_size = (grid_size, grid_size)
        steps = [
            1 if most == -1 else max(1, -(-size // most))
            for most, size in zip(grid_size, dense.shape[-2:], strict=True)
        ]
        shown = []
        batches = dense.shape[:-2]
        for place in range(math.prod(batches)):
            if place == limit:
                shown.append("...")
                break
            where = divmod(place, batches[-1]) if len(batches) == 2 else (place,) * len(batches)
            shown.append(f"{where}\n" + _drawn(dense[where], steps))
        return "\n".join(shown)

    def __str__(self) -> str:
        picture = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{picture}\n)"

    def __repr__(self) -> str:
        tables = {name: getattr(self, name) for name in _TABLES}
        fields = {name: None if x is None else x.shape for name, x in tables.items()}
        fields |= {"BLOCK_SIZE": self.BLOCK_SIZE, "shape": self.shape}
        fields["sparsity"] = f"{self.sparsity():.2f}%"
        fields["mask_mod"] = getattr(self.mask_mod, "__name__", repr(self.mask_mod))
        lines = [f"    {name}={value},\n" for name, value in fields.items()]
        return "BlockMask(\n" + "".join(lines).rstrip(",\n") + "\n)"


def _drawn(blocks: Tensor, steps: list[int]) -> str:
    """One picture: two characters a cell, a line a row."""
    rows, columns = steps
    lines = []
    for row in range(0, blocks.size(0), rows):
        cells = [
            float(blocks[row : row + rows, column : column + columns].float().mean())
            for column in range(0, blocks.size(1), columns)
        ]
        lines.append("".join(["██" if c == 1 else "  " if c == 0 else "░░" for c in cells]))
    return "\n".join([*lines, ""])
