"""Putting tensors together: cat, stack and the functions built of them.

They copy. Taking apart is in ``parts.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend import Backend, foreign
from ...dispatch.policies import autocasts
from ...executor.families.copying import copies
from ...executor.memory.arrays import filled_like, new_array
from ...executor.plan.dtypes import promoted
from ...executor.plan.forms import with_sizes
from ...tensor import Tensor, new_tensor
from ...transforms.batching import with_samples
from ...transforms.tangents import additive
from ...type_names import given_for_tensor, type_name
from ..arguments.requirements import tensors_of
from ..arguments.shapes import dimension
from ..conversion.dtypes import cast
from ..operators.tensor_operator import TensorOperator
from .expand import expand
from .view import reshape, unsqueeze

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "cat", "column_stack", "concat",
    "concatenate", "dstack", "hstack", "meshgrid", "row_stack", "stack", "vstack",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- along a dimension ----------------------------------------------------------------------------


def _cat_gradient(grad: Tensor, tensors_shape: list[tuple[int, ...]], dim: int) -> list[Tensor]:
    gradients = []
    start = 0
    for shape in tensors_shape:
        if len(shape) == 1 and shape[0] == 0 and grad._array.ndim != 1:
            gradients.append(new_tensor(filled_like(grad._array, shape, grad._array.dtype, 0)))
            continue
        gradients.append(grad.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return gradients


class _Unlike(Exception):  # noqa: N818 - a signal to the function that can convert
    """The arrays to be joined are not of one dtype, or their shapes do not fit."""


def _concatenated(dim: int, arrays: list[Array]) -> Array:
    """One array after another, in the order of indices; NumPy would follow the strides."""
    made = copies.join(arrays, dim, 0)
    if made is not None:
        return made
    first = arrays[0]
    for array in arrays:
        if array.dtype != first.dtype or array.ndim != first.ndim or array.ndim == 0:
            raise _Unlike
    if (where := foreign(first)) is not None:
        return _joined(where, dim, arrays)
    try:
        return np.ascontiguousarray(np.concatenate(arrays, dim))
    except (IndexError, ValueError):
        raise _Unlike from None


def _joined(where: Backend, dim: int, arrays: list[Any]) -> Any:
    """Arrays of another backend one after another: copies into the parts of a new one."""
    shape = list(arrays[0].shape)
    if not -len(shape) <= dim < len(shape):
        raise _Unlike
    dim %= len(shape)
    others = [with_sizes(x.shape, dim) for x in arrays]
    if len(set(others)) > 1:
        raise _Unlike
    shape[dim] = sum([x.shape[dim] for x in arrays])
    made = new_array(tuple(shape), arrays[0].dtype, where)
    start = 0
    for array in arrays:
        end = start + array.shape[dim]
        where.copy(made[(slice(None),) * dim + (slice(start, end),)], array)
        start = end
    return made


def _stacked_on(where: Backend, dim: int, arrays: list[Any]) -> Any:
    """Arrays of another backend and of one shape, along a new dimension."""
    shape = arrays[0].shape
    rank = len(shape) + 1
    if not -rank <= dim < rank:
        raise _Unlike
    dim %= rank
    apart = (*shape[:dim], 1, *shape[dim:])
    return _joined(where, dim, [x.reshape(apart) for x in arrays])


def _stacked(dim: int, arrays: list[Array]) -> Array:
    made = copies.join(arrays, dim, 1)
    if made is not None:
        return made
    first = arrays[0]
    for array in arrays:
        if array.dtype != first.dtype or array.shape != first.shape:
            raise _Unlike
    if (where := foreign(first)) is not None:
        return _stacked_on(where, dim, arrays)
    try:
        return np.ascontiguousarray(np.stack(arrays, dim))
    except IndexError:
        raise _Unlike from None


def _cat_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    dim, tensors = arguments
    values = [with_samples(size, x, m) for x, m in zip(tensors, mapped[1], strict=True)]
    if dim < 0:
        dim += max([x._array.ndim for x in values]) - 1
    if any([x._array.ndim != 2 for x in values]):  # empty vectors are passed over
        values = [x for x in values if x._array.ndim != 2 or x._array.shape[1]]
    made: Tensor = operator(dim + 1, values)
    return made


def _stack_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    dim, tensors = arguments
    values = [with_samples(size, x, m) for x, m in zip(tensors, mapped[1], strict=True)]
    made: Tensor = operator(dim + 1 if dim >= 0 else dim + values[0]._array.ndim + 1, values)
    return made


_cat = TensorOperator(
    "cat",
    lambda dim, tensors: _concatenated(dim, tensors),
    {"tensors": lambda grad, tensors_shape, dim: _cat_gradient(grad, tensors_shape, dim)},
    variadic="tensors",
    batch=_cat_samples,
    tangent=additive,
    portable=True,
)
_stack = TensorOperator(
    "stack",
    lambda dim, tensors: _stacked(dim, tensors),
    {"tensors": lambda grad, dim: list(grad.unbind(dim))},
    variadic="tensors",
    batch=_stack_samples,
    tangent=additive,
    portable=True,
)


def _fitted(tensors: list[Tensor], first: tuple[int, ...], dim: int) -> list[Tensor]:
    """The tensors, those of shape (0,) with no elements along ``dim`` of the shape ``first``."""
    nothing = with_sizes(first, dim, 0)
    made = []
    for tensor in tensors:
        made.append(reshape(tensor, nothing) if tensor._array.shape == (0,) else tensor)
    return made


def _promoted(name: str, tensors: Any) -> list[Tensor]:
    """The tensors of a sequence, all of the dtype they promote to."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type_name(tensors)}"
        )
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{name}(): expected Tensor as element {position} in argument 0, but got "
                f"{given_for_tensor(tensor)}"
            )
    if not tensors:
        if name == "cat":
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    first = tensors[0]._array.dtype
    if all([tensor._array.dtype == first for tensor in tensors]):
        return list(tensors)
    common = promoted([tensor._array for tensor in tensors])
    return [tensor if tensor.dtype is common else tensor.to(common) for tensor in tensors]


def _joined_as_given(operator: TensorOperator, tensors: Any, dim: Any) -> Tensor | None:
    """The result of ``operator`` for Tensors that are of one dtype and fit; None for all others."""
    if not tensors or dim.__class__ is not int:
        return None
    if tensors.__class__ is not list:
        if tensors.__class__ is not tuple:
            return None
        tensors = list(tensors)
    try:
        made: Tensor = operator.launch(dim, tensors)
    except (_Unlike, AttributeError, TypeError):  # the last two for what is no Tensor
        return None
    return made


@autocasts("widest")
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one after another along ``dim``; empty tensors of one dimension are passed over.

    Raises:
        RuntimeError: if the other sizes differ.

    >>> torch.cat([torch.zeros(1, 2), torch.ones(2, 2)])
    tensor([[0., 0.],
            [1., 1.],
            [1., 1.]])
    """
    made = _joined_as_given(_cat, tensors, dim)
    if made is not None:
        return made
    joined = _promoted("cat", tensors)
    shapes = [tensor._array.shape for tensor in joined]
    counted = [shape for shape in shapes if shape != (0,)] or shapes[:1]
    if () in counted:
        raise RuntimeError(
            f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated"
        )
    dim = dimension(len(counted[0]), dim)
    for position, shape in enumerate(shapes):
        if shape != (0,):
            _check_cat(counted[0], shape, dim, position)
    if len(counted) != len(shapes):  # what is passed over has a gradient, too
        joined = _fitted(joined, counted[0], dim)
    return _cat(dim, joined)


def _check_cat(first: tuple[int, ...], shape: tuple[int, ...], dim: int, position: int) -> None:
    if len(shape) != len(first):
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
        )
    for other, (expected, size) in enumerate(zip(first, shape, strict=True)):
        if other != dim and expected != size:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {expected} "
                f"but got size {size} for tensor number {position} in the list."
            )


concat = cat
concatenate = cat


@autocasts("widest")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors, all of one shape, along a new dimension.

    Raises:
        RuntimeError: if the shapes differ.
    """
    quick = _joined_as_given(_stack, tensors, dim)
    if quick is not None:
        return quick
    joined = _promoted("stack", tensors)
    first = joined[0]._array.shape
    position_of_new = dimension(len(first) + 1, dim)
    for position, tensor in enumerate(joined):
        if tensor._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor._array.shape)} at entry {position}"
            )
    return _stack(position_of_new, joined)


# --- with dimensions added first ------------------------------------------------------------------


def _each(name: str, tensors: Any, function: Any) -> Any:
    """``function`` of one tensor, or of all in a sequence."""
    made = tuple([function(tensor) for tensor in tensors_of(name, tensors)])
    return made[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else made


def _at_least_2d(tensor: Tensor) -> Tensor:
    rank = tensor._array.ndim
    return reshape(tensor, 1, 1) if rank == 0 else unsqueeze(tensor, 0) if rank == 1 else tensor


def _at_least_3d(tensor: Tensor) -> Tensor:
    if tensor._array.ndim < 2:
        return unsqueeze(_at_least_2d(tensor), -1)
    return unsqueeze(tensor, -1) if tensor._array.ndim == 2 else tensor


def atleast_1d(*tensors: Any) -> Any:
    """The tensors, those without dimensions as one of one element."""
    return _each("atleast_1d", tensors, lambda x: x if x._array.ndim else reshape(x, 1))


def atleast_2d(*tensors: Any) -> Any:
    """The tensors with at least two dimensions, new ones in front."""
    return _each("atleast_2d", tensors, _at_least_2d)


def atleast_3d(*tensors: Any) -> Any:
    """The tensors with at least three dimensions."""
    return _each("atleast_3d", tensors, _at_least_3d)


def _some(name: str, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    if not len(tensors):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tuple(tensors_of(name, tensors))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors side by side: along the second dimension, or the first if there is one only."""
    parts = [x if x._array.ndim else reshape(x, 1) for x in _some("hstack", tensors)]
    return cat(parts, 0 if parts[0]._array.ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors, as rows if they have one dimension, one below the other."""
    return cat([_at_least_2d(x) for x in _some("vstack", tensors)], 0)


row_stack = vstack


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors along a third dimension."""
    return cat([_at_least_3d(x) for x in _some("dstack", tensors)], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors side by side, those of one dimension as columns."""
    columns = [x if x._array.ndim > 1 else reshape(x, -1, 1) for x in tensors]
    return hstack(columns)


# --- along diagonals and axes ---------------------------------------------------------------------


def _blocks(matrices: list[Array]) -> Array:
    shapes = [matrix.shape for matrix in matrices]
    result = np.zeros((sum([s[0] for s in shapes]), sum([s[1] for s in shapes])), matrices[0].dtype)
    for matrix, position in zip(matrices, _block_positions(shapes), strict=True):
        result[position] = matrix
    return result


def _block_positions(shapes: list[tuple[int, ...]]) -> list[tuple[slice, slice]]:
    """Where matrices of these shapes stand along a diagonal."""
    positions = []
    top = left = 0
    for rows, columns in shapes:
        positions.append((slice(top, top + rows), slice(left, left + columns)))
        top, left = top + rows, left + columns
    return positions


_block_diag = TensorOperator(
    "block_diag",
    lambda tensors: _blocks([np.atleast_2d(x) for x in tensors]),
    {
        "tensors": lambda grad, tensors_shape: [
            grad[position].reshape(shape)
            for position, shape in zip(
                _block_positions([(1, 1)[len(s) :] + s for s in tensors_shape]),
                tensors_shape,
                strict=True,
            )
        ]
    },
    variadic="tensors",
    batch=lambda operator, size, arguments, mapped: _blocks_of_samples(
        [with_samples(size, x, m) for x, m in zip(arguments[0], mapped[0], strict=True)]
    ),
)


def _blocks_of_samples(stacks: list[Tensor]) -> Tensor:
    """Stacks of matrices along the diagonals of a stack of matrices."""
    matrices = [reshape(x, (x._array.shape[0], *(1, 1)[x._array.ndim - 1 :], *x._array.shape[1:]))
                for x in stacks]  # fmt: skip
    width = sum([matrix._array.shape[2] for matrix in matrices])
    rows = []
    left = 0
    for matrix in matrices:
        size, height, own = matrix._array.shape
        sides = [
            new_tensor(filled_like(matrix._array, (size, height, columns), matrix._array.dtype, 0))
            for columns in (left, width - left - own)
        ]
        rows.append(cat([sides[0], matrix, sides[1]], 2))
        left += own
    return cat(rows, 1)


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal; vectors count as rows."""
    for position, tensor in enumerate(tensors):
        if tensor._array.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{position} has {tensor._array.ndim} dimensions"
            )
    given = _promoted("block_diag", tensors)
    if any([x is not y for x, y in zip(given, tensors, strict=True)]):
        # Pointwise promotion, which one without dimensions decides only among such.
        kind = promoted([x._array for x in tensors]).numpy
        given = [cast(x, kind) for x in tensors]
    return _block_diag(given)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: each vector expanded along the dimensions of the others."""
    vectors = tensors_of("meshgrid", tensors)
    for vector in vectors:
        if vector._array.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"{vector._array.ndim}D"
            )
        if vector._array.dtype != vectors[0]._array.dtype:
            raise RuntimeError(
                f"meshgrid expects all tensors to have the same dtype, got {vectors[0].dtype} and "
                f"{vector.dtype}"
            )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    swap = indexing == "xy" and len(vectors) > 1
    if swap:
        vectors[:2] = vectors[1::-1]
    shape = tuple([vector._array.size for vector in vectors])
    grids = []
    for position, vector in enumerate(vectors):
        own = [1] * len(shape)
        own[position] = shape[position]
        grids.append(expand(reshape(vector, tuple(own)), shape))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)
