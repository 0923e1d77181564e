"""The words of launches that consist of launches; ``bundle`` runs them, ``program/bundles`` packs.

Plain numbers; this file must not import Numba. Places are counted in words from the first argument.
"""

from __future__ import annotations

# --- a launch inside another one ------------------------------------------------------------------
PART_KERNEL = 0
PART_ARGUMENTS = 1  # place of its own arguments; in a chain, of those for the first unit
PART_TOTAL = 2  # units of work
PART_WORDS = 3

# --- a group: launches side by side, whose units follow one another -------------------------------
GROUP_PARTS = 0  # how many; they follow
GROUP_WORDS = 1

# --- a chain: launches one after another, over some rows at a time --------------------------------
CHAIN_PARTS = 0  # how many, and the place of the first
CHAIN_PARTS_AT = 1
CHAIN_MOVES = 2  # how many words differ from tile to tile, and the place of the first move
CHAIN_MOVES_AT = 3
CHAIN_TILES = 4  # tiles in a unit of work
CHAIN_UNIT_WORDS = 5  # words of the arguments of all parts, of which each unit has its own
CHAIN_LAST_UNIT = 6  # the unit whose last tile is shorter than all others, or -1
CHAIN_LAST_AT = 7  # the place of the first of its parts, which have their arguments from the start
CHAIN_WORDS = 8

MOVE_PLACE = 0  # a word of the arguments of the first unit
MOVE_STEP = 1  # what a tile adds to it
MOVE_WORDS = 2
