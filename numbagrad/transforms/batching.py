"""Rules for batches: how an operator on every sample becomes operators on all samples at once.

Operators name one of these functions as their ``batch``, or bring their own; see ``dispatch.py``
for what a rule is given. They are written in Tensor operations, so that what they compute has a
history, and may itself be under a transformation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd import tensor_interface as tensors
from ..tensor import Tensor

__all__ = ["aligned", "broadcast_samples", "for_samples", "one_by_one", "with_samples"]


def rank_of(value: Tensor, mapped: bool) -> int:
    """Number of dimensions of one sample."""
    return value._array.ndim - mapped


def with_samples(size: int, value: Tensor, mapped: bool) -> Tensor:
    """The value with samples along its first dimension, repeated without a copy if need be."""
    return value if mapped else value.expand((size, *value._array.shape))


def aligned(value: Any, mapped: bool, rank: int) -> Any:
    """A batch whose samples have at least ``rank`` dimensions, so that it meets those of others."""
    if not mapped:
        return value
    shape = value._array.shape
    missing = rank + 1 - len(shape)
    if missing <= 0:
        return value
    return value.reshape((shape[0], *(1,) * missing, *shape[1:]))


def _unpromoting(operands: list[Any], ranks: Sequence[int]) -> list[Any]:
    """Samples without dimensions do not promote the dtype of others of their kind, so cast them.

    Along the samples they have a dimension, and would.
    """
    others = [
        x._array.dtype for x, rank in zip(operands, ranks, strict=True)
        if isinstance(x, Tensor) and rank
    ]  # fmt: skip
    strongest = np.result_type(*others)
    return [
        tensors.cast(x, strongest)
        if isinstance(x, Tensor) and not rank and _kind(x._array.dtype) <= _kind(strongest)
        else x
        for x, rank in zip(operands, ranks, strict=True)
    ]


def _kind(dtype: np.dtype[Any]) -> int:
    return "biufc".index("i" if dtype.kind == "u" else dtype.kind)


def one_by_one(
    operator: Any, size: int, arguments: Sequence[Any], mapped: Sequence[Any]
) -> Tensor | tuple[Tensor, ...]:
    """The operator once for every sample, and the results stacked.

    Raises:
        RuntimeError: if the samples have results of different shapes, or if there are no samples.
    """
    from ..ops.join import stack

    if size == 0:
        raise RuntimeError(
            f"vmap: {operator.name} has no rule for a batch and is run sample by sample, which "
            "needs at least one sample"
        )
    rows = [
        operator(*[_sample(argument, is_mapped, number) for argument, is_mapped
                   in zip(arguments, mapped, strict=True)])
        for number in range(size)
    ]  # fmt: skip
    if rows[0].__class__ is tuple:
        return tuple([_stacked(operator, stack, column) for column in zip(*rows, strict=True)])
    return _stacked(operator, stack, rows)


def _stacked(operator: Any, stack: Callable[..., Tensor], results: Sequence[Tensor]) -> Tensor:
    shapes = {result._array.shape for result in results}
    if len(shapes) > 1:
        raise RuntimeError(
            f"vmap: {operator.name} gives results of different shapes for different samples "
            f"({', '.join(map(str, sorted(shapes)))}), which do not make one tensor"
        )
    return stack(list(results), 0)


def _sample(argument: Any, mapped: Any, number: int) -> Any:
    if mapped.__class__ is list:
        return [_sample(x, each, number) for x, each in zip(argument, mapped, strict=True)]
    return argument.select(0, number) if mapped else argument


def for_samples(function: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for operators of one Tensor: ``function(value, rank, *values)``.

    ``rank`` is the number of dimensions of a sample; ``value`` has one more, in front.
    """

    def rule(operator: Any, size: int, arguments: Sequence[Any], mapped: Sequence[Any]) -> Any:
        value, *values = arguments
        return function(value, value._array.ndim - 1, *values)

    return rule


def broadcast_samples(operands: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """Operands of a broadcasting operator, aligned so that samples meet samples."""
    ranks = [
        rank_of(x, is_mapped) if isinstance(x, Tensor) else 0
        for x, is_mapped in zip(operands, mapped, strict=True)
    ]
    rank = max(ranks)
    together = [aligned(x, is_mapped, rank) for x, is_mapped in zip(operands, mapped, strict=True)]
    return _unpromoting(together, ranks) if rank and 0 in ranks else together
