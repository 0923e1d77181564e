"""Kernels that look for values an operator does not take, and note it if there is one.

``executor/families/checks.py`` runs them. Their first words say where a failure is noted, and as
what. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, store
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import FLOATS
from ..launches.program_layout import MayFail
from ..packing import Arguments, Elements


class Fallible(Arguments, MayFail):
    """The first arguments of all kernels of this file."""

    failed = Elements(int64)


class Classes(Fallible):
    targets = Elements(int64)
    ignored = Word()  # class
    number = Word()  # of classes


class Offsets(Fallible):
    starts = Elements(int64)  # where bags of indices begin
    number = Word()  # of starts
    count = Word()  # of indices
    ends = Word()  # whether the last one is the end of the last bag


class Values(Fallible):
    elements = Elements(element)


@kernel(takes=Classes)
def classes(args, lo, hi):
    """Fails if one of the int64 targets in [lo, hi) is neither a class nor the ignored one."""
    given = Classes(args)
    targets, ignored, number = given.targets, given.ignored, given.number
    wrong = int64(0)
    for k in range(lo, hi):
        target = load(targets, k, int64)
        wrong |= int64(target != ignored) & (int64(target < 0) | int64(target >= number))
    if wrong != 0 and load(given.failed, 0, int64) == 0:  # the first is told of
        store(given.failed, 0, given.failure, int64)


@kernel(takes=Offsets)
def offsets(args, lo, hi):
    """Fails if the starts in [lo, hi) are not those of bags that lie behind each other."""
    given = Offsets(args)
    starts, number, count, ends = given.starts, given.number, given.count, given.ends
    wrong = int64(0)
    for k in range(lo, hi):
        start = load(starts, k, int64)
        before = load(starts, k - 1, int64) if k > 0 else int64(0)
        wrong |= int64(start < before) | int64(start > count)
        if k == 0:
            wrong |= int64(start != 0)
        if ends != 0 and k == number - 1:
            wrong |= int64(start != count)
    if wrong != 0:
        store(given.failed, 0, given.failure, int64)


@kernel(variants=FLOATS, takes=Values)
def probabilities(args, lo, hi):
    """Fails if one of the elements in [lo, hi) is not in [0, 1]."""
    given = Values(args)
    elements = given.elements
    wrong = int64(0)
    for k in range(lo, hi):
        value = load(elements, k, element)
        wrong |= int64(not (value >= 0 and value <= 1))  # NaN is neither
    if wrong != 0 and load(given.failed, 0, int64) == 0:  # the first is told of
        store(given.failed, 0, given.failure, int64)


@kernel(variants=FLOATS, takes=Values)
def no_negatives(args, lo, hi):
    """Fails if one of the elements in [lo, hi) is below zero."""
    given = Values(args)
    elements = given.elements
    wrong = int64(0)
    for k in range(lo, hi):
        wrong |= int64(load(elements, k, element) < 0)
    if wrong != 0 and load(given.failed, 0, int64) == 0:  # the first is told of
        store(given.failed, 0, given.failure, int64)
