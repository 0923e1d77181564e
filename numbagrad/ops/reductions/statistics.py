"""Moments, norms and logsumexp: reductions of a function of the elements.

A variance first reduces to means, then sums squared distances from them; logsumexp first reduces to
maxima. So each walks the memory twice, and neither overflows nor cancels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd import tensor_interface as tensors
from ...backend import foreign
from ...dtype import dtype as DType
from ...dtype import dtype_from_name, get_default_dtype, scalar_type_name
from ...executor.families.checks import check_signs
from ...executor.families.conversion import convert
from ...executor.families.reduction import Reduction, ReductionProgram
from ...formula import abs, exp, log, pow, sqrt, where
from ...tensor import Tensor, new_tensor
from ...transforms.batching import over_dimensions
from ...transforms.levels import is_transformed
from ...transforms.tangents import weighted
from ...type_names import type_name
from ...warn_once import warn_caller
from ..arguments.kinds import takes
from ..arguments.requirements import is_complex_number, require_real
from ..arguments.shapes import dimension
from ..complex.complex_numbers import complex, imag, real
from ..complex.lazy_conj import conjugate
from ..methods.registry import method
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..pointwise.selection import where as choose
from ..views.expand import expand
from .extremum import amax, shared
from .reduction import count_of, mask_of, not_a_bool, numpy_names, with_dims

__all__ = [
    "corrcoef", "cov", "logsumexp", "norm_except_dim", "std", "std_mean", "var", "var_mean",
]  # fmt: skip

Array = np.ndarray[Any, Any]


@functools.cache
def _mean_program(kind: np.dtype[Any]) -> ReductionProgram:
    """Means for use inside a formula: of float16 in float32."""
    name = "float32" if kind == np.float16 else dtype_from_name(kind.name).to_real().name
    definition = Reduction("mean", "add", finalise=lambda total, number: total / number)
    return ReductionProgram(definition, dtype_from_name(name))


def _as_parameter(value: float) -> Array:
    return np.array([value], dtype=np.float64)


# --- variance -------------------------------------------------------------------------------------


def _divisor(number: Any, p: Any) -> Any:
    return where(number > p, number - p, 0)


_var_program = ReductionProgram(
    Reduction(
        "var",
        "add",
        map=lambda x, shift: (x - shift) * (x - shift),
        finalise=lambda total, number, p: total / _divisor(number, p),
    )
)
_std_program = ReductionProgram(
    Reduction(
        "std",
        "add",
        map=lambda x, shift: (x - shift) * (x - shift),
        finalise=lambda total, number, p: sqrt(total / _divisor(number, p)),
    )
)


def _moment(program: ReductionProgram, array: Array, mask: int, keepdim: bool, p: float) -> Array:
    if array.dtype.kind == "c":
        real = _moment(_var_program, array.real, mask, keepdim, p)
        imaginary = _moment(_var_program, array.imag, mask, keepdim, p)
        if foreign(array) is not None:
            sums = pointwise("add")(new_tensor(real), new_tensor(imaginary))
            there: Array = (pointwise("sqrt")(sums) if program is _std_program else sums)._array
            return there
        total = real + imaginary
        return np.asarray(np.sqrt(total) if program is _std_program else total)
    means = _mean_program(array.dtype).run(array, mask, keepdim)
    return program.run(array, mask, keepdim, means, _as_parameter(p))


def _var_gradient(grad: Tensor, input: Tensor, mask: int, correction: float) -> Tensor:
    shape = input._array.shape
    freedom = count_of(shape, mask) - correction
    scale = 2.0 / freedom if freedom > 0 else math.inf
    dims = [d for d in range(len(shape)) if (mask >> d) & 1]
    return with_dims(grad * scale, shape, mask) * (input - input.mean(dims, keepdim=True))


def _over_twice(grad: Tensor, std: Tensor) -> Tensor:
    """The gradient of a variance from that of its root."""
    return choose(pointwise("eq")(std, 0), 0.0, grad / (std * 2))


def _std_gradient(
    grad: Tensor, input: Tensor, mask: int, correction: float, result: Tensor
) -> Tensor:
    return _var_gradient(_over_twice(grad, result), input, mask, correction)


_var = TensorOperator(
    "var",
    lambda input, mask, keepdim, correction: _moment(
        _var_program, input, mask, keepdim, correction
    ),
    {"input": _var_gradient},
    batch=over_dimensions,
    tangent=weighted,
    portable=True,
)
_std = TensorOperator(
    "std",
    lambda input, mask, keepdim, correction: _moment(
        _std_program, input, mask, keepdim, correction
    ),
    {"input": _std_gradient},
    batch=over_dimensions,
    tangent=weighted,
    portable=True,
)


#: The ways in which torch takes the arguments of moments.
_MOMENTS = (
    "input: Tensor, unbiased: bool",
    "input: Tensor, dim: Sizes | None, unbiased: bool, keepdim?: bool",
    "input: Tensor, dim?: Sizes | None, *, correction?: Number | None, keepdim?: bool",
)


def _moment_arguments(
    name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, given: dict[str, Any]
) -> tuple[int, bool, float]:
    """Mask, keepdim and correction from the two generations of torch's signature."""
    if input._array.dtype.kind not in "fcV":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    has_correction = "correction" in given
    correction = given.pop("correction", None)
    if isinstance(dim, bool) and not has_correction:  # var(input, unbiased)
        dim, unbiased = None, dim
    dim, keepdim = numpy_names(name, dim, keepdim, given)
    if keepdim is not False and keepdim is not True:
        raise not_a_bool(name, keepdim)
    if unbiased is not None and (unbiased.__class__ is not bool or has_correction):
        raise TypeError(
            f"{name}(): argument 'unbiased' must be bool, and not beside 'correction', but got "
            f"{type_name(unbiased)}"
        )
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    elif correction.__class__ is not int:
        require_real(name, "correction", correction, "double")
    mask = mask_of(dim, input._array.ndim)
    shape = input._array.shape
    if 0 in shape or count_of(shape, mask) <= correction:
        _warn_of_freedom(name, input, correction)
    return mask, keepdim, float(correction)


def _warn_of_freedom(name: str, input: Tensor, correction: float) -> None:
    """Warn as torch does of moments of too few elements, which are NaN or infinite."""
    if (input._array.size or correction >= 0) and input.device.type != "meta":
        warn_caller(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel)."
        )


@method()
@takes(*_MOMENTS)
def var(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **given: Any
) -> Tensor:
    """Variance over the dimensions ``dim``: squared distances from the mean, over n - correction.

    ``correction`` is 1 unless given; ``unbiased=False`` is the older name of ``correction=0``.
    """
    return _var(input, *_moment_arguments("var", input, dim, unbiased, keepdim, given))


@method()
@takes(*_MOMENTS)
def std(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **given: Any
) -> Tensor:
    """Standard deviation over the dimensions ``dim``: the root of the variance."""
    return _std(input, *_moment_arguments("std", input, dim, unbiased, keepdim, given))


def _mean_gradient(grad: Tensor, input: Tensor, mask: int) -> Tensor:
    shape = input._array.shape
    return expand(with_dims(grad / count_of(shape, mask), shape, mask), shape)


def _var_mean_gradient(grad: Any, input: Tensor, mask: int, correction: float) -> Tensor:
    """The gradients of both results, of which one may be undefined."""
    moment, mean = grad
    if moment is None:
        return _mean_gradient(mean, input, mask)
    total = _var_gradient(moment, input, mask, correction)
    return total if mean is None else total + _mean_gradient(mean, input, mask)


def _std_mean_gradient(
    grad: Any, input: Tensor, mask: int, correction: float, result: Tensor
) -> Tensor:
    moment, mean = grad
    if moment is not None:
        moment = _over_twice(moment, result)
    return _var_mean_gradient((moment, mean), input, mask, correction)


def _with_mean(name: str, moment: TensorOperator, gradient: Any) -> TensorOperator:
    """A moment and the mean as one node."""

    def forward(input: Array, mask: int, keepdim: bool, correction: float) -> tuple[Array, Array]:
        means = _mean_program(input.dtype).run(input, mask, keepdim)
        if means.dtype != input.dtype:
            means = convert(means, input.dtype)
        return moment.forward(input, mask, keepdim, correction), means

    return TensorOperator(
        name,
        forward,
        {"input": gradient},
        batch=over_dimensions,
        portable=True,
    )


_var_mean = _with_mean("var_mean", _var, _var_mean_gradient)
_std_mean = _with_mean("std_mean", _std, _std_mean_gradient)


@takes(*_MOMENTS)
def var_mean(
    input: Tensor,
    dim: Sequence[int] | int | bool | None = None,  # a bool is the older form's ``unbiased``
    unbiased: Any = None,
    keepdim: bool = False,
    **given: Any,
) -> tuple[Tensor, Tensor]:
    """Variance and mean over the dimensions ``dim``; see ``var``."""
    return _var_mean(input, *_moment_arguments("var_mean", input, dim, unbiased, keepdim, given))


@takes(*_MOMENTS)
def std_mean(
    input: Tensor,
    dim: Sequence[int] | int | bool | None = None,  # a bool is the older form's ``unbiased``
    unbiased: Any = None,
    keepdim: bool = False,
    **given: Any,
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over the dimensions ``dim``; see ``std``."""
    return _std_mean(input, *_moment_arguments("std_mean", input, dim, unbiased, keepdim, given))


# --- covariance -----------------------------------------------------------------------------------


@method()
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariances of the rows of a matrix, whose columns are observations.

    ``fweights`` says how often each was made, ``aweights`` how much it counts.
    """
    if input._array.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input._array.ndim} dimensions"
        )
    if input._array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    _check_weights(input, fweights, aweights)
    if input._array.dtype.kind not in "fcV":
        input = tensors.cast(input, get_default_dtype().numpy)
    rows = input.reshape(1, -1) if input._array.ndim < 2 else input
    weights = aweights if fweights is None else fweights
    if fweights is not None and aweights is not None:
        weights = fweights * aweights
    count: Any = rows._array.shape[1]
    if weights is None:
        centred = rows - rows.mean(1, keepdim=True)
        weighted = centred
    else:
        count = weights.sum()
        centred = rows - (rows * weights).sum(1, keepdim=True) / count
        weighted = centred * weights
        if aweights is not None and correction:
            correction = correction * (weights * aweights).sum() / count
    freedom = count - correction
    if not isinstance(freedom, Tensor) and freedom <= 0 and input.device.type != "meta":
        warn_caller(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations."
        )
    freedom = freedom.clamp(min=0) if isinstance(freedom, Tensor) else max(freedom, 0)
    return (weighted @ conjugate(centred).t() / freedom).squeeze()


def _check_weights(input: Tensor, fweights: Tensor | None, aweights: Tensor | None) -> None:
    """Raise torch's errors for weights that are none of the columns of ``input``."""
    columns = input._array.shape[-1] if input._array.ndim else 1
    for name, weights, kinds, kind in (
        ("fweights", fweights, "iu", "integral"),
        ("aweights", aweights, "fV", "floating point"),
    ):
        if weights is None:
            continue
        if weights._array.ndim > 1:
            raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions")
        if weights._array.dtype.kind not in kinds:
            raise RuntimeError(f"cov(): expected {name} to have {kind} dtype")
        if weights._array.size != columns:
            raise RuntimeError(f"cov(): expected {name} to have the same numel as the columns")
        if not is_transformed(weights):
            explain = functools.partial(_check_no_negatives, name)
            check_signs(f"cov(): an element of {name}", weights._array, explain)


def _check_no_negatives(name: str, weights: np.ndarray[Any, Any]) -> None:
    if (half.readable(weights) < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


@method()
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's coefficients of the rows of a matrix: covariances of rows of variance 1."""
    covariances = cov(input)
    if covariances._array.ndim == 0:
        return covariances / covariances
    deviations = covariances.diagonal().sqrt()
    made = covariances / deviations.unsqueeze(1) / deviations
    if made._array.dtype.kind == "c":
        return complex(real(made).clamp(-1, 1), imag(made).clamp(-1, 1))
    return made.clamp(-1, 1)


# --- norms ----------------------------------------------------------------------------------------

_NORMS = {
    0.0: Reduction("norm_0", "add", map=lambda x: where(x != 0, 1, 0)),
    1.0: Reduction("norm_1", "add", map=lambda x: abs(x)),
    2.0: Reduction("norm_2", "add", map=lambda x: x * x, finalise=lambda total: sqrt(total)),
    math.inf: Reduction("norm_inf", "maximum", map=lambda x: abs(x)),
    -math.inf: Reduction("norm_minus_inf", "minimum", map=lambda x: abs(x)),
}
_GENERAL = Reduction(
    "norm",
    "add",
    map=lambda x, p: pow(abs(x), p),
    finalise=lambda total, p: pow(total, 1 / p),
)


@functools.cache
def _norm_program(p: float) -> ReductionProgram:
    return ReductionProgram(_NORMS[p])


_general_program = ReductionProgram(_GENERAL)


def _norm_forward(input: Array, mask: int, keepdim: bool, p: float) -> Array:
    if p in _NORMS:
        return _norm_program(p).run(input, mask, keepdim)
    return _general_program.run(input, mask, keepdim, None, _as_parameter(p))


def _zero_where(condition: Tensor, value: Tensor) -> Tensor:
    return choose(condition, 0.0, value)


def _norm_gradient(grad: Tensor, input: Tensor, mask: int, p: float, result: Tensor) -> Any:
    """As torch: zero where the norm is zero, and a subgradient where it is not smooth."""
    shape = input._array.shape
    grad, norm = with_dims(grad, shape, mask), with_dims(result, shape, mask)
    equal = pointwise("eq")
    if p == 0:
        return None
    if p == 1:
        return input.sgn() * grad
    if p == 2:
        return _zero_where(equal(norm, 0), input / norm) * grad
    if math.isinf(p):
        both_nan = pointwise("logical_and")(input.isnan(), norm.isnan())
        chosen = pointwise("logical_or")(equal(input.abs(), norm), both_nan)
        return input.sgn() * shared(grad, chosen, mask)
    if p < 1:
        power = _zero_where(equal(input, 0), input.sgn() * input.abs().pow(p - 1))
        return power * (grad * norm.pow(1 - p))
    # A divisor that is never zero: what is left out by ``_zero_where`` must not be infinite, for
    # the tangent is the derivative of this by ``grad``.
    divisor = choose(equal(norm, 0), 1.0, norm)
    if p < 2:
        scale = _zero_where(equal(norm, 0), grad * divisor.pow(1 - p))
        return input.sgn() * input.abs().pow(p - 1) * scale
    scale = _zero_where(equal(norm, 0), grad / divisor.pow(p - 1))
    return input * input.abs().pow(p - 2) * scale


_vector_norm = TensorOperator(
    "linalg_vector_norm",
    lambda input, mask, keepdim, p: _norm_forward(input, mask, keepdim, p),
    {"input": _norm_gradient},
    batch=over_dimensions,
    tangent=weighted,
    portable=True,
)


def vector_norm(
    x: Tensor,
    ord: float = 2,  # noqa: A002 - torch's name
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of order ``ord`` of all elements, or over the dimensions ``dim``.

    Raises:
        RuntimeError: if ``x`` is not a float, or is empty and the order has no identity.
    """
    if is_complex_number(ord):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            "linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{scalar_type_name(dtype)}"
        )
    if x._array.dtype.kind == "c":
        x = pointwise("abs")(x if dtype is None else tensors.cast(x, dtype.numpy))
        dtype = None if dtype is None else dtype.to_real()
    if x._array.dtype.kind not in "fV":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type_name(x.dtype)}"
        )
    if dtype is not None:
        x = tensors.cast(x, dtype.numpy)
    mask = mask_of(dim, x._array.ndim)
    if (ord < 0 or ord == math.inf) and count_of(x._array.shape, mask) == 0:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return _vector_norm(x, mask, keepdim, float(ord))


# --- logsumexp ------------------------------------------------------------------------------------


def _finite(largest: Any) -> Any:
    """0 for an infinite maximum, which would make NaN of what is infinite with it."""
    return where(abs(largest) == math.inf, 0, largest)


_logsumexp_program = ReductionProgram(
    Reduction(
        "logsumexp",
        "add",
        map=lambda x, shift: exp(x - _finite(shift)),
        finalise=lambda total, shift: log(total) + _finite(shift),
    )
)


@functools.cache
def _maximum_program(kind: np.dtype[Any]) -> ReductionProgram:
    name = "float32" if kind == np.float16 else kind.name
    return ReductionProgram(Reduction("max", "maximum"), dtype_from_name(name))


def _logsumexp_forward(input: Array, mask: int, keepdim: bool) -> Array:
    largest = _maximum_program(input.dtype).run(input, mask, keepdim)
    return _logsumexp_program.run(input, mask, keepdim, largest)


def _logsumexp_gradient(grad: Tensor, input: Tensor, mask: int, result: Tensor) -> Tensor:
    shape = input._array.shape
    return with_dims(grad, shape, mask) * (input - with_dims(result, shape, mask)).exp()


_logsumexp = TensorOperator(
    "logsumexp",
    lambda input, mask, keepdim: _logsumexp_forward(input, mask, keepdim),
    {"input": _logsumexp_gradient},
    batch=over_dimensions,
    tangent=weighted,
    portable=True,
)


@method()
@takes("input: Tensor, dim: Sizes, keepdim?: bool")
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials over ``dim``, without overflow."""
    if keepdim is not False and keepdim is not True:
        raise not_a_bool("logsumexp", keepdim)
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' must be tuple of ints, not NoneType")
    if dim.__class__ in (list, tuple) and not dim and input._array.ndim:
        raise RuntimeError("logsumexp(): dim is empty; name the dimensions, or all of them")
    if input._array.dtype.kind == "c":
        return _complex_logsumexp(input, dim, keepdim)
    if input._array.dtype.kind not in "fV":
        input = tensors.cast(input, get_default_dtype().numpy)
    return _logsumexp(input, mask_of(dim, input._array.ndim), keepdim)


def _complex_logsumexp(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The same for complex numbers, of which exponentials are as large as real parts say."""
    largest = amax(input.detach().real, dim, True)
    largest = choose(largest.isinf(), 0.0, largest)
    total = (input - largest).exp().sum(dim, keepdim=keepdim).log()
    return total + largest.reshape(total._array.shape)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:  # noqa: A002
    """The p-norms of the slices along one dimension, which keeps its size; of the whole for -1."""
    if dim == -1:
        return vector_norm(v, pow)
    rank = v._array.ndim
    if not rank:
        raise IndexError("norm_except_dim(): argument 'v' has no dimensions")
    kept = dimension(rank, dim)
    if not v._array.shape[kept]:
        raise RuntimeError(
            f"norm_except_dim(): there are no slices along dimension {kept} of argument 'v' of "
            f"shape {list(v._array.shape)}"
        )
    size, ones = v._array.shape[kept], [1] * (rank - 1)
    if kept == 0:
        return vector_norm(v.contiguous().view(size, -1), pow, 1).view(size, *ones)
    if kept == rank - 1:
        return vector_norm(v.contiguous().view(-1, size), pow, 0).view(*ones, size)
    return norm_except_dim(v.transpose(0, kept), pow, 0).transpose(0, kept)
