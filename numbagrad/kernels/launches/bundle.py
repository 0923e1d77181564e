"""Launches that consist of launches: side by side in one, or one after another over some rows.

Imported only to compile them. Threads then meet once for all of them. ``bundle_layout`` describes
their arguments.
"""

from __future__ import annotations

from ...codegen.intrinsics import call_kernel, int64, load, store, subroutine
from ...codegen.kernel import kernel
from ...codegen.record import WORD_BYTES, size_of
from .bundle_layout import Chain, Group, Move, Part

_GROUP_BYTES = WORD_BYTES * size_of(Group)


@kernel(code="calls")
def run_group(args, lo, hi):
    """Run the units ``[lo, hi)`` of all parts of a group, one part after the other."""
    parts = Part(args + _GROUP_BYTES)
    for k in range(Group(args).parts):
        part = parts[k]
        total = part.total
        if lo < total and hi > 0:
            own = args + WORD_BYTES * part.arguments
            call_kernel(part.kernel, own, max(lo, 0), min(hi, total))
        lo -= total
        hi -= total


@subroutine
def _move(args, unit, tiles):
    """Let the arguments of a unit be those of so many tiles later."""
    chain = Chain(args)
    moves = Move(args + WORD_BYTES * chain.moves_at)
    for k in range(chain.moves):
        position = moves[k].position
        store(unit, position, load(unit, position, int64) + tiles * moves[k].step, int64)


@kernel(code="calls")
def run_chain(args, lo, hi):
    """Run all parts of a chain for each tile of the units ``[lo, hi)``.

    The last tile of all may be shorter: then its parts have words of their own.
    """
    chain = Chain(args)
    tiles = chain.tiles
    for k in range(lo, hi):
        unit = args + WORD_BYTES * k * chain.unit_words
        for tile in range(tiles):
            first, start = chain.parts_at, unit
            if k == chain.last_unit and tile + 1 == tiles:
                first, start = chain.last_at, args
            parts = Part(args + WORD_BYTES * first)
            for each in range(chain.parts):
                part = parts[each]
                call_kernel(part.kernel, start + WORD_BYTES * part.arguments, 0, part.total)
            if tile + 1 < tiles:
                _move(args, unit, 1)
        _move(args, unit, 1 - tiles)
