"""Attention on ndarrays: softmax of scores times values by blocks, and its gradients.

Called by ``nn/functional/attention.py``; runs what ``kernels/attention/blocks.py`` holds. Beside
its result the forward keeps one number for each query.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend import foreign, foreign_among
from ...kernels.attention import layout as w
from .. import capture
from ..hand_written import HandWrittenKernel, with_scratch
from ..memory.arrays import constant, in_c_order, new_array

__all__ = ["backward", "forward", "takes"]

Array = np.ndarray[Any, Any]

#: Scores below which fused operators, which keep them all, are as fast.
_FEW = 1 << 18


@functools.cache
def _kernel(name: str, dtype: str, writes: int) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.attention.blocks", f"{name}_{dtype}", writes=writes)


def takes(query: Array, key: Array, value: Array, mask: Array | None) -> bool:
    """Whether the kernels compute attention of these: of four dimensions, which fit, not small."""
    given = [query, key, value, *([] if mask is None else [mask])]
    where = foreign_among(given)
    kinds = {x.dtype for x in given}
    if where is None and kinds not in ({np.dtype(np.float32)}, {np.dtype(np.float64)}):
        return False
    if not query.ndim == key.ndim == value.ndim == 4 or not all([x.size for x in given]):
        return False
    heads, queries, keys = query.shape[:2], query.shape[2], key.shape[2]
    shape = *heads, queries, keys
    fits = (
        key.shape[:2] == value.shape[:2] == heads
        and key.shape[3] == query.shape[3] <= w.WIDEST
        and value.shape[2] == keys
        and value.shape[3] <= w.WIDEST
        and (mask is None or _broadcasts(mask.shape, shape))
    )
    if where is not None:
        return fits and where.takes_attention(given)
    return fits and heads[0] * heads[1] * queries * keys >= _FEW


def _broadcasts(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    padded = (1,) * (len(shape) - len(given)) + given
    return len(padded) == len(shape) and all(
        [x in (1, size) for x, size in zip(padded, shape, strict=True)]
    )


@functools.lru_cache(maxsize=256)
def _sizes(
    shape: tuple[int, ...], keys: int, wide: int, causal: bool, mask: tuple[int, ...] | None
) -> Array:
    """The words of sizes, for queries of a shape."""
    sizes = w.Sizes()
    sizes.heads, sizes.queries, sizes.width = shape[1:]
    sizes.keys, sizes.value_width, sizes.causal = keys, wide, causal
    if mask is not None:
        padded = (1,) * (4 - len(mask)) + mask
        steps = [
            math.prod(padded[position + 1 :]) * (padded[position] > 1) for position in range(4)
        ]
        sizes.mask_batch, sizes.mask_head, sizes.mask_query, sizes.mask_key = steps
    sizes.words.flags.writeable = False
    return sizes.words


@functools.lru_cache(maxsize=256)
def _number(value: float, dtype: str) -> Array:
    made = np.array([value], dtype)
    made.flags.writeable = False
    return made


def _constant(array: Array) -> Array:
    """An array of constants; a program keeps its own."""
    if capture.active is None:
        return array
    made: Array = constant(array.copy())
    return made


def forward(
    query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float
) -> tuple[Array, Array]:
    """The result (N, heads, queries, width of values), and the logarithm of the sum of each query.

    The mask is one of numbers, which broadcasts to (N, heads, queries, keys).
    """
    if (where := foreign(query)) is not None:
        given = [query, key, value, mask, causal, scale]
        elsewhere: tuple[Array, Array] = capture.forward("attention", where.attention, given)
        return elsewhere
    samples, heads, queries, _ = query.shape
    dtype, wide = query.dtype, value.shape[3]
    made = new_array((samples, heads, queries, wide), dtype)
    logarithms = np.empty((samples, heads, queries), dtype)
    sizes = _sizes(query.shape, key.shape[2], wide, causal, None if mask is None else mask.shape)
    with_scratch(_kernel("attend", dtype.name, 2), 8)(
        samples * heads * -(-queries // w.QUERY_BLOCK), 1, made, logarithms, in_c_order(query),
        in_c_order(key), in_c_order(value), 0 if mask is None else in_c_order(mask),
        _constant(sizes), _constant(_number(scale, dtype.name)),
    )  # fmt: skip
    return made, logarithms


def backward(
    grad: Array, operands: Sequence[Any], made: Array, logarithms: Array
) -> tuple[Array, Array, Array]:
    """The gradients of queries, keys and values.

    ``operands`` are those of the forward, which returned ``made`` and ``logarithms``.
    """
    query, key, value, mask, causal, scale = operands
    if (where := foreign(query)) is not None:
        given = [grad, tuple(operands), made, logarithms]
        there: tuple[Array, Array, Array] = capture.forward(
            "attention_backward", where.attention_backward, given
        )
        return there
    grads = [new_array(x.shape, x.dtype) for x in (query, key, value)]
    mask_shape = None if mask is None else mask.shape
    sizes = _sizes(query.shape, key.shape[2], value.shape[3], causal, mask_shape)
    dtype = query.dtype.name
    with_scratch(_kernel("attend_backward", dtype, 3), 12)(
        query.shape[0] * query.shape[1], 1, *grads, made, logarithms, in_c_order(query),
        in_c_order(key), in_c_order(value), 0 if mask is None else in_c_order(mask),
        _constant(sizes), _constant(_number(scale, dtype)), in_c_order(grad),
    )  # fmt: skip
    return grads[0], grads[1], grads[2]
