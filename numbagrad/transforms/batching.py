"""Rules for batches: how an operator on every sample becomes operators on all samples at once.

Operators name one of these functions as their ``batch``, or bring their own;
``dispatch/transformations.py`` says what a rule is given. They are written in Tensor operations, so
that what they compute has a history, and may itself be under a transformation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd import tensor_interface as tensors
from ..tensor import Tensor

__all__ = [
    "after_samples", "aligned", "aligned_stacks", "broadcast_samples", "folded", "one_by_one",
    "over_dimensions", "part_of_samples", "samples_first", "stacked", "with_samples",
]  # fmt: skip

Rule = Callable[[Any, int, Sequence[Any], Sequence[Any]], Any]


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


def _unpromoting(operands: list[Any], ranks: Sequence[int | None]) -> list[Any]:
    """Samples without dimensions do not promote the dtype of others of their kind, so cast them.

    Along the samples they have a dimension, and would.
    """
    others = [
        x._array.dtype for x, rank in zip(operands, ranks, strict=True)
        if isinstance(x, Tensor) and rank
    ]  # fmt: skip
    strongest = np.result_type(*others)
    # Beside complex numbers real ones stay real, which operators were chosen for.
    real = np.dtype(f"f{strongest.itemsize // 2}") if strongest.kind == "c" else strongest
    return [
        tensors.cast(x, strongest if x._array.dtype.kind == "c" else real)
        if isinstance(x, Tensor) and not rank and _kind(x._array.dtype) <= _kind(strongest)
        else x
        for x, rank in zip(operands, ranks, strict=True)
    ]


def _kind(dtype: np.dtype[Any]) -> int:
    return "biufc".index({"u": "i", "V": "f"}.get(dtype.kind, dtype.kind))


def one_by_one(
    operator: Any, size: int, arguments: Sequence[Any], mapped: Sequence[Any]
) -> Tensor | tuple[Tensor, ...]:
    """The operator once for every sample, and the results stacked.

    Raises:
        RuntimeError: if the samples have results of different shapes, or if there are no samples.
    """
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
        return tuple([_stacked(operator, column) for column in zip(*rows, strict=True)])
    return _stacked(operator, rows)


def _stacked(operator: Any, results: Sequence[Tensor]) -> Tensor:
    shapes = {result._array.shape for result in results}
    if len(shapes) > 1:
        raise RuntimeError(
            f"vmap: {operator.name} gives results of different shapes for different samples "
            f"({', '.join(map(str, sorted(shapes)))}), which do not make one tensor"
        )
    return tensors.stack(list(results))


def _sample(argument: Any, mapped: Any, number: int) -> Any:
    if mapped.__class__ is list:
        return [_sample(x, each, number) for x, each in zip(argument, mapped, strict=True)]
    return argument.select(0, number) if mapped else argument


# --- parameters of all samples --------------------------------------------------------------------


def after_samples(dims: Any, size: int) -> Any:
    """A dimension of a sample, or several, as those of all samples."""
    return dims + 1 if dims.__class__ is int else tuple([dim + 1 for dim in dims])


def samples_first(shape: Any, size: int) -> tuple[int, ...]:
    """The shape of a sample as that of all."""
    return (size, *shape)


def part_of_samples(key: Any, size: int) -> tuple[Any, ...]:
    """A basic index of a sample as one of all samples."""
    return (slice(None), *key)


def stacked(like: str = "", **parameters: Callable[[Any, int], Any]) -> Rule:
    """A rule for an operator that can be told where the dimensions of a sample are.

    ``parameters`` has for the name of a parameter of the operator the function that turns the value
    for one sample into that for all, given their number: of those above, ``dim=after_samples``. An
    operator without such parameters takes any dimensions in front.

    Where dimensions are named, a sample without any is given one, which the results lose again if
    the argument named ``like`` (the first one, unless given) had none.
    """
    positions: list[tuple[int, Callable[[Any, int], Any]]] = []
    decisive: list[int] = []
    lifts = after_samples in parameters.values() and samples_first not in parameters.values()

    def rule(operator: Any, size: int, arguments: Sequence[Any], mapped: Sequence[Any]) -> Any:
        if not decisive:
            names = operator.parameters
            positions.extend([(names.index(name), how) for name, how in parameters.items()])
            decisive.append(names.index(like) if like else 0)
        values = [_for_all(x, m, size) for x, m in zip(arguments, mapped, strict=True)]
        for position, how in positions:
            if position < len(values):
                values[position] = how(values[position], size)
        if lifts:
            lifted = values[decisive[0]]._array.ndim == 1
            values = [_lifted(x) if x.__class__ is not list else [*map(_lifted, x)] for x in values]
            if lifted:
                return _each(operator(*values), lambda made: made.squeeze(1))
        return operator(*values)

    return rule


def _for_all(argument: Any, mapped: Any, size: int) -> Any:
    if isinstance(argument, Tensor):
        return with_samples(size, argument, mapped)
    if mapped.__class__ is list:
        return [_for_all(x, m, size) for x, m in zip(argument, mapped, strict=True)]
    return argument


def _lifted(value: Any) -> Any:
    """Samples without dimensions as samples of one."""
    return value.unsqueeze(1) if isinstance(value, Tensor) and value._array.ndim == 1 else value


def _each(made: Any, function: Callable[[Tensor], Tensor]) -> Any:
    return tuple([function(x) for x in made]) if made.__class__ is tuple else function(made)


def over_dimensions(operator: Any, size: int, arguments: Sequence[Any], mapped: Any) -> Any:
    """A rule for reductions ``(input, mask of dimensions, keepdim, ...)`` of one Tensor."""
    input, mask, keepdim, *rest = arguments
    rank = input._array.ndim - 1
    if rank == 0:
        return operator(input.unsqueeze(1), 2, False, *rest)
    return operator(input, (((1 << rank) - 1) if mask == -1 else mask) << 1, keepdim, *rest)


def folded(operator: Any, size: int, arguments: Sequence[Any], mapped: Sequence[Any]) -> Any:
    """A rule for operators whose Tensors all begin with a batch: the samples are more of it."""
    values = [
        _folded(with_samples(size, x, m)) if isinstance(x, Tensor) else x
        for x, m in zip(arguments, mapped, strict=True)
    ]
    return _each(operator(*values), lambda made: made.unflatten(0, (size, -1)))


def _folded(value: Tensor) -> Tensor:
    return value.flatten(0, 1)


def aligned_stacks(operands: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """Operands whose leading dimensions broadcast, aligned so that samples meet samples."""
    rank = max([rank_of(x, m) for x, m in zip(operands, mapped, strict=True)])
    return [aligned(x, m, rank) for x, m in zip(operands, mapped, strict=True)]


def broadcast_samples(operands: list[Any], mapped: Sequence[bool]) -> list[Any]:
    """Operands of a broadcasting operator, aligned so that samples meet samples."""
    if len(operands) == 1:
        return operands
    rank = -1
    ranks: list[int | None] = []
    alike = True
    for x, is_mapped in zip(operands, mapped, strict=True):
        own = x._array.ndim - is_mapped if isinstance(x, Tensor) else None
        ranks.append(own)
        if own is not None and own != rank:
            alike = rank < 0
            rank = max(own, rank)
    if alike:
        return operands
    together = [aligned(x, is_mapped, rank) for x, is_mapped in zip(operands, mapped, strict=True)]
    return _unpromoting(together, ranks) if rank and 0 in ranks else together
