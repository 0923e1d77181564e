"""The words of launches that consist of launches; ``bundle`` runs them, ``program/bundles`` packs.

This file must not import Numba. Places are counted in words from the first argument.
"""

from __future__ import annotations

from ...codegen.record import Record, Word


class Part(Record):
    """A launch inside another one."""

    kernel = Word()
    arguments = Word()  # place of its own; in a chain, of those for the first unit
    total = Word()  # units of work


class Group(Record):
    """Launches side by side, whose units follow one another; the parts follow it."""

    parts = Word()  # how many


class Chain(Record):
    """Launches one after another, over some rows at a time."""

    parts = Word()  # how many, and the place of the first
    parts_at = Word()
    moves = Word()  # how many words differ from tile to tile, and the place of the first move
    moves_at = Word()
    tiles = Word()  # in a unit of work
    unit_words = Word()  # words of the arguments of all parts, of which each unit has its own
    last_unit = Word()  # the unit whose last tile is shorter than all others, or -1
    last_at = (
        Word()
    )  # the place of the first of its parts, which have their arguments from the start


class Move(Record):
    """The step that a tile adds to a word."""

    position = Word()  # of a word of the arguments of the first unit
    step = Word()
