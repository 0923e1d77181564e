"""Scans along one dimension: cumsum, cumprod, logcumsumexp, cummax and cummin.

Gradients of scans are scans from the other end. That of a product is a linear recurrence, which
divides by nothing, so zeros need no special care in gradients of any order.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ... import return_types
from ...autograd import tensor_interface as tensors
from ...autograd.grad_mode import state as grad_mode
from ...dtype import bool_, scalar_type_name
from ...dtype import dtype as DType
from ...executor.families.rowwise import RunningExtremum, Scan
from ...executor.memory.arrays import filled_like, may_use_elements
from ...formula import exp, isfinite, log1p, maximum, minimum, where
from ...tensor import Tensor, new_tensor
from ...transforms.batching import after_samples, stacked
from ...transforms.tangents import multilinear
from ..arguments.shapes import dimension
from ..complex.lazy_conj import conjugate
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..pointwise.selection import where as choose
from ..views.join import cat, stack
from .reduction import has_no_zero

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "diff", "logcumsumexp"]

# --- sums -----------------------------------------------------------------------------------------


@functools.cache
def _cumsum(requested: DType | None, reverse: bool) -> TensorOperator:
    program = Scan(
        "cumsum", 0, lambda state, x: state + x, requested=requested, widens=True, reverse=reverse
    )
    return TensorOperator(
        "cumsum",
        lambda input, dim: program.run(dim, input),
        {"input": lambda grad, dim: _cumsum(None, not reverse)(grad, dim)},
        batch=stacked(dim=after_samples),
        tangent=multilinear,
        takes_half=True,
        portable=True,
    )


def _is_single(input: Tensor) -> bool:
    """Whether a scan has nothing to combine, so that torch has no kernel that could refuse."""
    return not (input._array.ndim and input._array.size)


def _prepare(
    name: str, input: Tensor, dim: int, dtype: DType | None
) -> tuple[Tensor, int, DType | None]:
    """A recorded conversion if there is a gradient to come back through it."""
    if dtype is None:
        return input, dimension(input._array.ndim, dim), None
    if dtype is bool_ and not _is_single(input):
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'; give another dtype")
    if dtype.numpy != input._array.dtype and (
        input._requires_grad or dtype.numpy.kind not in "fV" or input._array.dtype.kind == "c"
    ):
        input = tensors.cast(input, dtype.numpy)
    return input, dimension(input._array.ndim, dim), dtype


@method()
def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Sums of the elements up to each place along ``dim``; integers are summed in int64.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), dim=0)
    tensor([1, 3, 6])
    """
    input, position, dtype = _prepare("cumsum", input, dim, dtype)
    if dtype is bool_:
        return input.clone()
    return _cumsum(dtype, False)(input, position)


@method()
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along ``dim``, ``n`` times; of bools where they differ."""
    if input._array.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    for end in (prepend, append):
        if end is not None and end._array.ndim != input._array.ndim:
            raise RuntimeError(
                "diff expects prepend or append to be the same dimension as input, got "
                f"{end._array.ndim} and {input._array.ndim} dimensions"
            )
    position = dimension(input._array.ndim, dim)
    if n == 0:
        return input.clone()
    parts = [part for part in (prepend, input, append) if part is not None]
    made = input if len(parts) == 1 else cat(parts, position)
    for _ in range(min(n, made._array.shape[position])):
        rest = max(made._array.shape[position] - 1, 0)
        above, below = made.narrow(position, min(1, rest), rest), made.narrow(position, 0, rest)
        made = pointwise("logical_xor" if made._array.dtype.kind == "b" else "sub")(above, below)
    return made


# --- products -------------------------------------------------------------------------------------


def _shifted(input: Tensor, dim: int, first: float, last: bool = False) -> Tensor:
    """Every element moved one place along ``dim``; ``first`` comes in."""
    size = input._array.shape[dim]
    if size == 0:
        return input
    edge = _edge(input, dim, first)
    if last:
        return cat((input.narrow(dim, 1, size - 1), edge), dim)
    return cat((edge, input.narrow(dim, 0, size - 1)), dim)


def _edge(input: Tensor, dim: int, value: float) -> Tensor:
    """The element that comes in where a tensor is moved by one place, of every row."""
    shape = list(input._array.shape)
    shape[dim] = 1
    return new_tensor(filled_like(input._array, shape, input._array.dtype, value))


@functools.cache
def _recurrence(reverse: bool) -> TensorOperator:
    """``s[i] = a[i] * s[i - 1] + b[i]`` along a dimension, or from its end.

    Behind a factor of zero nothing is left of the state, not even of one that is not finite.
    """
    program = Scan(
        "linear_recurrence", 0, lambda state, a, b: where(a == 0, 0, a * state) + b,
        reverse=reverse,
        complex_step=lambda state, a, b: np.where(a == 0, 0, a * state) + b,
    )  # fmt: skip

    def by_addend(grad: Tensor, a: Tensor, dim: int) -> Tensor:
        return _recurrence(not reverse)(
            _shifted(conjugate(a), dim, 0.0, last=not reverse), grad, dim
        )

    def by_factor(grad: Tensor, a: Tensor, dim: int, result: Tensor) -> Tensor:
        return by_addend(grad, a, dim) * _shifted(conjugate(result), dim, 0.0, last=reverse)

    return TensorOperator(
        "linear_recurrence",
        lambda a, b, dim: program.run(dim, a, b),
        {"a": by_factor, "b": by_addend},
        batch=stacked(dim=after_samples),
        takes_half=True,
        portable=True,
    )


def _cumprod_gradient(grad: Tensor, input: Tensor, dim: int, result: Tensor) -> Tensor:
    """Each element is a factor of its own place and of all later ones.

    Behind a zero the gradient is zero, as in torch, but for one that is recorded.
    """
    shape = input._array.shape
    if not shape or not shape[dim]:
        return grad
    later = _recurrence(True)(_shifted(conjugate(input), dim, 0.0, last=True), grad, dim)
    if grad_mode.enabled:  # the last product does not matter, not even where it is infinite
        products = cumprod(input.narrow(dim, 0, shape[dim] - 1), dim)
        before = cat((_edge(input, dim, 1.0), conjugate(products)), dim)
        return before * later
    found = _shifted(conjugate(result), dim, 1.0) * later
    if may_use_elements(input._array) and has_no_zero(input):
        return found
    zeros_before = _shifted(_cumsum(None, False)(input == 0, dim), dim, 0)
    return choose(zeros_before > 0, 0, found)


@functools.cache
def _cumprod(requested: DType | None) -> TensorOperator:
    program = Scan("cumprod", 1, lambda state, x: state * x, requested=requested, widens=True)
    return TensorOperator(
        "cumprod",
        lambda input, dim: program.run(dim, input),
        {"input": _cumprod_gradient},
        batch=stacked(dim=after_samples),
        takes_half=True,
        portable=True,
    )


@method()
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Products of the elements up to each place along ``dim``; of integers in int64."""
    input, position, dtype = _prepare("cumprod", input, dim, dtype)
    if dtype is bool_:
        return input.clone()
    return _cumprod(dtype)(input, position)


for _function in (cumsum, cumprod):
    install_in_place(_function)


# --- logarithms of sums ---------------------------------------------------------------------------


def _log_add(state: Any, x: Any) -> Any:
    """log(exp(state) + exp(x)); two equal infinities stay what they are."""
    larger, smaller = maximum(state, x), minimum(state, x)
    added = log1p(exp(smaller - larger)) + larger
    return where((smaller != larger) | isfinite(smaller), added, larger)


def _logcumsumexp_gradient(grad: Tensor, input: Tensor, dim: int, result: Tensor) -> Tensor:
    """The sum over k >= i of ``grad[k] * exp(input[i] - result[k])``, as a recurrence from the end.

    The results rise, so no factor of the recurrence is above one.
    """
    if not input._array.shape:
        return grad
    following = _shifted(result, dim, math.inf, last=True)
    later = _recurrence(True)(_ratio(result, following), grad, dim)
    return _ratio(input, result) * later


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    """``exp(a - b)``; 1 for equal infinities, which have no gradient."""
    return choose(pointwise("eq")(a, b) & pointwise("isinf")(a), 0.0, a - b).exp()


_logcumsumexp_program = Scan("logcumsumexp", -math.inf, _log_add)
_logcumsumexp = TensorOperator(
    "logcumsumexp",
    lambda input, dim: _logcumsumexp_program.run(dim, input),
    {"input": _logcumsumexp_gradient},
    batch=stacked(dim=after_samples),
    portable=True,
)


@method()
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Logarithms of the sums of exponentials up to each place along ``dim``."""
    if input._array.dtype.kind == "c":
        return _complex_logcumsumexp(input, dimension(input._array.ndim, dim))
    if input._array.dtype.kind not in "fV":
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{scalar_type_name(input.dtype)}'"
        )
    return _logcumsumexp(input, dimension(input._array.ndim, dim))


def _complex_logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The same for complex numbers, place after place."""
    if input._array.size == 0 or input._array.ndim == 0:
        return input.clone()
    made = [input.select(dim, 0)]
    for position in range(1, input._array.shape[dim]):
        made.append(pointwise("logaddexp")(input.select(dim, position), made[-1]))
    return stack(made, dim)


# --- running extrema ------------------------------------------------------------------------------


def _running_gradient(
    grad: Any, input_shape: tuple[int, ...], dim: int, result1: Tensor
) -> Tensor | None:
    """The gradient of the values, added up where they came from; indices have none."""
    if grad[0] is None or not input_shape:
        return grad[0]
    zeros = new_tensor(filled_like(grad[0]._array, input_shape, grad[0]._array.dtype, 0))
    return zeros.scatter_add(dim, result1.detach(), grad[0])


def _tangent_of_running(operator: Any, primals: Any, tangents: Any, results: Any) -> Any:
    tangent = tangents[0]
    if not tangent._array.ndim:
        return tangent.clone(), None
    return tangent.gather(primals[1], results[1]), None


def _running(name: str) -> TensorOperator:
    running = RunningExtremum(name)
    return TensorOperator(
        name,
        lambda input, dim: running.run(dim, input),
        {"input": _running_gradient},
        batch=stacked(dim=after_samples),
        tangent=_tangent_of_running,
        takes_half=True,
        portable=True,
    )


_cummax, _cummin = _running("cummax"), _running("cummin")


@method()
def cummax(input: Tensor, dim: int) -> Any:
    """The largest element up to each place along ``dim``, and its index: the latest of equals."""
    return return_types.cummax(*_cummax(input, dimension(input._array.ndim, dim)))


@method()
def cummin(input: Tensor, dim: int) -> Any:
    """The smallest element up to each place along ``dim``, and its index: the latest of equals."""
    return return_types.cummin(*_cummin(input, dimension(input._array.ndim, dim)))
