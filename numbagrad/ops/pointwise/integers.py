"""Divisors and multiples, powers of two, and which elements are combined with which."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import return_types
from ...dtype import scalar_type_name
from ...executor.memory.arrays import constant_beside
from ...executor.plan.dtypes import promoted
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks, stacked
from ...type_names import type_name
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.tensor_operator import TensorOperator
from ..views.join import stack
from ..views.view import reshape, unsafe_view
from .functions import exp2

__all__ = [
    "cartesian_prod", "combinations", "frexp", "gcd", "lcm", "ldexp", "unravel_index",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- divisors and multiples -----------------------------------------------------------------------


def _samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    made: Tensor = operator(*aligned_stacks(arguments, mapped))
    return made


_gcd = TensorOperator(
    "gcd", lambda input, other: np.asarray(np.gcd(input, other)), {}, batch=_samples
)
_lcm = TensorOperator(  # a product that wraps around may be negative
    "lcm",
    lambda input, other: np.asarray(abs(np.lcm(input, other)), input.dtype),
    {},
    batch=_samples,
)


def _of_integers(operator: TensorOperator, input: Tensor, other: Tensor) -> Tensor:
    kind = promoted([input._array, other._array])
    if kind.numpy.kind not in "iu":
        name = scalar_type_name(kind)
        raise NotImplementedError(f"\"{operator.name}_cpu\" not implemented for '{name}'")
    return operator(cast(input, kind.numpy), cast(other, kind.numpy))


@method()
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisors of integers; of zeros zero."""
    return _of_integers(_gcd, input, other)


@method()
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiples of integers; zero where one is."""
    return _of_integers(_lcm, input, other)


# --- powers of two --------------------------------------------------------------------------------


@method()
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2**other``."""
    kind = input._array.dtype.kind
    if other._array.dtype.kind == "b" and input.is_floating_point():
        raise NotImplementedError("\"ldexp\" not implemented for 'Bool'; give whole numbers")
    power = exp2(other)
    if (kind == "c" or input.is_floating_point()) and other._array.dtype.kind in "iub":
        power = cast(power, input.real._array.dtype if kind == "c" else input._array.dtype)
    return input * power


for _function in (gcd, lcm, ldexp):
    install_in_place(_function)


def _split(array: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    mantissa, exponent = np.frexp(array)
    return np.asarray(mantissa), np.asarray(exponent, np.int32)


def _by_exponent(grad: Any, result1: Tensor) -> Any:
    if grad[0] is None:
        return None
    return grad[0] * exp2(cast(-result1.detach(), grad[0]._array.dtype))


_frexp = TensorOperator(
    "frexp", lambda input: _split(input), {"input": _by_exponent}, batch=stacked()
)


@method()
def frexp(input: Tensor) -> Any:
    """Mantissas from 0.5 to 1, and int32 exponents, with ``mantissa * 2**exponent = input``.

    Raises:
        RuntimeError: for integers.
    """
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return return_types.frexp(*_frexp(input))


# --- which with which -----------------------------------------------------------------------------


def _check_vector(tensor: Tensor) -> None:
    if tensor._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor._array.shape)}")


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector, as rows; of one vector that itself.

    Raises:
        RuntimeError: without vectors, and for what is none.
    """
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for tensor in tensors:
        _check_vector(tensor)
        if tensor._array.dtype != tensors[0]._array.dtype:
            raise RuntimeError(
                "cartesian_prod: meshgrid expects all tensors to have the same dtype, got "
                f"{tensors[0].dtype} and {tensor.dtype}"
            )
    if len(tensors) == 1:
        return tensors[0]
    sizes = [tensor._array.shape[0] for tensor in tensors]
    columns = []
    for position, tensor in enumerate(tensors):
        shape = [1] * len(sizes)
        shape[position] = sizes[position]
        columns.append(reshape(reshape(tensor, shape).expand(sizes), (math.prod(sizes),)))
    return stack(columns, 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, in their order, as rows.

    Raises:
        RuntimeError: for what is no vector, and a negative r.
    """
    _check_vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_zeros((0,))
    rows = _choices(input._array.shape[0], r, with_replacement)
    index = new_tensor(constant_beside(input._array, rows.reshape(-1)))
    return unsafe_view(input.index_select(0, index), rows.shape)


def _choices(count: int, r: int, with_replacement: bool) -> np.ndarray[Any, Any]:
    """The ascending choices of r of so many integers, as rows in lexicographic order."""
    rows = np.arange(count)[:, None]
    for _ in range(r - 1):  # behind each row, all that may follow its last integer
        following = rows[:, -1] + (not with_replacement)
        counts = count - following
        ends = np.cumsum(counts)
        last = np.arange(ends[-1] if ends.size else 0)
        last += np.repeat(following - (ends - counts), counts)
        rows = np.column_stack([np.repeat(rows, counts, axis=0), last])
    return rows


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Indices into the elements of a tensor of ``shape`` as one index for each dimension.

    Raises:
        TypeError: for indices or sizes that are no integers.
        ValueError: for a negative size.
    """
    if indices._array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list, str)):
        raise TypeError(
            f"expected 'shape' to be int or sequence of ints, but got {type_name(shape)}"
        )
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(
                f"expected 'shape' sequence to only contain ints, but got {type_name(size)}"
            )
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    indices = indices.long()  # sizes and steps need not be numbers of a smaller dtype
    steps = [math.prod(sizes[position + 1 :]) for position in range(len(sizes))]
    return tuple([
        indices.div(step, rounding_mode="floor") % size
        for size, step in zip(sizes, steps, strict=True)
    ])  # fmt: skip
