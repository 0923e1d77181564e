"""Another shape or another order of dimensions for the same elements, and copies of them.

Each view is one entry: how the ndarray is viewed, and the gradient as an operation on Tensors.
Views of parts are in ``parts.py``, repeating ones in ``expand.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend import foreign
from ...dispatch import layers
from ...executor.families.conversion import dense_like, in_order, lies_in_order
from ...executor.memory.arrays import assign, copied, in_c_order
from ...executor.plan.forms import shows, with_sizes
from ...layout import contiguous_format, preserve_format
from ...tensor import Tensor, new_tensor
from ...tensor.leaves import with_own_memory
from ...transforms.batching import after_samples, samples_first, stacked
from ...transforms.tangents import multilinear
from ...type_names import type_name
from ...warn_once import warn_once
from ..arguments.kinds import NOT_GIVEN, takes
from ..arguments.shapes import complete_shape, dimension, dimensions, nothing_given, sizes_of
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator
from ..operators.view_operator import ViewOperator

__all__ = [
    "adjoint", "clone", "flatten", "movedim", "moveaxis", "ravel", "swapaxes", "swapdims", "t",
    "transpose", "unflatten", "unsqueeze",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- shape ----------------------------------------------------------------------------------------

_view = ViewOperator(
    "view",
    lambda input, shape: input.reshape(shape),
    lambda grad, input_shape: reshape(grad, input_shape),
    batch=stacked(shape=samples_first),
)


@method()
def view(input: Tensor, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """The same memory in another shape (one size may be -1), or as another dtype.

    Raises:
        RuntimeError: if the shape has another number of elements, or strides do not allow a view.
    """
    if layers.everywhere and layers.asks(view):
        return layers.ask(view, [input], {"dtype": dtype, "size": size}, shape)
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, Tensor)):
        return _view_dtype(input, shape[0])
    if not shape and dtype is not None:
        return _view_dtype(input, dtype)
    if not shape and size is not None:
        shape = (size,)
    if not shape:
        raise nothing_given("view")
    array = input._array
    sizes = complete_shape(sizes_of(shape), array.size)
    made = array.reshape(sizes)
    if made.base is not array and made.base is not array.base and array.size > 0:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return _view.launch(made, input, (sizes,))


@method()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape (one size may be -1): a view if strides allow, else a copy."""
    if layers.everywhere and layers.asks(reshape):
        return layers.ask(reshape, [input], {}, shape)
    if not shape:
        raise nothing_given("reshape")
    array = input._array
    sizes = complete_shape(sizes_of(shape), array.size)
    if array.__class__ is not np.ndarray or array.flags.c_contiguous or not array.size:
        made = array.reshape(sizes)
        if made.base is array or made.base is array.base or array.size == 0:
            return _view.launch(made, input, (sizes,))
    elif shows(array.shape, array.strides, sizes):
        return _view.launch(array.reshape(sizes), input, (sizes,))
    return unsafe_view(input, sizes)


def _as_shape(array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array in another shape: itself where its strides can show it, or a copy in C order."""
    if array.__class__ is np.ndarray and not shows(array.shape, array.strides, shape):
        array = in_c_order(array)
    return array.reshape(shape)


#: A reshape of what has no other owner, or that copies: the result is no view.
unsafe_view = TensorOperator(
    "unsafe_view",
    lambda input, shape: _as_shape(input, shape),
    {"input": lambda grad, input_shape: reshape(grad, input_shape)},
    batch=stacked(shape=samples_first),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


@method()
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.shape)``."""
    array, shape = input._array, other._array.shape
    if array.shape == shape:  # then it is one, however it lies
        return _view.launch(array.view(), input, (shape,))
    return view(input, shape)


@method()
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.shape)``."""
    return reshape(input, other._array.shape)


def _view_dtype(input: Tensor, dtype: Any) -> Tensor:
    """The bytes of ``input`` read as another dtype; sizes of the last dimension follow."""
    array = input._array
    if input.is_conj() or input.is_neg():
        what = "conjugate view tensors" if input.is_conj() else "tensors with negative bit set"
        raise RuntimeError(
            f"torch.Tensor.view is not supported for {what} when converting to a different dtype."
        )
    new, old = dtype.numpy, array.dtype
    if new.itemsize != old.itemsize:
        if array.ndim == 0:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {input.dtype} as {dtype} (different element sizes)"
            )
        _check_view_sizes(input, dtype, new.itemsize // old.itemsize)
    if not array.size and array.ndim:  # NumPy's strides of nothing may be anything
        made = np.empty((*array.shape[:-1], array.shape[-1] * old.itemsize // new.itemsize), new)
    else:
        made = array.view(new)
    result: Tensor = with_own_memory(input, new_tensor(made))
    if result.is_inference():  # no view to autograd: made in this mode it is of this mode
        return result
    if input._version_cell is None:
        input._version_cell = [0]
    result._version_cell = input._version_cell  # one count of writes; no view for gradients, though
    return result


def _check_view_sizes(input: Tensor, dtype: Any, ratio: int) -> None:
    """Raise torch's errors for a view whose elements are ``ratio`` times as large, or smaller."""
    *strides, last = input.stride()
    positions: list[tuple[str, int, int]] = []
    if ratio > 1:
        positions.append(("size(-1)", input._array.shape[-1], ratio))
        positions.append(("storage_offset()", input.storage_offset(), ratio))
        if input._array.size:  # NumPy does not say what strides torch has where nothing lies
            positions += [
                (f"stride({position})", stride, ratio) for position, stride in enumerate(strides)
            ]
    to_view = f"to view {input.dtype} as {dtype} (different element sizes), but got"
    if last != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {to_view} {last}")
    for name, value, divisor in positions:
        if value % divisor:
            raise RuntimeError(f"self.{name} must be divisible by {divisor} {to_view} {value}")


@method()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions ``start_dim`` to ``end_dim`` as one."""
    shape = input._array.shape
    start, end = dimension(len(shape), start_dim), dimension(len(shape), end_dim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if start == end:
        return input
    return reshape(input, (*shape[:start], _product(shape[start : end + 1]), *shape[end + 1 :]))


def _product(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


@method()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return reshape(contiguous(input), -1)


@method()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension as several; one of ``sizes`` may be -1."""
    shape = input._array.shape
    dim = dimension(len(shape), dim)
    if not shape:
        raise RuntimeError("unflatten: the tensor has no dimensions")
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(
            f"unflatten(): argument 'sizes' must be tuple of ints, not {type_name(sizes)}"
        )
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    sizes = sizes_of((sizes,))
    try:
        complete = complete_shape(sizes, shape[dim])
    except RuntimeError as error:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({shape[dim]}) in the input tensor"
        ) from error
    return view(input, with_sizes(shape, dim, *complete))


# --- order of dimensions --------------------------------------------------------------------------

_t = ViewOperator(
    "t",
    lambda input: input.T,
    lambda grad: _t(grad),
    batch=lambda operator, size, arguments, mapped: (
        arguments[0].mT if arguments[0]._array.ndim == 3 else alias(arguments[0])
    ),
)
_transpose = ViewOperator(
    "transpose",
    lambda input, dim0, dim1: input.swapaxes(dim0, dim1) if input.ndim else input.view(),
    lambda grad, dim0, dim1: _transpose(grad, dim0, dim1),
    batch=stacked(dim0=after_samples, dim1=after_samples),
)
_permute = ViewOperator(
    "permute",
    lambda input, dims: input.transpose(dims),
    lambda grad, dims: _permute(grad, _inverse(dims)),
    batch=stacked(dims=lambda dims, size: (0, *after_samples(dims, size))),
)


#: For the linear layer, whose graph is recorded without it.
TRANSPOSE = _t


def alias(input: Tensor) -> Tensor:
    """The same as a view."""
    return _view(input, input._array.shape)


def _inverse(dims: Sequence[int]) -> tuple[int, ...]:
    positions = [0] * len(dims)
    for position, dim in enumerate(dims):
        positions[dim] = position
    return tuple(positions)


@method()
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; tensors of fewer dimensions stay as they are."""
    if layers.everywhere and layers.asks(t):
        return layers.ask(t, [input])
    array = input._array
    if array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D")
    return _t.launch(array.T, input, ())


@method()
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped."""
    if layers.everywhere and layers.asks(transpose):
        return layers.ask(transpose, [input, dim0, dim1])
    array = input._array
    rank = array.ndim
    dim0, dim1 = dimension(rank, dim0), dimension(rank, dim1)
    made = array.swapaxes(dim0, dim1) if rank else array.view()
    return _transpose.launch(made, input, (dim0, dim1))


swapdims = method("swapdims")(transpose)


@method()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions swapped: ``transpose`` with NumPy's names."""
    return transpose(input, axis0, axis1)


@method()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Dimensions in another order."""
    if layers.everywhere and layers.asks(permute):
        return layers.ask(permute, [input], {}, dims)
    if not dims:
        raise nothing_given("permute")
    array = input._array
    order = _order(array.ndim, sizes_of(dims))
    return _permute.launch(array.transpose(order), input, (order,))


@functools.lru_cache(maxsize=1024)
def _order(rank: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """A permutation, checked and counted from 0."""
    if len(dims) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {rank} is not equal "
            f"to len(dims) = {len(dims)}"
        )
    order = tuple([dimension(rank, dim) for dim in dims])
    if len(set(order)) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return order


@method()
@takes(
    "input: Tensor, source: int, destination: int",
    "input: Tensor, source: Ints, destination: Ints",
)
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions ``source`` moved to the places ``destination``; the others keep their order."""
    several = isinstance(source, (list, tuple))
    if several is not isinstance(destination, (list, tuple)):
        raise TypeError("movedim(): source and destination must be ints, or both tuples of ints")
    sources, positions = (source, destination) if several else ((source,), (destination,))
    rank = input._array.ndim  # a bool equals an int, also for a cache, and is refused
    given = [
        tuple([x if x.__class__ is int else dimension(rank, x) for x in dims])
        for dims in (sources, positions)
    ]
    order = _moved_order(rank, *given)
    return _permute.launch(input._array.transpose(order), input, (order,))


moveaxis = method("moveaxis")(movedim)


@functools.lru_cache(maxsize=1024)
def _moved_order(
    rank: int, sources: tuple[int, ...], positions: tuple[int, ...]
) -> tuple[int, ...]:
    """The dimensions in the order in which ``movedim`` puts them."""
    if len(sources) != len(positions):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(sources)} dims) should contain the same number of dims as destination "
            f"({list(positions)} dims)"
        )
    found = [dimension(rank, dim) for dim in sources]
    targets = [dimension(rank, dim) for dim in positions]
    for dims, given, name in ((found, sources, "source"), (targets, positions, "destination")):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    rest = iter([dim for dim in range(rank) if dim not in found])
    chosen = dict(zip(targets, found, strict=True))
    return tuple([chosen[place] if place in chosen else next(rest) for place in range(rank)])


def _reversed(input: Tensor) -> Tensor:
    """All dimensions in reverse order (``x.T``)."""
    rank = input._array.ndim
    if rank == 0:
        warn_once(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
        )
    elif rank != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
        )
    return _permute(input, tuple(range(rank - 1, -1, -1)))


def _swap_of_matrices(
    name: str, instead: str, *, batched: bool = True, conjugate: bool = False
) -> Callable[[Tensor], Tensor]:
    """``x.mT`` and its like: the last two dimensions swapped; a 0-d tensor is itself."""
    what = "matrices or batches of matrices" if batched else "matrices (2-D tensors)"
    hint = "" if batched else " For batches of matrices, consider using tensor.mH"

    def swapped(input: Tensor) -> Tensor:
        rank = input._array.ndim
        if rank == 2 or (batched and rank > 2):
            made = transpose(input, -2, -1)
            return made.conj() if conjugate else made
        if rank == 0:
            warn_once(f"{name.removeprefix('tensor.')} is deprecated on 0-D tensors. {instead}")
            return input.conj() if conjugate else input
        raise RuntimeError(
            f"{name.replace('Tensor', 'tensor')} is only supported on {what}. Got {rank}-D tensor."
            + (hint if rank > 2 else "")
        )

    swapped.__doc__ = (
        f"The {'conjugate' if conjugate else 'tensor'} with its last dimensions swapped: {what}."
        "\n\nRaises:\n    RuntimeError: for a tensor with other dimensions."
    )
    return swapped


_CONJUGATE = "Consider using x.conj()."
_adjoint = _swap_of_matrices("tensor.adjoint()", _CONJUGATE, conjugate=True)


@method()
def adjoint(input: Tensor) -> Tensor:
    """The conjugate with the last two dimensions swapped.

    Raises:
        RuntimeError: for a 1-d tensor.
    """
    return _adjoint(input)


method("T")(property(_reversed))
method("mT")(
    property(_swap_of_matrices("Tensor.mT", "This function is the identity in these cases."))
)
method("H")(property(_swap_of_matrices("Tensor.H", _CONJUGATE, batched=False, conjugate=True)))
method("mH")(property(_swap_of_matrices("Tensor.mH", _CONJUGATE, conjugate=True)))


# --- size-1 dimensions ----------------------------------------------------------------------------

_unsqueeze = ViewOperator(
    "unsqueeze",
    lambda input, dim: _unsqueezed(input, dim),
    lambda grad, dim: squeeze(grad, dim),
    batch=stacked(dim=after_samples),
)
_squeeze = ViewOperator(
    "squeeze",
    lambda input, shape: input.reshape(shape),
    lambda grad, input_shape: reshape(grad, input_shape),
    batch=stacked(shape=samples_first),
)
_squeeze_dim = ViewOperator(
    "squeeze",
    lambda input, shape: input.reshape(shape),
    lambda grad, input_shape: reshape(grad, input_shape),
    grad_fn="SqueezeBackward1",
    batch=stacked(shape=samples_first),
)
_squeeze_dims = ViewOperator(
    "squeeze",
    lambda input, shape: input.reshape(shape),
    lambda grad, input_shape: reshape(grad, input_shape),
    grad_fn="SqueezeBackward2",
    batch=stacked(shape=samples_first),
)


def _unsqueezed(array: Array, dim: int) -> Array:
    shape = array.shape
    return array.reshape((*shape[:dim], 1, *shape[dim:]))


@method()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dimension of size 1 put in at ``dim``."""
    if layers.everywhere and layers.asks(unsqueeze):
        return layers.ask(unsqueeze, [input, dim])
    array = input._array
    dim = dimension(array.ndim + 1, dim)
    return _unsqueeze.launch(_unsqueezed(array, dim), input, (dim,))


@method()
def squeeze(input: Tensor, dim: Any = NOT_GIVEN, *more: int) -> Tensor:
    """The dimensions of size 1 left out: all of them, or those in ``dim``."""
    if layers.everywhere and layers.asks(squeeze):
        return layers.ask(squeeze, [input, dim], {}, more)
    if more:
        dim = (dim, *more)
    shape = input._array.shape
    if dim.__class__ is int:
        dim = dimension(len(shape), dim)
        if shape and shape[dim] == 1:
            shape = with_sizes(shape, dim)
        return _squeeze_dim.launch(input._array.reshape(shape), input, (shape,))
    if dim is NOT_GIVEN:
        return _squeeze(input, tuple([size for size in shape if size != 1]))
    if isinstance(dim, (tuple, list)):
        chosen: Any = dimensions(len(shape), dim)
        operator = _squeeze_dims
    else:
        chosen = (dimension(len(shape), dim),)
        operator = _squeeze_dim
    return operator(
        input, tuple([size for k, size in enumerate(shape) if size != 1 or k not in chosen])
    )


# --- copies ---------------------------------------------------------------------------------------


def dense_copy(array: Array) -> Array:
    """A copy without gaps that keeps the order of dimensions in memory."""
    if array.flags.c_contiguous:
        return array.copy("C")
    made = dense_like(array, array.dtype, foreign(array))
    assign(made, array)
    return made


_clone = TensorOperator(
    "clone",
    lambda input: dense_copy(input),
    {"input": lambda grad: grad},
    batch=stacked(),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)
_contiguous = TensorOperator(
    "clone",
    lambda input: copied(input),
    {"input": lambda grad: grad},
    batch=stacked(),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


def _copy_in_order(input: Array, order: tuple[int, ...]) -> Array:
    made = in_order(input.shape, input.dtype, order, foreign(input))
    assign(made, input)
    return made


#: A copy whose dimensions have strides in another order.
clone_in_order = TensorOperator(
    "clone", lambda input, order: _copy_in_order(input, order), {"input": lambda grad: grad},
    batch=stacked(order=lambda order, size: (0, *after_samples(order, size))), tangent=multilinear,
    takes_half=True, portable=True,
)  # fmt: skip


@method()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy of the memory, of the same strides where they are dense.

    Raises:
        RuntimeError: for a format of tensors with another number of dimensions.
    """
    if layers.everywhere and layers.asks(clone):
        return layers.ask(clone, [input], {"memory_format": memory_format})
    if memory_format is None or memory_format is preserve_format:
        return _clone.launch(input)
    if memory_format is contiguous_format:
        return _contiguous(input)
    return clone_in_order(input, memory_format.order_of(input._array.ndim))


@method()
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in order and dense, else a copy that is.

    Raises:
        RuntimeError: for a format of tensors with another number of dimensions, and for
            ``preserve_format``, which is no order.
    """
    if layers.everywhere and layers.asks(contiguous):
        return layers.ask(contiguous, [input, memory_format])
    array = input._array
    if not (memory_format is None or hasattr(memory_format, "order")):
        raise TypeError(
            "contiguous(): argument 'memory_format' must be torch.memory_format, not "
            f"{type(memory_format).__name__}"
        )
    if memory_format is None or memory_format.order is None:
        if array.flags.c_contiguous:
            return input
        if memory_format is preserve_format:
            raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
        return _contiguous(input)
    order = memory_format.order_of(array.ndim)
    return input if lies_in_order(array, order) else clone_in_order(input, order)
