"""The arrays that launchers would make: their shapes, dtypes and strides, without the elements.

For who records calls without the launchers (``tracer.py``, ``run_single.py``). Each function
returns None for a call that is not of the ordinary kind: one that a launcher refuses, or does more
for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtype import can_cast, from_numpy
from ...kernels import layout
from .operations import Array

#: Numbers of a smaller magnitude are exact, or at least finite, in every dtype for fractions.
_ORDINARY = 2.0**53


def pointwise_outputs(
    program: Any, inputs: tuple[Any, ...], into: Array | None = None
) -> tuple[Array, ...] | None:
    """The outputs of a call of a ``PointwiseProgram``; ``into`` if that is what it writes.

    Raises what the call would raise for the dtypes of its operands.
    """
    formula = program.formula
    arrays = [x for x in inputs if isinstance(x, np.ndarray)]
    given = arrays if into is None else [*arrays, into]
    if not arrays or not all([_is_plain(x) for x in given]):
        return None
    try:
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
    except ValueError:
        return None
    outputs = len(formula.outputs)
    rank = len(shape)
    if rank > layout.MAX_DIMENSIONS or len(inputs) + outputs > layout.MAX_OPERANDS:
        return None
    result = program.result_dtype(inputs)
    compute, numbers = program.signature_of(inputs, np.empty((0,) * rank))
    if program.refuses_zero_divisors and not compute.is_floating_point:
        return None
    for name, x, kind in zip(formula.inputs, inputs, numbers, strict=True):
        converted = name in program.weak_dtype_inputs and not compute.is_floating_point
        if kind is not None and (converted or not _is_ordinary(x, kind)):
            return None
    if into is None:
        strides = strides_of_output(arrays, shape)
        return tuple([empty(shape, strides, result.numpy) for _ in range(outputs)])
    stored = from_numpy(into.dtype)
    if into.shape != shape or outputs > 1 or not can_cast(result, stored) or _repeats(into):
        return None
    return (into,) if all([apart_or_same(x, into) for x in arrays]) else None


def reduced(program: Any, array: Array, mask: int, keepdim: bool) -> tuple[Array, ...] | None:
    """The results of a ``ReductionProgram`` for an array."""
    if not _is_plain(array) or array.ndim > layout.MAX_DIMENSIONS:
        return None
    kept = [(size, (mask >> d) & 1) for d, size in enumerate(array.shape)]
    shape = [1 if gone else size for size, gone in kept if keepdim or not gone]
    return tuple([np.empty(shape, x.numpy) for x in program.results(from_numpy(array.dtype))])


def row_results(program: Any, arrays: tuple[Array, ...]) -> tuple[Array, ...] | None:
    """The results of a ``RowwiseProgram`` for contiguous arrays."""
    if not all([_is_plain(x) and x.flags.c_contiguous for x in arrays]):
        return None
    kinds = program.results(from_numpy(arrays[0].dtype))
    return tuple([np.empty(arrays[0].shape, kind.numpy) for kind in kinds])


def product(a: Array, b: Array) -> Array | None:
    """What the matrix product makes of two stacks of matrices."""
    if a.dtype != b.dtype or a.dtype.kind != "f" or a.itemsize < 4:
        return None
    if a.ndim != b.ndim or not 2 <= a.ndim <= 4 or a.shape[-1] != b.shape[-2]:
        return None
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.empty((*batch, a.shape[-2], b.shape[-1]), a.dtype)


def _is_plain(array: Array) -> bool:
    """Whether kernels read an array as it is."""
    return (
        array.__class__ is np.ndarray
        and array.dtype.kind in "fiubV"
        and array.dtype.isnative
        and not any([stride < 0 for stride in array.strides])
    )


def _is_ordinary(number: Any, kind: str) -> bool:
    """Whether a Python number reaches a kernel in a dtype without a question."""
    if kind == "bool":
        return number.__class__ is bool
    if number.__class__ is float:
        return kind.startswith("float") and (abs(number) < _ORDINARY or not math.isfinite(number))
    if number.__class__ is bool:
        return True
    if number.__class__ is not int:
        return False
    if kind.startswith("float"):
        return abs(number) < _ORDINARY
    limits = np.iinfo(kind)
    return bool(limits.min <= number <= limits.max)


def strides_of_output(arrays: list[Array], shape: tuple[int, ...]) -> list[int]:
    """Steps of a new output in elements: dense, in the order in which operands lie.

    As ``native/broadcast.py`` decides it: the first operand that has a say about two dimensions.
    """
    rank = len(shape)
    steps = [
        (0,) * (rank - x.ndim)
        + tuple([0 if n == 1 else step for n, step in zip(x.shape, x.strides, strict=True)])
        for x in arrays
    ]
    order: list[int] = []
    for d in range(rank):
        position = d
        while position > 0 and _belongs_outside(steps, order[position - 1], d):
            position -= 1
        order.insert(position, d)
    strides, step = [0] * rank, 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return strides


def _belongs_outside(steps: list[tuple[int, ...]], first: int, second: int) -> bool:
    for own in steps:
        if own[first] and own[second] and own[first] != own[second]:
            return own[second] > own[first]
    return False


def empty(shape: tuple[int, ...], strides: list[int], dtype: np.dtype[Any]) -> Array:
    """A new array that owns dense memory with these steps."""
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    if order == list(range(len(shape))):
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, strides=[step * dtype.itemsize for step in strides])


def _repeats(array: Array) -> bool:
    """Whether an array has elements in one place of memory."""
    steps = zip(array.strides, array.shape, strict=True)
    return bool(array.size) and any([step == 0 and size > 1 for step, size in steps])


def apart_or_same(array: Array, output: Array) -> bool:
    """Whether an operand shares no memory with the output, or is that, element for element."""
    if not np.may_share_memory(array, output):
        return True
    return (
        array.__array_interface__["data"][0] == output.__array_interface__["data"][0]
        and array.shape == output.shape
        and array.strides == output.strides
        and array.dtype == output.dtype
    )


__all__ = ["pointwise_outputs", "product", "reduced", "row_results"]
