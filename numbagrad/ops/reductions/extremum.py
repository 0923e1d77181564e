"""Extrema: amax, amin, max, min, aminmax, argmax, argmin and median.

Built on the same reductions as ``reduction.py``. A full extremum shares its gradient among all
elements that reach it; one with a dimension gives it to the element whose index it returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import return_types
from ...autograd import tensor_interface as tensors
from ...backend import foreign
from ...executor.families import indexing as executor
from ...executor.families import order
from ...executor.families.reduction import Reduction, ReductionProgram, SelectionProgram
from ...executor.memory.arrays import filled_like, may_use_elements
from ...tensor import Tensor, new_tensor
from ...transforms.batching import over_dimensions
from ...transforms.tangents import picked as tangent_of_picked
from ...transforms.tangents import weighted, weighted_over
from ..arguments.kinds import NOT_GIVEN, takes
from ..arguments.requirements import refuse_complex
from ..arguments.shapes import dimension
from ..indexing.gather import scatter_add_operator
from ..methods.registry import method
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from .reduction import ALL, mask_of, not_a_bool, numpy_names, with_dims

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


def _shared_among_equals_or_nan(grad: Tensor, input: Tensor, rows: bool, result: Tensor) -> Tensor:
    if rows:
        grad, result = grad.unsqueeze(1), result.unsqueeze(1)
    if rows or not may_use_elements(result._array):
        nan = pointwise("isnan")(result)
        chosen = pointwise("where")(nan, pointwise("isnan")(input), pointwise("eq")(input, result))
        counted = tensors.cast(chosen, grad._array.dtype)
        share = grad / (counted.sum(1, keepdim=True) if rows else counted.sum())
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
        batch=over_dimensions,
        tangent=weighted,
        portable=True,
    )


_amax = _extremum("max", "amax")
_amin = _extremum("min", "amin")


@method()
def amax(input: Tensor, dim: Any = (), keepdim: bool = False, **numpy: Any) -> Tensor:
    """The largest element over the dimensions ``dim`` (all if empty); NaN if there is one."""
    dim, keepdim = numpy_names("amax", dim, keepdim, numpy)
    if keepdim is not False and keepdim is not True:
        raise not_a_bool("amax", keepdim)
    check_not_empty("amax", input._array, dim)
    return _amax(input, mask_of(dim, input._array.ndim), keepdim)


@method()
def amin(input: Tensor, dim: Any = (), keepdim: bool = False, **numpy: Any) -> Tensor:
    """The smallest element over the dimensions ``dim`` (all if empty); NaN if there is one."""
    dim, keepdim = numpy_names("amin", dim, keepdim, numpy)
    if keepdim is not False and keepdim is not True:
        raise not_a_bool("amin", keepdim)
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
    batch=over_dimensions,
    portable=True,
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
        lambda input, rows: program.run(input, 2 if rows else ALL, False),
        {"input": _shared_among_equals_or_nan},
        grad_fn=f"{which.capitalize()}Backward1",
        batch=_rows_of_samples,
        tangent=_of_all_elements,
        portable=True,
    )


def _of_all_elements(operator: Any, primals: Any, *rest: Any) -> Any:
    """The tangent of an extremum, of all elements or of those in a row."""
    return weighted_over(2 if primals[1] else ALL, False, operator, primals, *rest)


def _rows_of_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The extremum of all elements of a sample, in a row; if they were rows, one by one."""
    input, rows = arguments
    if rows:
        made: Tensor = operator(input.flatten(0, 1), True).unflatten(0, (size, -1))
        return made
    made = operator(input.reshape(size, -1), True)
    return made


_full_operators = {"max": _full("max"), "min": _full("min")}


def _of_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Any:
    input, dim, keepdim, *rest = arguments
    if input._array.ndim == 1:
        return operator(input.unsqueeze(1), 1, False, *rest)
    return operator(input, dim + 1, keepdim, *rest)


def _picked_gradient(
    grad: Any, input_shape: tuple[int, ...], dim: int, keepdim: bool, result1: Tensor
) -> Tensor | None:
    """The gradient of the values, put where they came from; indices have none."""
    values, indices = grad[0], result1.detach()
    if values is None or not input_shape:
        return values
    if not keepdim:
        values, indices = values.unsqueeze(dim), indices.unsqueeze(dim)
    zeros = new_tensor(filled_like(values._array, input_shape, values._array.dtype, 0))
    return scatter_add_operator(zeros, dim, indices, values)


def picking(name: str, forward: Any, grad_fn: str = "") -> TensorOperator:
    """An operator that picks one element along a dimension: the values and their indices.

    ``forward(array, dim, keepdim, ...)`` gives both.
    """
    return TensorOperator(
        name,
        forward,
        {"input": _picked_gradient},
        grad_fn=grad_fn,
        batch=_of_samples,
        tangent=tangent_of_picked,
        portable=True,
    )


def picked(array: Array, dim: int, keepdim: bool, indices: Array) -> tuple[Array, Array]:
    """The elements at ``indices``, of size 1 along ``dim``, and the indices."""
    values = executor.gather(array, dim, indices)
    if array.ndim and not keepdim:
        first: Any = (*[slice(None)] * dim, 0, ...)  # which is an array of a vector too
        values, indices = values[first], indices[first]
    return values, indices.copy()


def _selecting(which: str) -> TensorOperator:
    selection = _selections[which]
    return picking(which, lambda input, dim, keepdim: selection.run(input, 1 << dim, keepdim))


_with_dimension = {"max": _selecting("max"), "min": _selecting("min")}


def _with_indices(which: str, input: Tensor, dim: int, keepdim: bool) -> Any:
    array = input._array
    check_not_empty(which, array, dim)
    position = dimension(array.ndim, dim)
    return getattr(return_types, which)(*_with_dimension[which](input, position, keepdim))


def _binary_or_dimension(
    which: str, binary: str, input: Tensor, dim: Any, keepdim: bool, numpy: dict[str, Any]
) -> Any:
    if "other" in numpy:
        dim = numpy.pop("other")
    if numpy:
        dim, keepdim = numpy_names(which, dim, keepdim, numpy)
    if keepdim is not False and keepdim is not True:
        raise not_a_bool(which, keepdim)
    if dim is NOT_GIVEN:
        check_not_empty(which, input._array, None)
        return _full_operators[which](input, False)
    if isinstance(dim, Tensor):
        if keepdim is not False:
            raise TypeError(
                f"{which}() of two Tensors takes no keepdim; a dim of one Tensor is an int"
            )
        return pointwise(binary)(input, dim)
    if dim.__class__ is not int:
        if not hasattr(dim, "__index__") or isinstance(dim, bool):
            raise TypeError(
                f"{which}(): expected an int as dim, or a Tensor to compare with, got "
                f"{type(dim).__name__}; use a{which} for several dimensions, or for all"
            )
        dim = int(dim)
    return _with_indices(which, input, dim, keepdim)


@method()
@takes("input: Tensor", "input: Tensor, dim: int, keepdim?: bool", "input: Tensor, other: Tensor")
def max(input: Tensor, dim: int | Tensor = NOT_GIVEN, keepdim: bool = False, **names: Any) -> Any:
    """The largest element; with ``dim`` a pair of values and indices along it.

    With a Tensor in place of ``dim``, the larger of the two, element by element. NaN is larger than
    any number. A full maximum shares its gradient among equals.
    """
    return _binary_or_dimension("max", "maximum", input, dim, keepdim, names)


@method()
@takes("input: Tensor", "input: Tensor, dim: int, keepdim?: bool", "input: Tensor, other: Tensor")
def min(input: Tensor, dim: int | Tensor = NOT_GIVEN, keepdim: bool = False, **names: Any) -> Any:
    """The smallest element; with ``dim`` a pair of values and indices along it.

    With a Tensor in place of ``dim``, the smaller of the two, element by element. NaN is smaller
    than any number. A full minimum shares its gradient among equals.
    """
    return _binary_or_dimension("min", "minimum", input, dim, keepdim, names)


# --- indices --------------------------------------------------------------------------------------


def index_of(which: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    array = input._array
    name = f"arg{which}"
    if keepdim is not False and keepdim is not True:
        raise not_a_bool(name, keepdim)
    if array.dtype == np.bool_:
        raise RuntimeError(f"{name}(): does not support bool input")
    if array.dtype.kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input")
    check_not_empty(name, array, dim, IndexError)
    position = None if dim is None else dimension(array.ndim, dim)
    made: Tensor = _indices[which](input, position, keepdim)
    return made


def _indices_forward(which: str, array: Array, dim: int | None, keepdim: bool) -> Array:
    select = _selections[which].run
    if dim is not None:
        found: Array = select(array, 1 << dim, keepdim)[1]
        return found
    made = _full_index(select, array)
    return made.reshape((1,) * array.ndim) if keepdim else made


def _full_index(select: Any, array: Array) -> Array:
    """The index of the extremum of all; for many elements, that of parts and then among them."""
    elsewhere = foreign(array) is not None
    flat = array.reshape(-1) if elsewhere else np.ascontiguousarray(array).reshape(-1)
    if flat.size < _TWO_STEPS or elsewhere:
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


def _indices_of_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    input, dim, keepdim = arguments
    rank = input._array.ndim - 1
    if rank == 0:
        made: Tensor = operator(input.unsqueeze(1), 1, False)
    elif dim is None:
        made = operator(input.flatten(1), 1, False)
        made = made.view(size, *(1,) * rank) if keepdim else made
    else:
        made = operator(input, dim + 1, keepdim)
    return made


_indices = {
    which: TensorOperator(
        f"arg{which}",
        lambda input, dim, keepdim, which=which: _indices_forward(which, input, dim, keepdim),
        {},
        batch=_indices_of_samples,
        portable=True,
    )
    for which in ("max", "min")
}


@method()
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first largest element, in all elements or along ``dim``."""
    return index_of("max", input, dim, keepdim)


@method()
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first smallest element, in all elements or along ``dim``."""
    return index_of("min", input, dim, keepdim)


# --- median ---------------------------------------------------------------------------------------


def _median_positions(array: Array, dim: int, ignore_nan: bool) -> Array:
    """Indices of lower medians, kept dimensions; NaN sorts last, and wins if not ignored."""
    if (where := foreign(array)) is not None:
        return where.call(_median_positions, array, dim, ignore_nan)
    size = array.shape[dim]
    nan = np.isnan(array) if _has_nan(array) else None
    if nan is None:
        return order.of_rank(array, dim, (size - 1) // 2)
    nans = nan.sum(dim, keepdims=True)
    if ignore_nan:
        position = np.maximum(size - nans - 1, 0) // 2
    else:
        position = np.where(nans > 0, size - nans, (size - 1) // 2)
    return np.take_along_axis(order.argsort(array, dim, False), position, dim)


def _has_nan(array: Array) -> bool:
    return array.dtype.kind in "fV" and bool(np.isnan(array.max(initial=-np.inf)))


def _nan_as(kind: np.dtype[Any]) -> Array:
    with np.errstate(invalid="ignore"):  # as an integer, what the processor makes of NaN
        return np.asarray(np.array(np.nan).astype(kind))


def _full_median(name: str) -> TensorOperator:
    def forward(input: Array, rows: bool) -> Array:
        if rows:
            return np.array([forward(row, False) for row in input], input.dtype)
        flat = input.reshape(-1)
        if flat.size == 0:
            return _nan_as(input.dtype)
        if _has_nan(flat):
            if name == "median":
                return np.asarray(flat[np.isnan(flat)][0])
            flat = np.sort(flat)  # with NaN last
            flat = flat[: flat.size - int(np.isnan(flat).sum()) or 1]
        position = (flat.size - 1) // 2
        return np.asarray(np.partition(flat, position)[position])

    return TensorOperator(
        name,
        forward,
        {"input": _shared_among_equals_or_nan},
        batch=_rows_of_samples,
        tangent=_of_all_elements,
    )


_medians = {name: _full_median(name) for name in ("median", "nanmedian")}


def _median(name: str, input: Tensor, dim: Any, keepdim: bool) -> Any:
    refuse_complex(name, input._array)
    array = input._array
    if array.dtype == np.bool_:
        raise NotImplementedError("\"median_cpu\" not implemented for 'Bool'")
    if dim is NOT_GIVEN:
        return _medians[name](input, False)
    check_not_empty("median", array, dim)
    position = dimension(array.ndim, dim)
    return getattr(return_types, name)(*_medians_along[name](input, position, keepdim))


def _median_along(name: str, array: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    if array.ndim == 0:
        return array.copy(), np.zeros((), dtype=np.int64)
    return picked(array, dim, keepdim, _median_positions(array, dim, name == "nanmedian"))


_medians_along = {
    name: picking(
        name,
        lambda input, dim, keepdim, name=name: _median_along(name, input, dim, keepdim),
        f"{name.capitalize()}Backward1",
    )
    for name in ("median", "nanmedian")
}


@method()
@takes("input: Tensor", "input: Tensor, dim: int, keepdim?: bool")
def median(input: Tensor, dim: int = NOT_GIVEN, keepdim: bool = False) -> Any:
    """The median, the lower of two; with ``dim`` a pair of values and indices. NaN wins."""
    return _median("median", input, dim, keepdim)


@method()
@takes("input: Tensor", "input: Tensor, dim: int, keepdim?: bool")
def nanmedian(input: Tensor, dim: int = NOT_GIVEN, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN; with ``dim`` values and indices."""
    return _median("nanmedian", input, dim, keepdim)
