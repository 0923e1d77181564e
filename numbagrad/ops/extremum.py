"""Extrema: amax, amin, max, min, aminmax, argmax, argmin and median.

Built on the same reductions as ``reduction.py``. A full extremum shares its gradient among all
elements that reach it; one with a dimension gives it to the element whose index it returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..autograd import tensor_interface as tensors
from ..autograd.grad_mode import state as grad_mode
from ..autograd.node import Node, edge_of
from ..autograd.saved import save
from ..executor import capture
from ..executor import indexing as executor
from ..executor.arrays import filled
from ..executor.reduction import Reduction, ReductionProgram, SelectionProgram
from ..tensor import Tensor, new_tensor
from .gather import scatter_add_operator
from .operator import pointwise
from .reduction import ALL, mask_of, numpy_names, with_dims
from .registry import method
from .shapes import dimension
from .tensor_operator import TensorOperator

__all__ = [
    "amax", "amin", "aminmax", "argmax", "argmin", "max", "median", "min", "nanmedian",
]  # fmt: skip

Array = np.ndarray[Any, Any]

_programs = {
    "max": ReductionProgram(Reduction("max", "maximum")),
    "min": ReductionProgram(Reduction("min", "minimum")),
}
_selections = {
    "max": SelectionProgram(Reduction("max", "maximum")),
    "min": SelectionProgram(Reduction("min", "minimum")),
}

#: Elements from which a full argmax is worth two steps, of which the first uses all threads.
_TWO_STEPS = 65536
_PARTS = 64

# --- gradients ------------------------------------------------------------------------------------


def shared(grad: Tensor, chosen: Tensor, mask: int) -> Tensor:
    """``grad`` shared evenly among the chosen elements of each result."""
    weight = tensors.cast(chosen, grad._array.dtype)
    dims = [d for d in range(weight._array.ndim) if (mask >> d) & 1]
    return weight * (with_dims(grad, weight._array.shape, mask) / weight.sum(dims, keepdim=True))


def _shared_among_equals(grad: Tensor, input: Tensor, mask: int, result: Tensor) -> Tensor:
    equal = pointwise("eq")(input, with_dims(result, input._array.shape, mask))
    return shared(grad, equal, mask)


def _shared_among_equals_or_nan(grad: Tensor, input: Tensor, result: Tensor) -> Tensor:
    if capture.is_recording():  # a program: without asking what the value is
        nan = pointwise("isnan")(result)
        chosen = pointwise("where")(nan, pointwise("isnan")(input), pointwise("eq")(input, result))
        share = grad / tensors.cast(chosen, grad._array.dtype).sum()
        return pointwise("where")(chosen, share, 0)
    value = result._array
    chosen = pointwise("isnan")(input) if value != value else pointwise("eq")(input, result)
    # Chosen, not multiplied by 0 or 1: a gradient that is NaN or infinite stays where it belongs.
    return pointwise("where")(chosen, grad / int(chosen._array.sum()), 0)


# --- checks ---------------------------------------------------------------------------------------


def check_not_empty(
    name: str, array: Array, dim: Any, error: type[Exception] = RuntimeError
) -> None:
    """Raise torch's error if there is nothing to choose from."""
    if array.size:
        return
    if dim is None or (dim.__class__ is tuple and not dim):
        hint = "" if error is IndexError else " Specify the reduction dim with the 'dim' argument."
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0.{hint}"
        )
    mask = mask_of(dim, array.ndim)
    for d, size in enumerate(array.shape):
        if size == 0 and (mask >> d) & 1:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


# --- amax and amin --------------------------------------------------------------------------------


def _extremum(which: str, name: str) -> TensorOperator:
    program = _programs[which]
    return TensorOperator(
        name,
        lambda input, mask, keepdim: program.run(input, mask, keepdim),
        {"input": _shared_among_equals},
    )


_amax = _extremum("max", "amax")
_amin = _extremum("min", "amin")


@method()
def amax(input: Tensor, dim: Any = (), keepdim: bool = False, **numpy: Any) -> Tensor:
    """The largest element over the dimensions ``dim`` (all if empty); NaN if there is one."""
    dim, keepdim = numpy_names("amax", dim, keepdim, numpy)
    check_not_empty("amax", input._array, dim)
    return _amax(input, mask_of(dim, input._array.ndim), keepdim)


@method()
def amin(input: Tensor, dim: Any = (), keepdim: bool = False, **numpy: Any) -> Tensor:
    """The smallest element over the dimensions ``dim`` (all if empty); NaN if there is one."""
    dim, keepdim = numpy_names("amin", dim, keepdim, numpy)
    check_not_empty("amin", input._array, dim)
    return _amin(input, mask_of(dim, input._array.ndim), keepdim)


def _both_gradients(
    grad: Any, input: Tensor, mask: int, result: Tensor, result1: Tensor
) -> Tensor | None:
    """Each gradient goes to the elements that reach its extremum."""
    total = None
    for given, extremum in zip(grad, (result, result1), strict=True):
        if given is not None:
            term = _shared_among_equals(given, input, mask, extremum)
            total = term if total is None else total + term
    return total


_aminmax = TensorOperator(
    "aminmax",
    lambda input, mask, keepdim: (
        _amin.forward(input, mask, keepdim),
        _amax.forward(input, mask, keepdim),
    ),
    {"input": _both_gradients},
)


@method()
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element, over all dimensions or over ``dim``."""
    array = input._array
    mask = mask_of(dim, array.ndim)
    if dim is not None and array.ndim and array.shape[dimension(array.ndim, dim)] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    if array.size == 0 and dim is None:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    return return_types.aminmax(*_aminmax(input, mask, keepdim))


# --- max and min ----------------------------------------------------------------------------------


def _full(which: str) -> TensorOperator:
    program = _programs[which]
    return TensorOperator(
        which,
        lambda input: program.run(input, ALL, False),
        {"input": _shared_among_equals_or_nan},
        grad_fn=f"{which.capitalize()}Backward1",
    )


_full_operators = {"max": _full("max"), "min": _full("min")}


class SelectionNode(Node):
    """Node of an operator that picks one element along a dimension: values and their indices."""

    __slots__ = ("shape", "dim", "keepdim")

    shape: tuple[int, ...]
    dim: int
    keepdim: bool
    _output_count = 2

    def backward(self, *grads: Tensor | None) -> tuple[Tensor | None]:
        """The gradient of the values, put where they came from."""
        grad = grads[0]
        if grad is None:
            return (None,)
        (indices,) = self.unpack()
        if not self.shape:
            return (grad,)
        if not self.keepdim:
            grad = grad.unsqueeze(self.dim)
            indices = indices.unsqueeze(self.dim)
        zeros = new_tensor(filled(self.shape, grad._array.dtype, 0))
        return (scatter_add_operator(zeros, self.dim, indices, grad),)


_NODES: dict[str, type[SelectionNode]] = {
    name: type(grad_fn, (SelectionNode,), {"__slots__": ()})
    for name, grad_fn in {
        "max": "MaxBackward0", "min": "MinBackward0", "median": "MedianBackward1",
        "nanmedian": "NanmedianBackward1", "cummax": "CummaxBackward0",
        "cummin": "CumminBackward0", "kthvalue": "KthvalueBackward0", "mode": "ModeBackward0",
    }.items()
}  # fmt: skip


def selected(
    name: str, input: Tensor, dim: int, keepdim: bool, made: tuple[Array, Array]
) -> Any:
    """Values and indices as Tensors with a name each, recorded if the input needs a gradient.

    Where ``name`` is that of a scan, an element may have been picked several times.
    """
    values, indices = new_tensor(made[0]), new_tensor(made[1])
    if input._requires_grad and grad_mode.enabled:
        node = _NODES[name]((edge_of(input),), (save(indices),))
        node.shape = input._array.shape
        node.dim = dim
        node.keepdim = keepdim or name.startswith("cum")
        values._requires_grad = True
        values._grad_fn = node
    return getattr(return_types, name)(values, indices)


def picked(
    name: str, input: Tensor, dim: int, keepdim: bool, find: Any, *arguments: Any
) -> Any:
    """The elements at the indices ``find(array, dim, *arguments)``, and those; see ``selected``.

    The indices have size 1 along ``dim``. NumPy computes them, at each run of a program.
    """
    made = capture.call(_picked, input._array, dim, keepdim, find, *arguments)
    return selected(name, input, dim, keepdim, made)


def _picked(
    array: Array, dim: int, keepdim: bool, find: Any, *arguments: Any
) -> tuple[Array, Array]:
    if array.ndim == 0:
        return array.copy(), np.zeros((), dtype=np.int64)
    indices = find(array, dim, *arguments)
    values = executor.gather(array, dim, indices)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return values, indices.copy()


def _with_indices(which: str, input: Tensor, dim: int, keepdim: bool) -> Any:
    array = input._array
    check_not_empty(which, array, dim)
    place = dimension(array.ndim, dim)
    made: Any = _selections[which].run(array, 1 << place, keepdim)
    return selected(which, input, place, keepdim, made)


def _binary_or_dimension(
    which: str, binary: str, input: Tensor, dim: Any, keepdim: bool, numpy: dict[str, Any]
) -> Any:
    if "other" in numpy:
        dim = numpy.pop("other")
    if numpy:
        dim, keepdim = numpy_names(which, dim, keepdim, numpy)
    if dim is None:
        check_not_empty(which, input._array, None)
        return _full_operators[which](input)
    if isinstance(dim, Tensor):
        return pointwise(binary)(input, dim)
    if dim.__class__ is not int:
        raise TypeError(
            f"{which}(): expected an int as dim, or a Tensor to compare with, got "
            f"{type(dim).__name__}; use a{which} for several dimensions"
        )
    return _with_indices(which, input, dim, keepdim)


@method()
def max(input: Tensor, dim: Any = None, keepdim: bool = False, **names: Any) -> Any:
    """The largest element; with ``dim`` a pair of values and indices along it.

    With a Tensor in place of ``dim``, the larger of the two, element by element. NaN is larger than
    any number. A full maximum shares its gradient among equals.
    """
    return _binary_or_dimension("max", "maximum", input, dim, keepdim, names)


@method()
def min(input: Tensor, dim: Any = None, keepdim: bool = False, **names: Any) -> Any:
    """The smallest element; with ``dim`` a pair of values and indices along it.

    With a Tensor in place of ``dim``, the smaller of the two, element by element. NaN is smaller
    than any number. A full minimum shares its gradient among equals.
    """
    return _binary_or_dimension("min", "minimum", input, dim, keepdim, names)


# --- indices --------------------------------------------------------------------------------------


def _index_of(which: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    array = input._array
    name = f"arg{which}"
    if array.dtype == np.bool_:
        raise RuntimeError(f"{name}(): does not support bool input")
    check_not_empty(name, array, dim, IndexError)
    select = _selections[which].run
    if dim is not None:
        return new_tensor(select(array, 1 << dimension(array.ndim, dim), keepdim)[1])
    made = capture.call(_full_index, select, array)
    return new_tensor(made.reshape((1,) * array.ndim) if keepdim else made)


def _full_index(select: Any, array: Array) -> Array:
    """The index of the extremum of all; for many elements, that of parts and then among them."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.size < _TWO_STEPS:
        made: Array = select(flat, 1, False)[1]
        return made
    length = flat.size // _PARTS
    values, indices = select(flat[: length * _PARTS].reshape(_PARTS, length), 2, False)
    rest = flat[length * _PARTS :]
    candidates = np.append(values, rest)
    best = int(select(candidates, 1, False)[1])
    if best >= _PARTS:
        return np.asarray(length * _PARTS + best - _PARTS)
    return np.asarray(best * length + indices[best])


@method()
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first largest element, in all elements or along ``dim``."""
    return _index_of("max", input, dim, keepdim)


@method()
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first smallest element, in all elements or along ``dim``."""
    return _index_of("min", input, dim, keepdim)


# --- median ---------------------------------------------------------------------------------------


def _median_places(array: Array, dim: int, ignore_nan: bool) -> Array:
    """Indices of lower medians, kept dimensions; NaN sorts last, and wins if not ignored."""
    order = np.argsort(array, axis=dim, kind="stable")
    size = array.shape[dim]
    place = np.full(1, (size - 1) // 2)
    if array.dtype.kind == "f":
        nans = np.isnan(array).sum(dim, keepdims=True)
        if ignore_nan:
            place = np.maximum(size - nans - 1, 0) // 2
        else:
            place = np.where(nans > 0, size - nans, (size - 1) // 2)
    shape = list(array.shape)
    shape[dim] = 1
    return np.take_along_axis(order, np.broadcast_to(place, shape), dim)


def _full_median(name: str) -> TensorOperator:
    def forward(input: Array) -> Array:
        flat = input.reshape(-1)
        if flat.size == 0:
            with np.errstate(invalid="ignore"):  # as an integer, what the processor makes of NaN
                return np.asarray(np.array(np.nan).astype(input.dtype))
        if name == "nanmedian" and flat.dtype.kind == "f":
            return flat[_median_places(flat, 0, True)].reshape(())
        place = (flat.size - 1) // 2
        ordered = np.partition(flat, (place, flat.size - 1))
        # NaN sorts last, and wins.
        has_nan = ordered[-1] != ordered[-1]
        return np.asarray(ordered[-1] if has_nan else ordered[place])

    return TensorOperator(name, forward, {"input": _shared_among_equals_or_nan})


_medians = {name: _full_median(name) for name in ("median", "nanmedian")}


def _median(name: str, input: Tensor, dim: int | None, keepdim: bool) -> Any:
    array = input._array
    if array.dtype == np.bool_:
        raise NotImplementedError("\"median_cpu\" not implemented for 'Bool'")
    if dim is None:
        return _medians[name](input)
    check_not_empty("median", array, dim)
    place = dimension(array.ndim, dim)
    return picked(name, input, place, keepdim, _median_places, name == "nanmedian")


@method()
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median, the lower of two; with ``dim`` a pair of values and indices. NaN wins."""
    return _median("median", input, dim, keepdim)


@method()
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN; with ``dim`` values and indices."""
    return _median("nanmedian", input, dim, keepdim)
