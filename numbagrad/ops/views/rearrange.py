"""Copies with elements in other places: flipped, rolled, on diagonals, masked by them, repeated.

Most are their own gradient, or each other's.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend import array_namespace, foreign
from ...dtype import scalar_type_name
from ...executor.families.conversion import dense_like
from ...executor.families.indexing import strided_view
from ...executor.memory.arrays import copied, new_array, values_on_host
from ...executor.memory.copies import triangle_into
from ...executor.plan.forms import spread, with_sizes
from ...layout import contiguous_format
from ...tensor import Tensor, new_tensor
from ...transforms.batching import after_samples, aligned, stacked
from ...transforms.tangents import multilinear
from ..arguments.kinds import NOT_GIVEN, Ints, takes
from ..arguments.requirements import require_tensor
from ..arguments.shapes import as_int, dimension, dimensions, nothing_given, sizes_of
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.array_function import array_function
from ..operators.tensor_operator import TensorOperator
from .expand import expand
from .parts import diagonal_view, embed_diagonal
from .view import reshape, unsqueeze

__all__ = [
    "diag", "diag_embed", "diagflat", "flip", "fliplr", "flipud", "repeat_interleave", "roll",
    "rot90", "tile", "tril", "triu",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- turned ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _backwards(dims: tuple[int, ...]) -> tuple[slice, ...]:
    """The key that reverses the order of these dimensions."""
    turned = slice(None, None, -1)
    rank = max(dims, default=-1) + 1
    return tuple([turned if dim in dims else slice(None) for dim in range(rank)])


def _flipped(array: Array, dims: tuple[int, ...]) -> Array:
    if foreign(array) is not None:
        made: Array = array_namespace(array).flip(array, dims)
        return made
    if array.flags.c_contiguous and array.ndim:
        return copied(array[_backwards(dims)])
    made = dense_like(array, array.dtype)
    made[...] = np.flip(array, tuple(dims)) if array.ndim else array
    return made


def _turned(array: Array, k: int, dims: tuple[int, int]) -> Array:
    """A copy turned by ``k`` quarters: a flip, and the two dimensions swapped if ``k`` is odd."""
    first, second = dims
    if k % 4 == 0:
        return array.copy("C")
    made = _flipped(array, {1: (second,), 2: (first, second), 3: (first,)}[k % 4])
    return made.swapaxes(first, second) if k % 2 else made


def _rolled(array: Array, shifts: Sequence[int], dims: Sequence[int] | None) -> Array:
    """Without ``dims`` all elements in a row; a dense result."""
    made = new_array(array.shape, array.dtype)
    source, target = array, made
    if not dims:
        source, target, dims = array.reshape(-1), made.reshape(-1), (0,)
    for to, of in _moves(source.shape, tuple(shifts), tuple(dims)):
        target[to] = source[of]
    return made


@functools.lru_cache(maxsize=256)
def _moves(
    shape: tuple[int, ...], shifts: tuple[int, ...], dims: tuple[int, ...]
) -> list[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """The parts of the result of ``roll``, and those of the input that are copied to them."""
    cuts = dict.fromkeys(dims, 0)
    for dim, shift in zip(dims, shifts, strict=True):
        cuts[dim] = (cuts[dim] + shift) % max(shape[dim], 1)
    whole = (slice(None), slice(None))
    choices = [
        [(slice(cut, None), slice(0, size - cut)), (slice(0, cut), slice(size - cut, None))]
        if (cut := cuts.get(dim, 0))
        else [whole]
        for dim, size in enumerate(shape)
    ]
    parts = [tuple(zip(*chosen, strict=True)) for chosen in itertools.product(*choices)]
    return [(to, of) for to, of in parts] if shape else [((), ())]


_flip = TensorOperator(
    "flip",
    lambda input, dims: _flipped(input, dims),
    {"input": lambda grad, dims: _flip(grad, dims)},
    batch=stacked(dims=after_samples),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)
_roll = TensorOperator(
    "roll",
    lambda input, shifts, dims: _rolled(input, shifts, dims),
    {"input": lambda grad, shifts, dims: _roll(grad, tuple([-s for s in shifts]), dims)},
    batch=lambda operator, size, arguments, mapped: _roll_samples(*arguments),
    tangent=multilinear,
    takes_half=True,
)


def _roll_samples(input: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> Tensor:
    if dims:
        return _roll(input, shifts, after_samples(dims, 0))
    return _roll(input.flatten(1), shifts, (1,)).view(input._array.shape)


_rot90 = TensorOperator(
    "rot90",
    lambda input, k, dims: _turned(input, k, dims),
    {"input": lambda grad, k, dims: _rot90(grad, -k, dims)},
    batch=stacked(dims=after_samples),
    takes_half=True,
    portable=True,
)


@functools.lru_cache(maxsize=256)
def _several(rank: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions counted from 0, each once."""
    return tuple(dimensions(rank, dims))


@method()
@takes("input: Tensor, dims: Ints", by_method=False)
def flip(input: Tensor, *several: Any, dims: Any = None) -> Tensor:
    """A copy with some dimensions in reverse order: ``flip(0, 1)`` or ``flip(dims=(0, 1))``."""
    given = several if dims is None else (dims,)
    if not given:
        raise nothing_given("flip")
    return _flip.launch(input, _several(input._array.ndim, sizes_of(given)))


@method()
def fliplr(input: Tensor) -> Tensor:
    """A copy with the second dimension reversed."""
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flip(input, (1,))


@method()
def flipud(input: Tensor) -> Tensor:
    """A copy with the first dimension reversed."""
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _flip(input, (0,))


@method()
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """A copy with the entries of some dimensions moved around in a circle."""
    require_tensor("roll", input)
    steps = sizes_of((shifts,))
    if dims is None or dims == ():
        if len(steps) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:0")
        return _roll(input, steps, ())
    found = sizes_of((dims,))
    if len(steps) != len(found):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(found)}"
        )
    return _roll(input, steps, tuple([dimension(input._array.ndim, dim) for dim in found]))


@method()
def rot90(input: Tensor, k: int = 1, dims: Ints = (0, 1)) -> Tensor:
    """A copy turned ``k`` quarters in the plane of two dimensions, from the first to the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input._array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._array.ndim}")
    plane = tuple([dimension(input._array.ndim, dim) for dim in dims])
    if plane[0] == plane[1]:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    return _rot90(input, k, plane)


# --- triangles and diagonals ----------------------------------------------------------------------


def _is_below(rows: int, columns: int, diagonal: int) -> Array:
    """True on and below a diagonal of a matrix."""
    return np.tri(rows, columns, diagonal, np.bool_)


_is_below_of_small = functools.lru_cache(maxsize=64)(_is_below)
_SMALL = 1 << 10  # elements of a matrix


def _triangle(array: Array, diagonal: int, below: bool) -> Array:
    """Matrices keep their layout, stacks come in order: as in torch."""
    rows, columns = array.shape[-2:]
    if array.size > _SMALL and array.__class__ is np.ndarray and array.flags.c_contiguous:
        output = new_array(array.shape, array.dtype)
        edge = min(max(diagonal if below else diagonal - 1, -rows), columns)
        if triangle_into(output, array, edge, below):
            return output
    masks = _is_below_of_small if rows * columns <= _SMALL else _is_below
    zero = np.zeros((), array.dtype)
    if below:
        made = np.where(masks(rows, columns, diagonal), array, zero)
    else:
        made = np.where(masks(rows, columns, diagonal - 1), zero, array)
    return made if made.ndim == 2 else np.ascontiguousarray(made)


_tril = TensorOperator(
    "tril",
    lambda input, diagonal: _triangle(input, diagonal, True),
    {"input": lambda grad, diagonal: _tril(grad, diagonal)},
    batch=stacked(),
    tangent=multilinear,
    takes_half=True,
)
_triu = TensorOperator(
    "triu",
    lambda input, diagonal: _triangle(input, diagonal, False),
    {"input": lambda grad, diagonal: _triu(grad, diagonal)},
    batch=stacked(),
    tangent=multilinear,
    takes_half=True,
)


def _check_matrix(name: str, input: Tensor) -> None:
    if input._array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@method()
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy with zeros above a diagonal of the last two dimensions."""
    if diagonal.__class__ is not int:
        diagonal = as_int(diagonal, "tril(): argument 'diagonal' must be int, not")
    _check_matrix("tril", input)
    return _tril(input, diagonal)


@method()
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy with zeros below a diagonal of the last two dimensions."""
    if diagonal.__class__ is not int:
        diagonal = as_int(diagonal, "triu(): argument 'diagonal' must be int, not")
    _check_matrix("triu", input)
    return _triu(input, diagonal)


for _function in (tril, triu):
    install_in_place(_function, repeats=True)


_diag_embed = TensorOperator(
    "diag_embed",
    embed_diagonal.forward,
    embed_diagonal.gradient,
    batch=embed_diagonal.batch,
    takes_half=True,
    portable=True,
)
_diagonal_copy = TensorOperator(
    "diagonal_copy",
    lambda input, offset: copied(diagonal_view(input, offset, 0, 1)),
    {"input": lambda grad, input_shape, offset: embed_diagonal(grad, input_shape, offset, 0, 1)},
    grad_fn="DiagonalBackward0_copy",
    batch=lambda operator, size, arguments, mapped: (
        arguments[0].diagonal(arguments[1], 1, 2).clone()
    ),
    takes_half=True,
    portable=True,
)


@method()
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with a vector on its diagonal, or a copy of the diagonal of a matrix."""
    rank = input._array.ndim
    if rank == 1:
        return diag_embed(input, diagonal)
    if rank == 2:
        return _diagonal_copy(input, diagonal)
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {rank}D")


@method()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices in two new dimensions, with the last dimension on their diagonals."""
    shape = input._array.shape
    rank = len(shape) + 1
    dim1, dim2 = dimension(rank, dim1), dimension(rank, dim2)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = shape[-1] + abs(offset)
    sizes = list(shape[:-1])
    for dim in sorted((dim1, dim2)):
        sizes.insert(dim, size)
    return _diag_embed(input, tuple(sizes), offset, dim1, dim2)


@method()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on its diagonal."""
    return diag_embed(reshape(input, -1), offset)


# --- repeated -------------------------------------------------------------------------------------


def _repeat_gradient(grad: Tensor, input_shape: tuple[int, ...], repeats: Any) -> Tensor:
    added = len(repeats) - len(input_shape)
    sizes: list[int] = []
    for count, size in zip(repeats, (1,) * added + input_shape, strict=True):
        sizes += [count, size]
    summed = reshape(grad, tuple(sizes)).sum(tuple(range(0, len(sizes), 2)))
    return reshape(summed, input_shape)


def _tiled(array: Array, repeats: Sequence[int]) -> Array:
    shape = (1,) * (len(repeats) - array.ndim) + array.shape
    pairs, result = [], []
    for count, size in zip(repeats, shape, strict=True):
        pairs += [count, size]
        result.append(count * size)
    apart = array.reshape([x for size in shape for x in (1, size)])
    repeated = strided_view(apart, tuple(pairs), spread(apart, tuple(pairs)))
    return copied(repeated).reshape(result)


_repeat = TensorOperator(
    "repeat",
    lambda input, repeats: _tiled(input, repeats),
    {"input": lambda grad, input_shape, repeats: _repeat_gradient(grad, input_shape, repeats)},
    batch=lambda operator, size, arguments, mapped: operator(
        aligned(arguments[0], True, len(arguments[1])), (1, *arguments[1])
    ),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


@method()
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """A copy with every dimension repeated as a whole; further counts add dimensions in front."""
    if not repeats:
        raise nothing_given("repeat")
    counts = sizes_of(repeats)
    if len(counts) < input._array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    if any([count < 0 for count in counts]):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(counts)}")
    return _repeat(input, counts)


@method()
@takes("input: Tensor, dims: Ints", by_method=False)
def tile(input: Tensor, *dims: Any) -> Tensor:
    """``repeat`` with missing counts taken as 1."""
    if not dims:
        raise nothing_given("tile")
    counts = sizes_of(dims)
    return repeat(input, (1,) * (input._array.ndim - len(counts)) + counts)


def _positions_repeated(repeats: Tensor) -> Tensor:
    """The indices of the elements of ``repeats``, each as often as the element says."""
    counts = repeats._array
    if counts.dtype not in (np.int32, np.int64):
        raise NotImplementedError(
            f"\"repeat_interleave\" not implemented for '{scalar_type_name(repeats.dtype)}'; give "
            "the counts as int64"
        )
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    return new_tensor(_repeated_positions(counts))


_SIZE_BY_COUNTS = "repeat_interleave() by a tensor, whose size depends on values"


@array_function(refused=_SIZE_BY_COUNTS)
def _repeated_positions(counts: Array) -> Array:
    """Each place as often as its count says."""
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return np.repeat(np.arange(counts.size, dtype=counts.dtype), counts)


@takes("repeats: Tensor", "input: Tensor, repeats: Tensor | int, dim?: int | None")
def repeat_interleave(
    input: Tensor,
    repeats: Any = NOT_GIVEN,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """A copy with every entry of one dimension repeated, by one count or one for each entry.

    With a tensor of counts alone each place is repeated as often as its count says.

    Raises:
        RuntimeError: for negative counts, for another number of them than of entries, or if the
            entries are not ``output_size`` in the end.
    """
    if repeats is NOT_GIVEN:
        return _of_size(_positions_repeated(input), 0, output_size)
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = dimension(input._array.ndim, dim)
    shape = input._array.shape
    if isinstance(repeats, Tensor):
        counts = values_on_host(repeats._array, _SIZE_BY_COUNTS)
    else:
        counts = np.asarray(repeats)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    if counts.size == 1:
        count = int(counts.reshape(()))
        repeated = expand(unsqueeze(input, dim + 1), (*shape[: dim + 1], count, *shape[dim + 1 :]))
        copy = repeated.clone(memory_format=contiguous_format)  # also of a single repeat
        return _of_size(reshape(copy, with_sizes(shape, dim, shape[dim] * count)), dim, output_size)
    if counts.shape != (shape[dim],):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({dim}) = {shape[dim]}"
        )
    positions = np.repeat(np.arange(shape[dim]), counts)
    where = foreign(input._array)
    index = positions if where is None else where.constant(positions)
    return _of_size(input.index_select(dim, new_tensor(index)), dim, output_size)


def _of_size(repeated: Tensor, dim: int, output_size: int | None) -> Tensor:
    """The result of repeating, once it is found to be as large as the caller said."""
    found = repeated._array.shape[dim]
    if output_size is not None and found != output_size:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {found} but got {output_size}"
        )
    return repeated


@method("repeat_interleave")
@takes("input: Tensor, repeats: Tensor | int, dim?: int | None")
def _repeat_interleave(
    input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """A copy with every entry of one dimension repeated; see the function."""
    return repeat_interleave(input, repeats, dim, output_size=output_size)
