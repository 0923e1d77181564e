"""Views: operators whose result shares the memory of their input, and what is built from them.

Each is one entry: how the ndarray is viewed, and the gradient as an operation on Tensors. Views
share the version count of their memory and are known to ``autograd/inplace.py``, so that writing
through one is seen by the others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..autograd.inplace import (
    MULTIPLE,
    NO_GRAD,
    register_view,
)
from ..autograd.node import next_sequence_nr
from ..executor.indexing import strided_view
from ..tensor import Tensor, new_tensor
from .registry import method
from .tensor_operator import GradientPlan, TensorOperator

__all__ = [
    "adjoint", "broadcast_tensors", "broadcast_to", "clone", "diagonal", "flatten", "movedim",
    "moveaxis", "narrow", "permute", "ravel", "reshape", "select", "squeeze", "swapaxes",
    "swapdims", "t", "transpose", "unflatten", "unsqueeze",
]  # fmt: skip

_new = object.__new__
_ndarray = np.ndarray
_make_array = np.ndarray.__new__


class ViewOperator(TensorOperator):
    """An operator whose result is a view of its input; ``forward(array, *values)`` makes it.

    Small tensors are bound by the cost of a call, so what ``TensorOperator`` does for any operator
    is written out here for one input and one output.
    """

    __slots__ = ("_plan", "_keeps")

    def __init__(self, name: str, forward: Any, gradient: Callable[..., Any], grad_fn: str = ""):
        super().__init__(name, forward, {"input": gradient}, grad_fn=grad_fn, view=True)
        self._plan = GradientPlan(self, (True,))
        self._keeps = self._plan.keeps

    def __call__(self, input: Tensor, *values: Any) -> Tensor:
        """The view of ``input`` that ``values`` describe."""
        return self.wrap(self.forward(input._array, *values), input, values)

    def wrap(self, array: np.ndarray[Any, Any], input: Tensor, values: tuple[Any, ...]) -> Tensor:
        """Make ``array``, a view of the memory of ``input``, a Tensor with its history."""
        result = _new(Tensor)
        result._array = array
        result._requires_grad = False
        result._grad_fn = None
        result._output_nr = 0
        cell = input._version_cell
        if cell is None:
            cell = input._version_cell = [0]
        result._version_cell = cell
        base = input._base
        result._base = input if base is None else base
        if not grad_mode.enabled:
            result._view_origin = NO_GRAD
            return result
        register_view(result, cell)
        if base is not None:
            origin = input.__dict__.get("_view_origin")
            if origin is not None:
                result._view_origin = origin
        if input._requires_grad and array.dtype.kind == "f":
            node = _new(self._node)
            grad_fn = input._grad_fn
            node.next_edges = (
                ((input, 0),) if grad_fn is None else ((grad_fn, input._output_nr),)
            )
            node._hooks = None
            node.sequence_nr = next_sequence_nr()
            node.plan = self._plan
            node._output_count = 1
            keeps = self._keeps
            if keeps:
                node.values = tuple(
                    [input._array.shape if shape else values[i - 1] for i, shape in keeps]
                )
            else:
                node.values = ()
            node.saved = ()
            result._requires_grad = True
            result._grad_fn = node
        return result


class MultiViewOperator(TensorOperator):
    """An operator that returns several views of its input; once recorded, none may be written."""

    __slots__ = ()

    def __init__(self, name: str, forward: Any, gradient: Callable[..., Any]):
        super().__init__(name, forward, {"input": gradient})

    def __call__(self, input: Tensor, *values: Any) -> tuple[Tensor, ...]:
        """The views of ``input`` that ``values`` describe."""
        results = tuple([new_tensor(array) for array in self.forward(input._array, *values)])
        if input._version_cell is None:
            input._version_cell = [0]
        origin = MULTIPLE if grad_mode.enabled else NO_GRAD
        for result in results:
            result._version_cell = input._version_cell
            result._base = input if input._base is None else input._base
            result._view_origin = origin
            if origin is MULTIPLE:
                register_view(result, input._version_cell)
        if results and grad_mode.enabled and input._requires_grad:
            self.record(results, (input, *values))
        return results


# --- arguments ------------------------------------------------------------------------------------


def sizes_of(arguments: Sequence[Any]) -> tuple[int, ...]:
    """The sizes given as ``(2, 3)``, ``([2, 3],)`` or ``(Size([2, 3]),)``."""
    if len(arguments) == 1 and arguments[0].__class__ is not int:
        only = arguments[0]
        arguments = only if isinstance(only, (tuple, list)) else _several(only)
    for size in arguments:
        if size.__class__ is not int:
            return tuple([_as_size(size) for size in arguments])
    return tuple(arguments)


def _several(sizes: Any) -> Sequence[Any]:
    """A tensor or an int-like as a sequence of sizes."""
    return sizes.tolist() if isinstance(sizes, Tensor) and sizes._array.ndim else (sizes,)


def _as_size(size: Any) -> int:
    if isinstance(size, float) or not hasattr(size, "__index__"):
        raise TypeError(f"sizes must be ints, but got {type(size).__name__}")
    return int(size)


def dimension(rank: int, dim: int) -> int:
    """A dimension counted from 0; raises torch's IndexError if there is none such."""
    limit = rank or 1
    if not -limit <= dim < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got "
            f"{dim})"
        )
    return dim + limit if dim < 0 else dim


_counted = dimension  # where a parameter has the name


def dimensions(rank: int, dims: Sequence[int]) -> list[int]:
    """Dimensions counted from 0, each at most once."""
    found = [dimension(rank, dim) for dim in dims]
    for place, dim in enumerate(found):
        if dim in found[:place]:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return found


@functools.lru_cache(maxsize=4096)
def complete_shape(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """``shape`` with its -1 replaced, for a tensor of ``count`` elements."""
    known = 1
    unknown = -1
    for place, size in enumerate(shape):
        if size >= 0:
            known *= size
        elif size == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = place
        else:
            raise RuntimeError(
                f"invalid shape dimension {size} at index {place} of shape {list(shape)}"
            )
    if unknown < 0:
        if known == count:
            return shape
    elif known > 0:
        if count % known == 0:
            return (*shape[:unknown], count // known, *shape[unknown + 1 :])
    elif count == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")


# --- shape ----------------------------------------------------------------------------------------


def _try_view(array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any] | None:
    """The same memory in another shape, or None where that takes a copy."""
    made = array.reshape(shape)
    if made.base is array or made.base is array.base or array.size == 0:
        return made
    return None


_view = ViewOperator(
    "view",
    lambda input, shape: input.reshape(shape),
    lambda grad, input_shape: reshape(grad, input_shape),
)


@method()
def view(input: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape (one size may be -1), or as another dtype.

    Raises:
        RuntimeError: if the shape has another number of elements, or strides do not allow a view.
    """
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, Tensor)):
        return _view_dtype(input, shape[0])
    array = input._array
    sizes = complete_shape(sizes_of(shape), array.size)
    made = array.reshape(sizes)
    if made.base is not array and made.base is not array.base and array.size > 0:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return _view.wrap(made, input, (sizes,))


@method()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape (one size may be -1): a view if strides allow, else a copy."""
    array = input._array
    sizes = complete_shape(sizes_of(shape), array.size)
    made = array.reshape(sizes)
    if made.base is array or made.base is array.base or array.size == 0:
        return _view.wrap(made, input, (sizes,))
    return _unsafe_view(input, sizes)


# A reshape that copies: the copy has no other owner, so the result is no view.
_unsafe_view = TensorOperator(
    "unsafe_view",
    lambda input, shape: input.reshape(shape),
    {"input": lambda grad, input_shape: reshape(grad, input_shape)},
)


@method()
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.shape)``."""
    return view(input, other._array.shape)


@method()
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.shape)``."""
    return reshape(input, other._array.shape)


def _view_dtype(input: Tensor, dtype: Any) -> Tensor:
    """The bytes of ``input`` read as another dtype; sizes of the last dimension follow."""
    array = input._array
    new, old = dtype.numpy, array.dtype
    if new.itemsize != old.itemsize:
        if array.ndim == 0:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {input.dtype} as {dtype} (different element sizes)"
            )
        if array.strides[-1] != old.itemsize:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {input.dtype} as {dtype} (different element "
                f"sizes), but got {array.strides[-1] // old.itemsize}"
            )
        if array.shape[-1] * old.itemsize % new.itemsize:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {new.itemsize // old.itemsize} to view "
                f"{input.dtype} as {dtype} (different element sizes), but got {array.shape[-1]}"
            )
    result = new_tensor(array.view(new))
    if input._version_cell is None:
        input._version_cell = [0]
    result._version_cell = input._version_cell
    result._base = input if input._base is None else input._base
    return result


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
    sizes = sizes_of((sizes,))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        complete = complete_shape(sizes, shape[dim])
    except RuntimeError as error:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({shape[dim]}) in the input tensor"
        ) from error
    return view(input, (*shape[:dim], *complete, *shape[dim + 1 :]))


# --- order of dimensions --------------------------------------------------------------------------

_t = ViewOperator("t", lambda input: input.T, lambda grad: _t(grad))
_transpose = ViewOperator(
    "transpose",
    lambda input, dim0, dim1: input.swapaxes(dim0, dim1) if input.ndim else input.view(),
    lambda grad, dim0, dim1: _transpose(grad, dim0, dim1),
)
_permute = ViewOperator(
    "permute",
    lambda input, dims: input.transpose(dims),
    lambda grad, dims: _permute(grad, _inverse(dims)),
)


def _inverse(dims: Sequence[int]) -> tuple[int, ...]:
    places = [0] * len(dims)
    for place, dim in enumerate(dims):
        places[dim] = place
    return tuple(places)


@method()
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; tensors of fewer dimensions stay as they are."""
    array = input._array
    if array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D")
    return _t.wrap(array.T, input, ())


@method()
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped."""
    array = input._array
    rank = array.ndim
    dim0, dim1 = dimension(rank, dim0), dimension(rank, dim1)
    made = array.swapaxes(dim0, dim1) if rank else array.view()
    return _transpose.wrap(made, input, (dim0, dim1))


swapaxes = method("swapaxes")(transpose)
swapdims = method("swapdims")(transpose)


@method()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Dimensions in another order."""
    return _permute(input, _order(input._array.ndim, sizes_of(dims)))


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
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions ``source`` moved to the places ``destination``; the others keep their order."""
    rank = input._array.ndim
    sources = [source] if isinstance(source, int) else list(source)
    places = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(places):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({sources} dims) should contain the same number of dims as destination "
            f"({places} dims)"
        )
    found = [dimension(rank, dim) for dim in sources]
    targets = [dimension(rank, dim) for dim in places]
    for dims, given, name in ((found, sources, "source"), (targets, places, "destination")):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({given})")
    rest = iter([dim for dim in range(rank) if dim not in found])
    chosen = dict(zip(targets, found, strict=True))
    return _permute(
        input, tuple([chosen[place] if place in chosen else next(rest) for place in range(rank)])
    )


moveaxis = method("moveaxis")(movedim)


def _reversed(input: Tensor) -> Tensor:
    """All dimensions in reverse order (``x.T``)."""
    return _permute(input, tuple(range(input._array.ndim - 1, -1, -1)))


def _matrix_transpose(input: Tensor) -> Tensor:
    """The last two dimensions swapped (``x.mT``)."""
    if input._array.ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{input._array.ndim}-D tensor."
        )
    return transpose(input, -2, -1)


@method()
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped (real tensors are their own conjugates)."""
    return transpose(input, -2, -1)


method("T")(property(_reversed))
method("mT")(property(_matrix_transpose))
method("H")(property(_matrix_transpose))
method("mH")(property(_matrix_transpose))
method("real")(property(lambda self: self))


# --- size-1 dimensions ----------------------------------------------------------------------------

_unsqueeze = ViewOperator(
    "unsqueeze",
    lambda input, dim: _unsqueezed(input, dim),
    lambda grad, dim: squeeze(grad, dim),
)
_squeeze = ViewOperator(
    "squeeze",
    lambda input, shape: input.reshape(shape),
    lambda grad, input_shape: reshape(grad, input_shape),
)
_squeeze_dim = ViewOperator(
    "squeeze",
    lambda input, shape: input.reshape(shape),
    lambda grad, input_shape: reshape(grad, input_shape),
    grad_fn="SqueezeBackward1",
)
_squeeze_dims = ViewOperator(
    "squeeze",
    lambda input, shape: input.reshape(shape),
    lambda grad, input_shape: reshape(grad, input_shape),
    grad_fn="SqueezeBackward2",
)


def _unsqueezed(array: np.ndarray[Any, Any], dim: int) -> np.ndarray[Any, Any]:
    shape = array.shape
    return array.reshape((*shape[:dim], 1, *shape[dim:]))


@method()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dimension of size 1 put in at ``dim``."""
    dim = dimension(input._array.ndim + 1, dim)
    return _unsqueeze(input, dim)


@method()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """The dimensions of size 1 left out: all of them, or those in ``dim``."""
    shape = input._array.shape
    if dim is None:
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


# --- repeating without copying --------------------------------------------------------------------


def _expanded(array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """``array`` repeated to ``shape``, in which a size of -1 stands for the present one."""
    complete, strides = _expansion(array.shape, array.strides, shape)
    if array.flags.c_contiguous:
        return _make_array(_ndarray, complete, array.dtype, array, 0, strides)
    return strided_view(array, complete, strides)


@functools.lru_cache(maxsize=4096)
def _expansion(
    own: tuple[int, ...], own_strides: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of an array of shape ``own`` expanded to ``shape``."""
    added = len(shape) - len(own)
    if added < 0 or min(shape[:added], default=0) < 0:
        raise _bad_expand(own, shape)
    complete, strides = list(shape), [0] * len(shape)
    for place, (old, stride) in enumerate(zip(own, own_strides, strict=True), added):
        new = shape[place]
        if new in (old, -1):
            complete[place] = old
            strides[place] = stride
        elif old != 1 or new < 0:
            raise _bad_expand(own, shape)
    return tuple(complete), tuple(strides)


def _bad_expand(own: tuple[int, ...], shape: tuple[int, ...]) -> RuntimeError:
    added = len(shape) - len(own)
    if added < 0:
        return RuntimeError(
            f"expand({list(own)}, size={list(shape)}): the number of sizes provided "
            f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(own)})"
        )
    for place, size in enumerate(shape):
        if place < added and size < 0:
            return RuntimeError(
                f"The expanded size of the tensor ({size}) isn't allowed in a leading, "
                f"non-existing dimension {place}"
            )
        if place >= added and own[place - added] not in (1, size) and size != -1:
            return RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size "
                f"({own[place - added]}) at non-singleton dimension {place}.  Target sizes: "
                f"{list(shape)}.  Tensor sizes: {list(own)}"
            )
    return RuntimeError(f"expand: the sizes {list(shape)} are negative")


_expand = ViewOperator(
    "expand",
    lambda input, shape: _expanded(input, shape),
    lambda grad, input_shape: sum_to_size(grad, input_shape),
)


@method()
def expand(input: Tensor, *sizes: Any, implicit: bool = False) -> Tensor:
    """Dimensions of size 1 repeated to ``sizes``, and dimensions put in front; -1 keeps a size."""
    shape = sizes_of(sizes)
    return _expand.wrap(_expanded(input._array, shape), input, (shape,))


@method()
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input`` repeated to the shape of ``other``."""
    return expand(input, other._array.shape)


@method()
def broadcast_to(input: Tensor, shape: Any) -> Tensor:
    """``input.expand(shape)``."""
    return expand(input, shape)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, each expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = common_shape([tensor._array.shape for tensor in tensors])
    return tuple([expand(tensor, shape) for tensor in tensors])


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape to which all ``shapes`` broadcast; raises torch's error if there is none."""
    rank = max([len(shape) for shape in shapes], default=0)
    common = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, rank - len(shape)):
            if common[place] == 1:
                common[place] = size
            elif size not in (1, common[place]):
                raise RuntimeError(
                    f"The size of tensor a ({common[place]}) must match the size of tensor b "
                    f"({size}) at non-singleton dimension {place}"
                )
    return tuple(common)


def sum_to_size(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The adjoint of expanding ``shape`` to the shape of ``tensor``: the sum of what was repeated.

    Args:
        tensor: of a shape that ``shape`` expands to.
        shape: of the result.
    """
    own = tensor._array.shape
    if own == shape:
        return tensor
    added = len(own) - len(shape)
    dims = list(range(added))
    for place, size in enumerate(shape, added):
        if size == 1 and own[place] != 1:
            dims.append(place)
    summed = tensor.sum(tuple(dims), keepdim=True) if dims else tensor
    return summed if summed._array.shape == shape else reshape(summed, shape)


@method("sum_to_size")
def _sum_to_size_method(input: Tensor, *size: Any) -> Tensor:
    """Sum to a shape that expands to this tensor's shape."""
    shape = sizes_of(size)
    own = input._array.shape
    fits = len(shape) <= len(own) and all(
        [old in (1, new) for old, new in zip(shape[::-1], own[::-1], strict=False)]
    )
    if not fits:
        raise RuntimeError(
            f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}."
        )
    return sum_to_size(input, shape)


# --- copies ---------------------------------------------------------------------------------------


def dense_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that keeps the order of dimensions in memory where no elements are shared."""
    if array.flags.c_contiguous:
        return array.copy()
    strides = array.strides
    if 0 in strides and any([s == 0 and n > 1 for s, n in zip(strides, array.shape, strict=True)]):
        return np.ascontiguousarray(array).reshape(array.shape).copy()
    return array.copy("K")


_clone = TensorOperator("clone", lambda input: dense_copy(input), {"input": lambda grad: grad})
_contiguous = TensorOperator(
    "clone", lambda input: input.copy("C"), {"input": lambda grad: grad}
)


@method()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy of the memory, of the same strides where they are dense."""
    return _clone(input)


@method()
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in order and dense, else a copy that is."""
    return input if input._array.flags.c_contiguous else _contiguous(input)


# --- parts ----------------------------------------------------------------------------------------


def _embedded(array: np.ndarray[Any, Any], shape: tuple[int, ...], key: Any) -> Any:
    result = np.zeros(shape, array.dtype)
    result[key] = array
    return result


#: Zeros of a shape with the input in the part that a basic index ``key`` selects.
embed = TensorOperator(
    "slice_backward",
    lambda input, shape, key: _embedded(input, shape, key),
    {"input": lambda grad, key: slice_view(grad, key)},
)

# Views by a basic index ``key``: a tuple of slices, ints and None that ends with an Ellipsis, so
# that a single element too comes as an array. One operator for each name that torch gives nodes.


def _part(name: str) -> ViewOperator:
    return ViewOperator(
        name,
        lambda input, key: input[key],
        lambda grad, input_shape, key: embed(grad, input_shape, key),
    )


slice_view = _part("slice")
select_view = _part("select")
unsqueeze_view = _part("unsqueeze")
alias_view = _part("alias")

_ALL = slice(None)


def part(dim: int, chosen: int | slice) -> tuple[Any, ...]:
    """The key that takes ``chosen`` of one dimension, and all of the others."""
    return (*(_ALL,) * dim, chosen, ...)


@method()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` entries of one dimension, from ``start`` on."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim, start = dimension(len(shape), dim), int(start)
    size = shape[dim]
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({size})."
        )
    return slice_view(input, part(dim, slice(start, start + length)))


@method()
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """Entry ``index`` of one dimension, which is left out."""
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = dimension(len(shape), dim), int(index)
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension "
            f"{dim}"
        )
    return select_view(input, part(dim, index))


def _diagonal_view(
    array: np.ndarray[Any, Any], offset: int, dim1: int, dim2: int
) -> np.ndarray[Any, Any]:
    shape, strides = array.shape, array.strides
    rows, columns = max(-offset, 0), max(offset, 0)
    length = max(min(shape[dim1] - rows, shape[dim2] - columns), 0)
    start = rows * strides[dim1] + columns * strides[dim2] if length else 0
    kept = [dim for dim in range(len(shape)) if dim not in (dim1, dim2)]
    return strided_view(
        array,
        (*[shape[dim] for dim in kept], length),
        (*[strides[dim] for dim in kept], strides[dim1] + strides[dim2]),
        start,
    )


def _diagonal_embedded(
    array: np.ndarray[Any, Any], shape: tuple[int, ...], offset: int, dim1: int, dim2: int
) -> np.ndarray[Any, Any]:
    result = np.zeros(shape, array.dtype)
    _diagonal_view(result, offset, dim1, dim2)[...] = array
    return result


_diagonal = ViewOperator(
    "diagonal",
    lambda input, offset, dim1, dim2: _diagonal_view(input, offset, dim1, dim2),
    lambda grad, input_shape, offset, dim1, dim2: embed_diagonal(
        grad, input_shape, offset, dim1, dim2
    ),
)

#: Zeros of a shape with the input on a diagonal.
embed_diagonal = TensorOperator(
    "diagonal_backward",
    lambda input, shape, offset, dim1, dim2: _diagonal_embedded(input, shape, offset, dim1, dim2),
    {"input": lambda grad, offset, dim1, dim2: _diagonal(grad, offset, dim1, dim2)},
)


@method()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals of the matrices in two dimensions, as a last dimension."""
    rank = input._array.ndim
    dim1, dim2 = dimension(rank, dim1), dimension(rank, dim2)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return _diagonal(input, offset, dim1, dim2)


def _windows(
    array: np.ndarray[Any, Any], dim: int, size: int, step: int
) -> np.ndarray[Any, Any]:
    shape, strides = array.shape, array.strides
    if not shape:
        return strided_view(array, (size,), (array.itemsize,))
    count = (shape[dim] - size) // step + 1
    return strided_view(
        array,
        (*shape[:dim], count, *shape[dim + 1 :], size),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]),
    )


def _windows_summed(
    array: np.ndarray[Any, Any], shape: tuple[int, ...], dim: int, size: int, step: int
) -> np.ndarray[Any, Any]:
    result = np.zeros(shape, array.dtype)
    if not shape:
        return result + array.sum(dtype=array.dtype)
    count = array.shape[dim]
    for k in range(size):
        result[part(dim, slice(k, k + step * (count - 1) + 1, step))] += array[..., k]
    return result


_unfold = ViewOperator(
    "unfold",
    lambda input, dim, size, step: _windows(input, dim, size, step),
    lambda grad, input_shape, dim, size, step: _fold(grad, input_shape, dim, size, step),
)
_fold = TensorOperator(
    "unfold_backward",
    lambda input, shape, dim, size, step: _windows_summed(input, shape, dim, size, step),
    {"input": lambda grad, dim, size, step: _unfold(grad, dim, size, step)},
)


@method()
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` entries of one dimension, ``step`` apart, in a new last dimension."""
    shape = input._array.shape
    dim = _counted(len(shape), dimension)
    length = shape[dim] if shape else 1
    if size < 0 or size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return _unfold(input, dim, size, step)
