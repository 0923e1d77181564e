"""Iteration spaces: dimensions in the order of memory, merged, and packed as kernels read them.

Called by whatever lowers a kernel that walks through strided operands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernels import layout

Shape = tuple[int, ...]
Steps = list[list[int]]


def merged(shape: Shape, strides: Sequence[Shape]) -> tuple[list[int], Steps]:
    """Dimensions in the order of memory, neighbours that are one run merged, those of size 1 gone.

    ``strides`` has an entry an operand; the last decides the order. Returns sizes and, for each
    operand, strides; no dimension is left of a single element.
    """
    kept = [d for d in range(len(shape)) if shape[d] != 1]
    kept.sort(key=lambda d: -abs(strides[-1][d]))
    sizes: list[int] = []
    steps: Steps = [[] for _ in strides]
    for d in kept:
        size = shape[d]
        if sizes and all(
            [own[-1] == given[d] * size for own, given in zip(steps, strides, strict=True)]
        ):
            sizes[-1] *= size
            for own, given in zip(steps, strides, strict=True):
                own[-1] = given[d]
        else:
            sizes.append(size)
            for own, given in zip(steps, strides, strict=True):
                own.append(given[d])
    return sizes, steps


def around(shape: Shape, dim: int) -> tuple[int, int, int]:
    """A shape as (outer, size, inner) around one dimension; () counts as (1,)."""
    outer = inner = 1
    for size in shape[:dim]:
        outer *= size
    for size in shape[dim + 1 :]:
        inner *= size
    return outer, shape[dim] if shape else 1, inner


def pointwise_words(
    sizes: Sequence[int], steps: Sequence[Sequence[int] | None]
) -> tuple[np.ndarray[Any, Any], int]:
    """The arguments of a pointwise kernel but for addresses, and how many elements it walks.

    ``steps`` has an entry an operand; None for a number.
    """
    launch_args = np.zeros(operand_word(len(steps)), dtype=np.int64)
    launch_args[layout.ARGUMENT_DIMENSIONS] = len(sizes)
    launch_args[layout.ARGUMENT_SIZES : layout.ARGUMENT_SIZES + len(sizes)] = sizes
    for position, own in enumerate(steps):
        if own is not None:
            start = operand_word(position) + 1
            launch_args[start : start + len(own)] = own
    return launch_args, math.prod(sizes)


def operand_word(position: int) -> int:
    """The word of a pointwise kernel's arguments that has the address of an operand."""
    return layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS * position
