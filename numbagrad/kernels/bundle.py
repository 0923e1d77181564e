"""Launches that consist of launches: side by side in one, or one after another over some rows.

Imported only to compile them. Threads then meet once for all of them. ``bundle_layout`` describes
their arguments.
"""

from __future__ import annotations

from ..codegen.intrinsics import call_kernel, int64, load, store, subroutine
from ..codegen.kernel import kernel
from .bundle_layout import (
    CHAIN_LAST_AT,
    CHAIN_LAST_UNIT,
    CHAIN_MOVES,
    CHAIN_MOVES_AT,
    CHAIN_PARTS,
    CHAIN_PARTS_AT,
    CHAIN_TILES,
    CHAIN_UNIT_WORDS,
    GROUP_PARTS,
    GROUP_WORDS,
    MOVE_PLACE,
    MOVE_STEP,
    MOVE_WORDS,
    PART_ARGUMENTS,
    PART_KERNEL,
    PART_TOTAL,
    PART_WORDS,
)


@kernel(code="calls")
def run_group(args, lo, hi):
    """Run the units ``[lo, hi)`` of all parts of a group, one part after the other."""
    part = args + 8 * GROUP_WORDS
    for _ in range(load(args, GROUP_PARTS, int64)):
        total = load(part, PART_TOTAL, int64)
        if lo < total and hi > 0:
            own = args + 8 * load(part, PART_ARGUMENTS, int64)
            call_kernel(load(part, PART_KERNEL, int64), own, max(lo, 0), min(hi, total))
        lo -= total
        hi -= total
        part += 8 * PART_WORDS


@subroutine
def _move(args, unit, tiles):
    """Let the arguments of a unit be those of so many tiles later."""
    move = args + 8 * load(args, CHAIN_MOVES_AT, int64)
    for _ in range(load(args, CHAIN_MOVES, int64)):
        place = load(move, MOVE_PLACE, int64)
        store(unit, place, load(unit, place, int64) + tiles * load(move, MOVE_STEP, int64), int64)
        move += 8 * MOVE_WORDS


@kernel(code="calls")
def run_chain(args, lo, hi):
    """Run all parts of a chain for each tile of the units ``[lo, hi)``.

    The last tile of all may be shorter: then its parts have words of their own.
    """
    tiles = load(args, CHAIN_TILES, int64)
    last = load(args, CHAIN_LAST_UNIT, int64)
    for k in range(lo, hi):
        unit = args + 8 * k * load(args, CHAIN_UNIT_WORDS, int64)
        for tile in range(tiles):
            part, start = args + 8 * load(args, CHAIN_PARTS_AT, int64), unit
            if k == last and tile + 1 == tiles:
                part, start = args + 8 * load(args, CHAIN_LAST_AT, int64), args
            for _ in range(load(args, CHAIN_PARTS, int64)):
                own = start + 8 * load(part, PART_ARGUMENTS, int64)
                kernel = load(part, PART_KERNEL, int64)
                call_kernel(kernel, own, 0, load(part, PART_TOTAL, int64))
                part += 8 * PART_WORDS
            if tile + 1 < tiles:
                _move(args, unit, 1)
        _move(args, unit, 1 - tiles)
