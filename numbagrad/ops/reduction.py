"""Reductions: sums, products, extrema, norms and their relatives over any dimensions.

What each computes is a ``Reduction`` (``executor/reduction.py``); here are torch's functions, the
errors for bad dimensions, and the gradients, written in Tensor operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd import tensor_interface as tensors
from ..autograd.grad_mode import state as grad_mode
from ..autograd.node import Node, edge_of, next_sequence_nr
from ..dtype import dtype as DType
from ..executor.builtin import LaunchMiss
from ..executor.pointwise import scalar_type_name
from ..executor.reduction import Reduction, ReductionProgram
from ..tensor import Tensor, new_tensor
from .registry import method
from .view import dimension, dimensions, expand

__all__ = ["mean", "sum"]

_new = object.__new__
_ndarray = np.ndarray
_make_array = np.ndarray.__new__

#: The mask that means all dimensions.
ALL = -1

# --- dimensions -----------------------------------------------------------------------------------


def mask_of(dim: Any, rank: int) -> int:
    """The dimensions in ``dim`` (an int, several, or None for all) as a mask of bits."""
    if dim is None:
        return ALL
    if dim.__class__ is int:
        return 1 << dimension(rank, dim)
    mask = 0
    for d in dimensions(rank, dim) if isinstance(dim, Sequence) else [dimension(rank, int(dim))]:
        mask |= 1 << d
    return mask or ALL


def kept_shape(shape: tuple[int, ...], mask: int) -> tuple[int, ...]:
    """``shape`` with 1 for the reduced dimensions: that of the result with ``keepdim``."""
    return tuple([1 if (mask >> d) & 1 else size for d, size in enumerate(shape)])


def count_of(shape: tuple[int, ...], mask: int) -> int:
    """Number of elements that are reduced to one."""
    count = 1
    for d, size in enumerate(shape):
        if (mask >> d) & 1:
            count *= size
    return count


def with_dims(reduced: Tensor, shape: tuple[int, ...], mask: int) -> Tensor:
    """A result without ``keepdim`` (or with) given back its reduced dimensions, as size 1."""
    if reduced._array.ndim == len(shape):
        return reduced
    return reduced.reshape(kept_shape(shape, mask))


def spread(grad: Tensor, shape: tuple[int, ...], mask: int) -> Tensor:
    """The gradient of a sum: ``grad`` repeated, without a copy, to the shape of what was summed."""
    if grad._array.ndim == 0 and not grad_mode.enabled:
        array = grad._array
        return new_tensor(_make_array(_ndarray, shape, array.dtype, array, 0, (0,) * len(shape)))
    return expand(with_dims(grad, shape, mask), shape)


# --- sum and mean ---------------------------------------------------------------------------------


class SumNode(Node):
    """Node of a sum or mean. Keeps what the gradient is made of: no tensor."""

    __slots__ = ("shape", "mask", "divisor", "dtype")

    shape: tuple[int, ...]
    mask: int
    divisor: int
    dtype: Any

    def backward(self, grad: Tensor | None) -> tuple[Tensor | None]:  # type: ignore[override]
        """``grad`` (over the count, for a mean) for every element."""
        if grad is None:
            return (None,)
        if self.divisor != 1:
            grad = grad / self.divisor
        if grad._array.dtype != self.dtype:
            grad = tensors.cast(grad, self.dtype)
        return (spread(grad, self.shape, self.mask),)


def _node_class(name: str) -> type[SumNode]:
    return type(name, (SumNode,), {"__slots__": ()})


class LinearReduction:
    """A sum or a mean: reductions whose gradient does not depend on the values."""

    __slots__ = ("definition", "program", "programs", "nodes", "divides")

    def __init__(self, definition: Reduction, nodes: tuple[str, str], divides: bool):
        self.definition = definition
        self.program = ReductionProgram(definition)
        self.programs: dict[DType | None, ReductionProgram] = {None: self.program}
        self.nodes = tuple([_node_class(name) for name in nodes])
        self.divides = divides

    def program_for(self, requested: DType) -> ReductionProgram:
        """The program that computes in a requested dtype."""
        program = self.programs.get(requested)
        if program is None:
            program = self.programs[requested] = ReductionProgram(self.definition, requested)
        return program

    def __call__(self, input: Tensor, mask: int, keepdim: bool, dtype: DType | None) -> Tensor:
        array = input._array
        program = self.program if dtype is None else self.program_for(dtype)
        try:
            made = program.call(array, mask, keepdim)
        except LaunchMiss as miss:
            made = program.resolve(miss, array, mask, keepdim)
        result = new_tensor(made)
        if input._requires_grad and grad_mode.enabled and made.dtype.kind == "f":
            node = _new(self.nodes[mask != ALL])
            node.next_edges = (edge_of(input),)
            node._hooks = None
            node.sequence_nr = next_sequence_nr()
            node.saved = ()
            node.shape = array.shape
            node.mask = mask
            node.divisor = count_of(array.shape, mask) if self.divides else 1
            node.dtype = array.dtype
            result._requires_grad = True
            result._grad_fn = node
        return result


_sum = LinearReduction(
    Reduction("sum", "add", result="sum"), ("SumBackward0", "SumBackward1"), False
)
_mean = LinearReduction(
    Reduction("mean", "add", finalise=lambda total, number: total / number),
    ("MeanBackward0", "MeanBackward1"),
    True,
)


@method()
def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Sum over the dimensions ``dim`` (an int, several, or None for all).

    Integers and bools are summed in int64. ``dtype`` converts before summing.
    """
    return _sum(input, ALL if dim is None else mask_of(dim, input._array.ndim), keepdim, dtype)


@method()
def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Mean over the dimensions ``dim`` (an int, several, or None for all).

    Raises:
        RuntimeError: for integers and bools, unless ``dtype`` is a float.
    """
    computed = dtype or input.dtype
    if not computed.is_floating_point:
        what = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} must be either a floating point or "
            f"complex dtype. Got: {scalar_type_name(computed)}"
        )
    return _mean(input, ALL if dim is None else mask_of(dim, input._array.ndim), keepdim, dtype)
