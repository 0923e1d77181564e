"""Launches of attention: its forward, and the gradients of queries, keys and values.

The entry ``attention`` of the seam, which ``executor/families/attention.py`` asks.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtype import computed_as, from_numpy, name_of
from ..executor.plan.forms import contiguous
from . import launches
from .array import CudaArray
from .driver import driver
from .kernels import attention as texts
from .launches import LaunchArgs, bits_of, blocks_for

if TYPE_CHECKING:
    from .backend import CudaBackend

#: The widest queries and values that have kernels; of float64 they are narrower.
WIDEST = 256

_source = functools.lru_cache(maxsize=256)(texts.source)


def takes(arrays: Sequence[CudaArray]) -> bool:
    """Whether the kernels compute these, whose shapes fit: queries, keys, values, and a mask."""
    query, key, value, *_ = arrays
    kinds = {name_of(x.dtype) for x in arrays}
    widest = max(query.shape[3], value.shape[3])
    if len(kinds) > 1 or not kinds < {"float16", "bfloat16", "float32", "float64"}:
        return False
    if len({x.block.device for x in arrays}) > 1 or widest > WIDEST:
        return False
    signature = _signature(texts.FORWARD, (query, key, value, None, False, 1.0))
    return signature.registers(widest) <= texts.MOST_REGISTERS


def _signature(what: str, operands: Sequence[Any]) -> texts.Signature:
    query, _, value, mask, causal, _ = operands
    block = driver().attention_block(_computed(query).itemsize, query.shape[3], value.shape[3])
    side = min(block, driver().attention_side)
    return texts.Signature(
        what, name_of(query.dtype), query.shape[3], value.shape[3], bool(causal),
        mask is not None, side, block,
    )  # fmt: skip


def _computed(array: CudaArray) -> np.dtype[Any]:
    made: np.dtype[Any] = computed_as(from_numpy(array.dtype)).numpy
    return made


def _run(what: str, operands: Sequence[Any], grad: Any, written: dict[str, Any]) -> None:
    """Launch a kernel; ``written`` are arrays by the names of their parameters."""
    query, key, value, mask, _, scale = operands
    signature = _signature(what, operands)
    given = {"query": query, "key": key, "value": value, "mask": mask, "grad": grad}
    samples, heads, queries, _ = query.shape
    keys = key.shape[2]
    launch_args = LaunchArgs()
    for name in ("query", "key", "value", "mask", "grad"):
        launch_args.add(0 if given[name] is None else given[name].address)
    for name in ("result", "logarithms", "products", "more"):
        launch_args.add(written[name].address if name in written else 0)
    launch_args.add(bits_of(scale, _computed(query).name), heads, samples * heads, queries, keys)
    for name in ("query", "key", "value", "mask", "grad"):
        launch_args.add(*_strides(given[name]))
    made = _source(signature)
    if what == texts.PRODUCTS:
        blocks = blocks_for(samples * heads * queries, made.threads)
    else:
        rows = queries if what in (texts.FORWARD, texts.OF_QUERIES) else keys
        blocks = blocks_for(samples * heads * -(-rows // signature.block), 1)
    launch = launch_args.launch(made, blocks)
    launches.run([launch], lambda memory: memory.address, (), query.block.device)


def _strides(array: CudaArray | None) -> tuple[int, ...]:
    """In elements; 0 along dimensions that repeat or are not there."""
    if array is None:
        return (0,) * 4
    own = zip(array.shape, array.strides, strict=True)
    steps = [0 if size == 1 else stride // array.itemsize for size, stride in own]
    return (*[0] * (4 - len(steps)), *steps)


def forward(where: CudaBackend, *operands: Any) -> tuple[CudaArray, CudaArray]:
    """The result (N, heads, queries, width of values), and the logarithm of the sum of each query.

    Operands are queries, keys, values, a mask of numbers or None, whether it is causal, the scale.
    """
    query, _, value, *_ = operands
    made = where.new(contiguous((*query.shape[:3], value.shape[3]), query.dtype), query)
    logarithms = where.new(contiguous(query.shape[:3], _computed(query)), query)
    _run(texts.FORWARD, operands, None, {"result": made, "logarithms": logarithms})
    return made, logarithms


def backward(
    where: CudaBackend,
    grad: CudaArray,
    operands: Sequence[Any],
    made: CudaArray,
    logarithms: CudaArray,
) -> tuple[CudaArray, CudaArray, CudaArray]:
    """The gradients of queries, keys and values; ``made`` and ``logarithms`` are the forward's."""
    query, key, value = operands[:3]
    products = where.new(contiguous(query.shape[:3], logarithms.dtype), query)
    _run(texts.PRODUCTS, operands, grad, {"result": made, "products": products})
    known = {"logarithms": logarithms, "products": products}
    grads = [where.new(contiguous(x.shape, x.dtype), x) for x in (query, key, value)]
    _run(texts.OF_QUERIES, operands, grad, {"result": grads[0], **known})
    for what in texts.gradients_of_keys(_signature(texts.OF_BOTH, operands)):
        _run(what, operands, grad, {"result": grads[1], "more": grads[2], **known})
    return grads[0], grads[1], grads[2]
