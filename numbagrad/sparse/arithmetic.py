"""Sums, products and quotients of sparse Tensors, and functions that keep zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.views.join import cat
from ..tensor import Tensor, new_tensor
from ..tensor.sparse_array import Places, could_not_run
from . import places as of
from .conversion import coalesce, is_sparse, like
from .operators import _values_at, take, values_of, with_values

__all__ = ["KEEPING_ZEROS", "LINEAR", "add", "div", "mul", "on_values", "sub"]

#: Functions of the values alone, where equal places need not be added up before.
LINEAR = """
    neg negative real imag conj conj_physical positive deg2rad rad2deg
""".split()
#: Functions that are 0 where their argument is: those of the sums of equal places.
KEEPING_ZEROS = """
    abs absolute angle arcsin arcsinh arctan arctanh asin asinh atan atanh ceil erf erfinv expm1
    fix floor frac isinf isnan isneginf isposinf log1p nan_to_num relu round sgn sign signbit sin
    sinh sqrt square tan tanh trunc
""".split()

_SPARSE_AND_DENSE = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."


def on_values(name: str, sums: bool) -> Callable[..., Tensor]:
    """The function of Tensor of this name on the values of a sparse one."""

    def function(self: Any, *arguments: Any, **options: Any) -> Tensor:
        self = coalesce(self) if sums else self
        return like(self, getattr(values_of(self), name)(*arguments, **options))

    function.__name__ = name
    function.__doc__ = f"``{name}`` of the values."
    return function


def pow(self: Any, exponent: Any) -> Tensor:
    """A power, with an exponent that is a positive number.

    Raises:
        RuntimeError: for one that would not leave zeros as they are.
    """
    if isinstance(exponent, Tensor) and exponent.ndim:
        raise could_not_run(self._array, "pow")
    if not float(exponent) > 0:
        raise RuntimeError("pow(): the exponent of a sparse tensor must be a positive number")
    self = coalesce(self)
    return like(self, values_of(self).pow(exponent))


def _is_number(value: Any) -> bool:
    return not isinstance(value, Tensor) or (value.ndim == 0 and not is_sparse(value))


def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input + alpha * other``: two sparse tensors, or a dense one and a sparse one, of a shape.

    Raises:
        RuntimeError: for a sparse tensor and a dense one in this order, and for other shapes.
    """
    if not is_sparse(other):
        raise RuntimeError(_SPARSE_AND_DENSE)
    shapes = getattr(getattr(input, "_array", None), "shape", None), other._array.shape
    if shapes[0] != shapes[1]:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but got sizes "
            f"{'a number' if shapes[0] is None else list(shapes[0])} and {list(shapes[1])}"
        )
    places = other._array.places
    values = values_of(other) if alpha.__class__ is int and alpha == 1 else values_of(other) * alpha
    if not is_sparse(input):
        rank = len(places.sizes)
        kind = _common(input, values)
        lines = input.to(kind).reshape(-1, *input.shape[rank:])
        summed = lines.index_add(0, new_tensor(of.flat(places)), values.to(kind))
        return summed.reshape(input.shape)
    own = input._array.places
    if own is places or (own.count == places.count and np.array_equal(own.indices, places.indices)):
        return like(input, values_of(input) + values)
    return _sum_of_sparse(input, values, places)


def _sum_of_sparse(input: Any, values: Tensor, places: Places) -> Tensor:
    own = input._array.places
    if len(own.sizes) != len(places.sizes):
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but got "
            f"{len(own.sizes)} and {len(places.sizes)}"
        )
    kind = _common(input, values)
    both = cat([values_of(input).to(kind), values.to(kind)])
    index = np.concatenate([own.indices, places.indices], axis=1)
    made = with_values(both, Places(index, own.sizes))
    if own.compressed is not None:
        from .conversion import to_sparse_csr

        return to_sparse_csr(made)
    return coalesce(made) if own.coalesced and places.coalesced else made


def _common(one: Tensor, other: Any) -> Any:
    """The dtype that two Tensors promote to."""
    if one.dtype == other.dtype:
        return one.dtype
    from ..dtype import promote_types

    return promote_types(one.dtype, other.dtype)


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input - alpha * other``."""
    return add(input, other, alpha=-alpha)


def mul(input: Any, other: Any) -> Tensor:
    """Products of elements: of two sparse tensors, of a sparse and a dense one, with a number."""
    if not is_sparse(input):
        input, other = other, input
    if _is_number(other):
        return like(input, values_of(input) * other)
    if is_sparse(other):
        return _product_of_sparse(input, other)
    shape = np.broadcast_shapes(input._array.shape, other._array.shape)
    if shape != input._array.shape:
        raise RuntimeError(
            f"mul(sparse, dense): the sparse tensor of size {list(input.shape)} would have to be "
            f"expanded to {list(shape)}"
        )
    if other._array.shape != shape:
        other = other.expand(shape)
    places = input._array.places
    return like(input, values_of(input) * _elements_at(other, places))


def _elements_at(dense: Tensor, places: Places) -> Tensor:
    """The elements of an expanded Tensor, of which no copy is made."""
    return dense[tuple([new_tensor(row) for row in places.indices])]


def _product_of_sparse(input: Any, other: Any) -> Tensor:
    if input._array.shape != other._array.shape:
        raise RuntimeError(
            f"mul operands have incompatible sizes: {list(input.shape)} and {list(other.shape)}"
        )
    one: Any = coalesce(input)
    two: Any = coalesce(other)
    if one._array.places is two._array.places:
        return like(one, values_of(one) * values_of(two))
    found, first, second = of.common(one._array.places, two._array.places)
    return with_values(take(values_of(one), first) * take(values_of(two), second), found)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """A sparse tensor divided by a number.

    Raises:
        RuntimeError: for another divisor.
    """
    if not is_sparse(input) or not _is_number(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape) if isinstance(other, Tensor) else 'a number'} for divisor)"
        )
    if rounding_mode is not None:
        input = coalesce(input)
    return like(input, values_of(input).div(other, rounding_mode=rounding_mode))


def values_at(dense: Tensor, places: Places) -> Tensor:
    """The elements of a Tensor at places."""
    return _values_at(dense, places)
