"""Reductions that add, multiply or ask: sum, mean, prod, any, all, and their relatives.

What each computes is a ``Reduction`` (``executor/families/reduction.py``); here are torch's
functions, the errors for bad dimensions, and the gradients, written in Tensor operations. Extrema
are in ``extremum.py``, norms and moments in ``statistics.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...autograd import tensor_interface as tensors
from ...autograd.grad_mode import state as grad_mode
from ...autograd.hooks import creation_hooks, watching
from ...autograd.node import Node
from ...dispatch import layers
from ...dispatch.bits import INTERCEPTED, TRANSFORMED
from ...dispatch.policies import autocasts
from ...dtype import bool_, scalar_type_name
from ...dtype import dtype as DType
from ...executor.builtin import LaunchMiss
from ...executor.families.reduction import Reduction, ReductionProgram
from ...executor.memory.arrays import filled_like, may_use_elements
from ...executor.plan.forms import reduced_shape
from ...formula import isnan, where
from ...tensor import Tensor, new_tensor
from ...transforms import tangents
from ...transforms.batching import over_dimensions
from ...transforms.levels import Transformed
from ...type_names import type_name
from ..arguments.kinds import NOT_GIVEN, takes
from ..arguments.requirements import require_tensor
from ..arguments.shapes import dimension, dimensions
from ..complex.lazy_conj import conjugate
from ..methods.registry import method
from ..operators import native_launchers
from ..operators.base import Operator
from ..operators.pointwise_operator import pointwise
from ..operators.saved_names import dims_of_mask
from ..operators.tensor_operator import TensorOperator
from ..pointwise.selection import where as choose
from ..views.expand import expand
from ..views.join import cat

__all__ = [
    "all", "any", "count_nonzero", "mean", "nanmean", "nansum", "prod", "sum",
]  # fmt: skip


Array = np.ndarray[Any, Any]

_ndarray = np.ndarray
#: The mask that means all dimensions.
ALL = -1

# --- dimensions -----------------------------------------------------------------------------------


def not_a_bool(function: str, keepdim: Any) -> TypeError:
    """The error of a ``keepdim`` that is neither True nor False."""
    return TypeError(f"{function}(): argument 'keepdim' must be bool, not {type_name(keepdim)}")


def _check_without_dim(function: str, keepdim: Any) -> None:
    """Raise torch's error for ``keepdim`` of a reduction whose ``dim`` is left out."""
    if keepdim is not True:
        raise not_a_bool(function, keepdim)
    raise TypeError(
        f"{function}() takes keepdim=True with a dim only; dim=None stands for all dimensions"
    )


def numpy_names(function: str, dim: Any, keepdim: bool, given: dict[str, Any]) -> tuple[Any, bool]:
    """``dim`` and ``keepdim``, which may be given as ``axis`` and ``keepdims`` instead."""
    dim = given.pop("axis", dim)
    keepdim = given.pop("keepdims", keepdim)
    if given:
        raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(given))}'")
    return dim, keepdim


def mask_of(dim: Any, rank: int) -> int:
    """The dimensions in ``dim`` (an int, several, or None for all) as a mask of bits."""
    if dim is None:
        return ALL
    if dim.__class__ is int:
        return 1 << dimension(rank, dim)
    mask = 0
    several = dim.__class__ is tuple or dim.__class__ is list or isinstance(dim, Sequence)
    if isinstance(dim, str):
        raise TypeError("argument 'dim' must be tuple of ints, not str")
    for d in dimensions(rank, dim) if several else [dimension(rank, dim)]:
        mask |= 1 << d
    return mask or ALL


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
    return reduced.reshape(reduced_shape(shape, mask))


def spread(grad: Tensor, shape: tuple[int, ...], mask: int) -> Tensor:
    """The gradient of a sum: ``grad`` repeated, without a copy, to the shape of what was summed."""
    if grad._array.ndim == 0 and not grad_mode.enabled and grad._array.__class__ is _ndarray:
        array = grad._array
        return native_launchers.calls.repeated(array, shape)
    if grad._array.ndim == 0:
        return expand(grad, shape)
    return expand(with_dims(grad, shape, mask), shape)


# --- sum and mean ---------------------------------------------------------------------------------


class SumNode(Node):
    """Node of a sum or mean. Keeps what the gradient is made of: no tensor."""

    __slots__ = ("shape", "mask", "divisor", "dtype")

    _announced_when_complete = True
    shape: tuple[int, ...]
    mask: int
    divisor: int
    dtype: Any

    def backward(self, grad: Tensor | None) -> tuple[Tensor | None]:
        """``grad`` (over the count, for a mean) for every element."""
        if grad is None:
            return (None,)
        if self.divisor != 1:
            grad = grad / self.divisor
        if grad._array.dtype is not self.dtype:
            grad = tensors.cast(grad, self.dtype)
        return (spread(grad, self.shape, self.mask),)

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        fields: dict[str, tuple[str, Any]] = {"self_sym_sizes": ("value", lambda: self.shape)}
        if self.mask != ALL:
            fields["dim"] = ("value", lambda: dims_of_mask(self.mask)["dim"])
        return fields


def _node_class(name: str, operator: LinearReduction) -> type[SumNode]:
    return type(name, (SumNode,), {"__slots__": (), "operator": operator})


class LinearReduction(Operator):
    """A sum or a mean: reductions whose gradient does not depend on the values."""

    __slots__ = ("definition", "name", "program", "programs", "nodes", "divides_by_count")

    parameters = ("input", "mask", "keepdim", "dtype")
    tensors = frozenset(("input",))
    layers = TRANSFORMED | INTERCEPTED
    tangent = staticmethod(tangents.multilinear)
    batch = staticmethod(over_dimensions)

    def __init__(self, definition: Reduction, nodes: tuple[str, str], divides_by_count: bool):
        self.definition = definition
        self.name = definition.name
        self.program = ReductionProgram(definition)
        self.programs: dict[DType | None, ReductionProgram] = {None: self.program}
        self.nodes = tuple([_node_class(name, self) for name in nodes])
        self.divides_by_count = divides_by_count

    def program_for(self, requested: DType | None) -> ReductionProgram:
        """The program that computes in a requested dtype, or in that of the input."""
        program = self.programs.get(requested)
        if program is None:
            program = self.programs[requested] = ReductionProgram(self.definition, requested)
        return program

    def __call__(self, input: Tensor, mask: int, keepdim: bool, dtype: DType | None) -> Tensor:
        program = self.program
        if dtype is not None:
            if dtype.is_complex or input._array.dtype.kind == "c":
                input = tensors.cast(input, dtype.numpy)
                dtype = None if dtype.is_complex else dtype
            program = self.program_for(dtype)
        array = input._array
        if array.__class__ is Transformed:
            return self.compute((input, mask, keepdim, dtype))
        try:
            made = program.launch(array, mask, keepdim)
        except LaunchMiss:
            return self.compute((input, mask, keepdim, dtype))
        if input._requires_grad and grad_mode.enabled and made.dtype.kind in "fcV":
            return self._attach(made, input, mask)
        return new_tensor(made)

    def run(self, arrays: list[Any]) -> Array:
        """The sum or the mean of an array."""
        array, mask, keepdim, dtype = arrays
        return self.program_for(dtype).run(array, mask, keepdim)

    def finish(self, made: Array, arguments: Sequence[Any]) -> Tensor:
        """The result as a Tensor with its history."""
        input, mask, _, _ = arguments
        if input._requires_grad and grad_mode.enabled and made.dtype.kind in "fcV":
            return self._attach(made, input, mask)
        return new_tensor(made)

    def _attach(self, made: np.ndarray[Any, Any], input: Tensor, mask: int) -> Tensor:
        """The result as a Tensor with the node of this reduction."""
        array = input._array
        result = native_launchers.calls.attach(made, self.nodes[mask != ALL], (input,), ())
        node: Any = result._producer
        node.shape = array.shape
        node.mask = mask
        node.divisor = count_of(array.shape, mask) if self.divides_by_count else 1
        node.dtype = array.dtype
        if watching.count:
            creation_hooks.announce(node)
        return result

    def calls_of(self, node: Any, recall: Any) -> Iterable[list[Any]]:
        """The calls that leave such a node: ``keepdim`` decides no kernel."""
        form = node.shape, node.dtype
        input = recall.operand(node.next_edges[0], None, form)
        result = node._input_metadata[0]
        asked: list[Any] = list(self.programs)
        if result is not None:
            asked = [None if result.dtype.numpy == node.dtype else result.dtype]
        return [[input, node.mask, False, dtype] for dtype in asked]

    def with_tangent(self, primals: list[Any], tangents: list[Any]) -> tuple[Tensor, Tensor] | None:
        """The result and its tangent, which is the same reduction of the tangent."""
        tangent, *parameters = tangents[0], *primals[1:]
        return None if tangent is None else (self(*primals), self(tangent, *parameters))

    def remember(self, results: Tensor, arguments: Sequence[Any]) -> Tensor:
        """A result that was computed by a rule, with its history."""
        return self.finish(results._array, arguments) if arguments[0]._requires_grad else results


_sum = LinearReduction(
    Reduction("sum", "add", result="sum"), ("SumBackward0", "SumBackward1"), False
)


def _check_differentiable(input: Tensor, dtype: DType) -> None:
    """Raise where a reduction would lose a gradient: in a requested dtype that has none."""
    real = dtype.is_floating_point or dtype.is_complex
    if not real and input._requires_grad and grad_mode.enabled:
        raise RuntimeError(f"Autograd not support dtype: {scalar_type_name(dtype)}")


def _dims_or_all(dim: Any) -> Any:
    return None if dim is NOT_GIVEN or dim == () or dim == [] else dim


_mean = LinearReduction(
    Reduction("mean", "add", finalise=lambda total, number: total / number),
    ("MeanBackward0", "MeanBackward1"),
    True,
)


@method()
@takes("input: Tensor", "input: Tensor, dim: Sizes | None, keepdim?: bool")
def sum(
    input: Tensor,
    dim: Any = NOT_GIVEN,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    **numpy: Any,
) -> Tensor:
    """Sum over the dimensions ``dim`` (an int, several, or None for all).

    Integers and bools are summed in int64. ``dtype`` converts before summing; the sum of bools in
    bool is whether one of them holds.
    """
    if layers.everywhere and layers.asks(sum):
        return layers.ask(sum, [input, dim, keepdim], {"dtype": dtype, **numpy})
    if numpy:
        dim, keepdim = numpy_names("sum", dim, keepdim, numpy)
    if dtype is not None:
        _check_differentiable(input, dtype)
        if dtype is bool_:
            return any(tensors.cast(input, dtype.numpy), _dims_or_all(dim), keepdim)
    if dim is NOT_GIVEN:
        if keepdim is not False:
            _check_without_dim("sum", keepdim)
        return _sum(input, ALL, False, dtype)
    if keepdim is not False and keepdim is not True:
        raise not_a_bool("sum", keepdim)
    return _sum(input, mask_of(dim, input._array.ndim), keepdim, dtype)


@method()
@takes("input: Tensor", "input: Tensor, dim: Sizes | None, keepdim?: bool")
def mean(
    input: Tensor,
    dim: Any = NOT_GIVEN,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    **numpy: Any,
) -> Tensor:
    """Mean over the dimensions ``dim`` (an int, several, or None for all).

    Raises:
        RuntimeError: for integers and bools, unless ``dtype`` is a float.
    """
    if layers.everywhere and layers.asks(mean):
        return layers.ask(mean, [input, dim, keepdim], {"dtype": dtype, **numpy})
    if numpy:
        dim, keepdim = numpy_names("mean", dim, keepdim, numpy)
    kind = input._array.dtype.kind if dtype is None else dtype.numpy.kind
    if kind not in "fcV":
        what = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} must be either a floating point or "
            f"complex dtype. Got: {scalar_type_name(dtype or input.dtype)}"
        )
    if dim is NOT_GIVEN:
        if keepdim is not False:
            _check_without_dim("mean", keepdim)
        return _mean(input, ALL, False, dtype)
    if keepdim is not False and keepdim is not True:
        raise not_a_bool("mean", keepdim)
    return _mean(input, mask_of(dim, input._array.ndim), keepdim, dtype)


# --- NaN left out ---------------------------------------------------------------------------------

_nansum_program = ReductionProgram(
    Reduction("nansum", "add", map=lambda x: where(isnan(x), 0, x), result="sum", map_input=True)
)
_count_numbers_program = ReductionProgram(
    Reduction(
        "count_numbers", "add", map=lambda x: where(isnan(x), 0, 1), result="int64", map_input=True
    )
)

_nansum = TensorOperator(
    "nansum",
    lambda input, mask, keepdim: _nansum_program.run(input, mask, keepdim),
    {
        "input": lambda grad, input, mask: (
            with_dims(grad, input._array.shape, mask) * pointwise("eq")(input, input)
        )
    },
    batch=over_dimensions,
    tangent=tangents.weighted,
    takes_half=True,
    portable=True,
)
_count_numbers = TensorOperator(
    "count_numbers",
    lambda input, mask, keepdim: _count_numbers_program.run(input, mask, keepdim),
    {},
    batch=over_dimensions,
    takes_half=True,
    portable=True,
)


@method()
def nansum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Sum over the dimensions ``dim`` with NaN taken as zero."""
    if input._array.dtype.kind == "c":
        raise RuntimeError("nansum does not support complex inputs")
    if dtype is not None and dtype.is_complex and input.dtype.is_floating_point:
        raise NotImplementedError(f"\"nansum\" not implemented for '{scalar_type_name(dtype)}'")
    if dtype is not None:
        _check_differentiable(input, dtype)
        input = tensors.cast(input, dtype.numpy)
        if dtype is bool_:
            return any(input, dim, keepdim)
    mask = mask_of(dim, input._array.ndim)
    if input._array.dtype.kind not in "fV":
        return _sum(input, mask, keepdim, dtype)
    return _nansum(input, mask, keepdim)


@method()
def nanmean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Mean over the dimensions ``dim`` of the elements that are not NaN."""
    if input._array.dtype.kind not in "fV":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{scalar_type_name(input.dtype)}"
        )
    total = nansum(input, dim, keepdim, dtype=dtype)
    mask = mask_of(dim, input._array.ndim)
    count = _count_numbers(input, mask, keepdim)
    return total / tensors.cast(count, total._array.dtype)


# --- products -------------------------------------------------------------------------------------


def _prod_gradient(grad: Tensor, input: Tensor, mask: int, result: Tensor) -> Tensor:
    """The product of all others; without a division where an element is zero.

    A program chooses when it runs, as an eager call does: of the two, second derivatives differ
    where a hook changes the gradient of the result.
    """
    shape = input._array.shape
    grad = with_dims(grad, shape, mask)
    if not may_use_elements(input._array):
        is_zero = input == 0
        quotient = with_dims(result, shape, mask) / choose(is_zero, 1, input)
        others = _without_two_zeros(_others(input, mask), is_zero, mask)
        return grad * conjugate(choose(is_zero.any(), others, quotient))
    if has_no_zero(input):
        return grad * conjugate(with_dims(result, shape, mask) / input)
    return grad * conjugate(_without_two_zeros(_others(input, mask), input == 0, mask))


def has_no_zero(input: Tensor) -> bool:
    """Whether all elements, which must be at hand, differ from zero."""
    return bool(_all_program.run(input._array, ALL, False))


def _without_two_zeros(others: Tensor, is_zero: Tensor, mask: int) -> Tensor:
    """0 for every element if two of all are zero, as in torch, even if one is not finite."""
    if mask != ALL or grad_mode.enabled:
        return others
    return choose(is_zero.sum() > 1, 0, others)


def _others(input: Tensor, mask: int) -> Tensor:
    """For every element the product of the other elements that are reduced with it."""
    shape = input._array.shape
    if not shape:
        return new_tensor(filled_like(input._array, (), input._array.dtype, 1))
    if mask == ALL and len(shape) > 1:
        return _others(input.reshape(-1), 1).reshape(shape)
    dim = 0 if mask == ALL else mask.bit_length() - 1
    edge = list(shape)
    edge[dim] = 1
    one = new_tensor(filled_like(input._array, edge, input._array.dtype, 1))
    size = shape[dim]
    before = input.narrow(dim, 0, size - 1).cumprod(dim)
    after = input.narrow(dim, 1, size - 1).flip(dim).cumprod(dim).flip(dim)
    return cat((one, before), dim) * cat((after, one), dim)


@functools.cache
def _prod(requested: DType | None, grad_fn: str) -> TensorOperator:
    program = ReductionProgram(Reduction("prod", "multiply", result="sum"), requested)
    return TensorOperator(
        "prod",
        lambda input, mask, keepdim: program.run(input, mask, keepdim),
        {"input": _prod_gradient},
        grad_fn=grad_fn,
        batch=over_dimensions,
        tangent=tangents.weighted,
        takes_half=True,
        portable=True,
    )


@method()
@takes("input: Tensor", "input: Tensor, dim: int, keepdim?: bool")
@autocasts("float32")
def prod(
    input: Tensor, dim: int = NOT_GIVEN, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Product over all dimensions, or over ``dim``.

    Integers and bools are multiplied in int64. ``dtype`` converts before multiplying; the product
    of bools in bool is whether all of them hold.
    """
    whole = dim is NOT_GIVEN
    if whole:
        require_tensor("prod", input)
    if keepdim is not False:
        if whole:
            _check_without_dim("prod", keepdim)
        if keepdim is not True:
            raise not_a_bool("prod", keepdim)
    if dim is None or dim.__class__ is tuple or dim.__class__ is list:
        raise TypeError(
            f"prod(): argument 'dim' must be int, not {type_name(dim)}; several dimensions need "
            "several calls"
        )
    if dtype is not None:
        _check_differentiable(input, dtype)
        if dtype is bool_:
            return all(tensors.cast(input, dtype.numpy), _dims_or_all(dim), keepdim)
        if input._requires_grad or dtype.is_complex or input._array.dtype.kind == "c":
            input = tensors.cast(input, dtype.numpy)
            dtype = None if dtype.is_complex else dtype
    mask = ALL if whole else mask_of(dim, input._array.ndim)
    return _prod(dtype, "ProdBackward0" if whole else "ProdBackward1")(input, mask, keepdim)


# --- questions ------------------------------------------------------------------------------------


def _question(name: str, combine: str, result: str) -> ReductionProgram:
    return ReductionProgram(
        Reduction(name, combine, map=lambda x: x != 0, result=result, map_input=True)
    )


_any_program, _all_program = (
    _question("any", "either", "bool"), _question("all", "both", "bool")
)  # fmt: skip


def _asking(name: str, program: ReductionProgram) -> TensorOperator:
    def forward(input: Array, mask: int, keepdim: bool) -> Array:
        made = program.run(input, mask, keepdim)
        # As in torch, the answer for uint8 is uint8: there was a time before bools.
        return made.view(np.uint8) if input.dtype == np.uint8 else made

    return TensorOperator(
        name,
        forward,
        {},
        batch=over_dimensions,
        takes_half=True,
        portable=True,
    )


_any, _all = _asking("any", _any_program), _asking("all", _all_program)


def _ask(operator: TensorOperator, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    mask = 0 if dim.__class__ is tuple and not dim else mask_of(dim, input._array.ndim)
    made: Tensor = operator(input, mask, keepdim)
    return made


@method()
def any(input: Tensor, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Tensor:
    """Whether some element is not zero, over all dimensions or over ``dim``."""
    dim, keepdim = numpy_names("any", dim, keepdim, numpy)
    return _ask(_any, input, dim, keepdim)


@method()
def all(input: Tensor, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Tensor:
    """Whether no element is zero, over all dimensions or over ``dim``."""
    dim, keepdim = numpy_names("all", dim, keepdim, numpy)
    return _ask(_all, input, dim, keepdim)


_count_nonzero_program = ReductionProgram(
    Reduction(
        "count_nonzero", "add", map=lambda x: where(x != 0, 1, 0), result="int64", map_input=True
    )
)
_count_nonzero = TensorOperator(
    "count_nonzero",
    lambda input, mask: _count_nonzero_program.run(input, mask, False),
    {},
    batch=lambda operator, size, arguments, mapped: over_dimensions(
        lambda input, mask, keepdim: operator(input, mask), size, (*arguments, False), mapped
    ),
    takes_half=True,
    portable=True,
)


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Number of elements that are not zero, over all dimensions or over ``dim``."""
    mask = mask_of(dim, input._array.ndim)
    if input._array.dtype.kind == "c":
        input = pointwise("ne")(input, 0)
    made: Tensor = _count_nonzero(input, mask)
    return made
