"""Products of stacks of matrices of bfloat16 where the CPU has an instruction for them.

Called by ``matmul.py``; runs what ``kernels/matmul/pairs.py`` holds. Elsewhere, and for
products too small to be worth the copies, operands are converted to float32.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...backend import foreign
from ...codegen import loader
from ...dtype import bfloat16, float32
from ...kernels.matmul.layout import (
    PAIR_BLOCK_BYTES,
    PAIR_COLUMNS,
    PAIR_ROWS,
    pairs_in_place,
)
from ..hand_written import HandWrittenKernel
from ..memory.arrays import copied, new_array

Array = np.ndarray[Any, Any]

#: Steps of a product from which on it is worth the copies.
_LEAST = 1 << 13

#: Pairs that are worth a thread of their own where they are packed, and where they are multiplied.
_PACKING_GRAIN, _GRAIN = 1 << 15, 1 << 19

_INT32 = np.dtype(np.int32)


@functools.cache
def _kernel(name: str) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.matmul.pairs", name)


@functools.lru_cache(maxsize=8)
def _multiplies(target: loader.Target) -> bool:
    """Whether a CPU has the instruction; its features are a text of some hundred names."""
    return target.multiplies_bfloat16


def bfloat16_product(a: Array, b: Array, rounded: bool) -> Array | None:
    """``a @ b`` of bfloat16, rounded or as float32; None if float32 products had better do it.

    Stacks of matrices with at most one leading dimension, which broadcasts; shapes are checked.
    """
    if a.dtype != bfloat16.numpy or b.dtype != a.dtype or max(a.ndim, b.ndim) > 3:
        return None
    if foreign(a) is not None or foreign(b) is not None:
        return None
    rows, depth, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    stacks = [x.shape[0] if x.ndim == 3 else 1 for x in (a, b)]
    batch = 0 if 0 in stacks else max(stacks)
    if batch * rows * columns * depth < _LEAST or not _multiplies(loader.target()):
        return None
    if a.flags.c_contiguous and pairs_in_place(columns, depth):
        packed_a, a_steps = a, (depth // 2, 1)
    else:
        packed_a, a_steps = _packed(a, rows, -2, PAIR_ROWS), (1, PAIR_ROWS)
    packed_b = _packed(b, columns, -1, PAIR_COLUMNS)
    pairs = (depth + 1) // 2
    leading = (batch,) if 3 in (a.ndim, b.ndim) else ()
    kind = bfloat16 if rounded else float32
    made = new_array((*leading, rows, columns), kind.numpy)
    panels = -(-columns // PAIR_COLUMNS)
    block = min(max(PAIR_BLOCK_BYTES // (4 * PAIR_COLUMNS * pairs), 1), panels)
    units = batch * -(-panels // block) * -(-rows // PAIR_ROWS)
    grain = max(_GRAIN // (PAIR_ROWS * PAIR_COLUMNS * block * pairs), 1)
    steps = [
        0 if n == 1 else x.nbytes // (4 * n)
        for n, x in zip(stacks, (packed_a, packed_b), strict=True)
    ]
    _kernel(f"multiply_{kind.name}")(
        units, grain, made, packed_a, packed_b, rows, columns, pairs, *a_steps, *steps, block
    )
    return made


def _packed(x: Array, count: int, dim: int, width: int) -> Array:
    """Panels of an operand, whose rows (A) or columns (B) are dimension ``dim``."""
    source = x if x.flags.c_contiguous else x.swapaxes(-1, -2)
    if not source.flags.c_contiguous:
        source = copied(x)
        x = source
    strides = [stride // 2 for stride in x.strides[-2:]]
    across, step = strides if dim == -2 else reversed(strides)
    matrix = math.prod(x.shape[-2:])
    depth, stack = matrix // count, x.size // matrix
    panels, pairs = -(-count // width), (depth + 1) // 2
    made = new_array((stack, panels, pairs, width), _INT32)
    grain = max(_PACKING_GRAIN // (pairs * width), 1)
    _kernel("pack_pairs")(
        stack * panels, grain, made, source, count, depth, across, step, matrix, width
    )
    return made
