"""Kernels that look for values an operator does not take, and note it if there is one.

``executor/checks.py`` runs them. Their first words are those of a launch that may fail
(``program_layout.py``): where a failure is noted, and as what. Imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import int64, load, store
from ..codegen.kernel import element, kernel
from .dtypes import FLOATS
from .packing import Words
from .program_layout import FAILED, FAILURE


@kernel(takes=Words(failed=int64, failure=int, targets=int64, ignored=int, number=int))
def classes(args, lo, hi):
    """Fails if one of the int64 targets in [lo, hi) is neither a class nor the ignored one.

    Words behind the first two: targets, ignored class, number of classes.
    """
    targets = load(args, 2, int64)
    ignored = load(args, 3, int64)
    number = load(args, 4, int64)
    wrong = int64(0)
    for k in range(lo, hi):
        target = load(targets, k, int64)
        wrong |= int64(target != ignored) & (int64(target < 0) | int64(target >= number))
    if wrong != 0:
        store(load(args, FAILED, int64), 0, load(args, FAILURE, int64), int64)


@kernel(variants=FLOATS, takes=Words(failed=int64, failure=int, elements=element))
def probabilities(args, lo, hi):
    """Fails if one of the elements in [lo, hi) is not in [0, 1]. Third word: the elements."""
    elements = load(args, 2, int64)
    wrong = int64(0)
    for k in range(lo, hi):
        value = load(elements, k, element)
        wrong |= int64(not (value >= 0 and value <= 1))  # NaN is neither
    if wrong != 0:
        store(load(args, FAILED, int64), 0, load(args, FAILURE, int64), int64)


@kernel(variants=FLOATS, takes=Words(failed=int64, failure=int, elements=element))
def no_negatives(args, lo, hi):
    """Fails if one of the elements in [lo, hi) is below zero. Third word: the elements."""
    elements = load(args, 2, int64)
    wrong = int64(0)
    for k in range(lo, hi):
        wrong |= int64(load(elements, k, element) < 0)
    if wrong != 0:
        store(load(args, FAILED, int64), 0, load(args, FAILURE, int64), int64)
