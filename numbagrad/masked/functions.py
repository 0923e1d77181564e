"""Reductions and normalisations in which elements under a mask do not count.

An element counts where the mask is True. Each function puts the value that changes nothing (zero in
a sum, minus infinity in a maximum) where the mask is False, and calls the public operator, so
gradients of every order are those of ``where`` and of that operator. Where no element counts, that
value is the result; it is NaN for means, medians and variances, which have no such value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..dtype import bool_, float32, iinfo, int64
from ..dtype import dtype as DType
from ..nn.functional import log_softmax as _log_softmax
from ..nn.functional import softmax as _softmax
from ..nn.functional import softmin as _softmin
from ..ops.creation.filled import full
from ..ops.pointwise.functions import logaddexp as _logaddexp
from ..ops.pointwise.functions import maximum
from ..ops.pointwise.selection import where
from ..ops.reductions.statistics import logsumexp as _logsumexp
from ..ops.reductions.statistics import vector_norm
from ..tensor import Tensor

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip

Dims = Any
#: The value that changes nothing: a number, or a function of a function's name and its input.
Neutral = float | Callable[[str, Tensor], float]

#: Functions whose results have the shape of their input.
_ELEMENTWISE = frozenset(("cumprod", "cumsum", "log_softmax", "normalize", "softmax", "softmin"))
#: Where ``dim`` stands among what follows the input, if it is not the first.
_DIM_AT = {"norm": 1, "normalize": 1}


# --- masks and dimensions -------------------------------------------------------------------------


def _mask_of(name: str, input: Tensor, mask: Tensor) -> Tensor:
    """The mask as booleans in the shape of the input.

    Raises:
        TypeError: for a mask that is no Tensor.
        ValueError: for a mask of more dimensions than the input.
        RuntimeError: for a shape that does not broadcast to that of the input.
    """
    if not isinstance(mask, Tensor):
        raise TypeError(f"masked.{name}: mask must be a Tensor, but got {type(mask).__name__}")
    if mask.ndim > input.ndim:
        raise ValueError(
            f"masked.{name}: expected a mask that broadcasts to the input, but it has {mask.ndim} "
            f"dimensions and the input {input.ndim}"
        )
    wide = mask.expand(input.shape)
    return wide if wide.dtype is bool_ else wide != 0


def _filled(name: str, input: Tensor, mask: Tensor | None, neutral: Neutral) -> Tensor:
    """The input with the value that changes nothing where the mask is False."""
    if mask is None:
        return input
    value = neutral(name, input) if callable(neutral) else neutral
    return where(_mask_of(name, input, mask), input, full((), value, dtype=input.dtype))


def _least(name: str, input: Tensor) -> float:
    """The least number of the dtype: infinite of floats, and minus infinity of complex numbers.

    Raises:
        NotImplementedError: for booleans.
    """
    return -math.inf if not _is_integral(name, input) else iinfo(input.dtype).min


def _greatest(name: str, input: Tensor) -> float:
    return math.inf if not _is_integral(name, input) else iinfo(input.dtype).max


def _is_integral(name: str, input: Tensor) -> bool:
    if input.dtype is bool_ or (input.is_complex() and name not in ("logsumexp", "logaddexp")):
        raise NotImplementedError(f"masked.{name} has no identity for {input.dtype}")
    return not (input.is_floating_point() or input.is_complex())


def _dims(dim: Dims, rank: int) -> tuple[int, ...]:
    """The dimensions that are reduced, ascending: all of them for None and ().

    Raises:
        RuntimeError: for a dimension that is named twice.
        IndexError: for one that is not there.
    """
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank))
    size = max(rank, 1)
    found: list[int] = []
    for one in (dim,) if isinstance(dim, int) else dim:
        if not -size <= one < size:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but "
                f"got {one})"
            )
        if one % size in found:
            raise RuntimeError(f"dim={one} appears multiple times in the list of dims")
        found.append(one % size)
    return tuple(sorted(found))


def _summing_dtype(input: Tensor) -> DType:
    """int64 of smaller integers and booleans, as sums and products have it."""
    whole = not (input.is_floating_point() or input.is_complex())
    return int64 if whole else input.dtype


def _output_mask(operation: Any, input: Tensor, *arguments: Any, **options: Any) -> Tensor:
    """True where a result of ``operation`` had an element that counts, as torch's tests ask it."""
    mask = options.get("mask")
    counts = (
        full(input.shape, True, dtype=bool_)
        if mask is None
        else _mask_of(operation.__name__, input, mask)
    )
    if operation.__name__ in _ELEMENTWISE:
        return counts
    dim = options.get("dim", arguments[_DIM_AT.get(operation.__name__, 0) :][:1] or None)
    dim = dim[0] if isinstance(dim, tuple) and len(dim) == 1 and dim[0] is None else dim
    keepdim = bool(options.get("keepdim", False))
    for one in reversed(_dims(dim, input.ndim)):
        counts = counts.any(one, keepdim)
    return counts


# --- reductions -----------------------------------------------------------------------------------


def _named(function: Callable[..., Tensor], name: str, text: str) -> Callable[..., Tensor]:
    """A function that was made here, as if it had been written out."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _own(input: Tensor) -> DType:
    return input.dtype


def _reduction(
    name: str,
    neutral: Neutral,
    compute: Callable[[Tensor, tuple[int, ...], bool, DType], Tensor],
    result: Callable[[Tensor], DType],
    text: str,
) -> Callable[..., Tensor]:
    """A function that reduces several dimensions.

    Args:
        name: its name.
        neutral: what elements that do not count are replaced by.
        compute: the reduction, of the input, its dimensions, whether these are kept, the dtype.
        result: the dtype of results if none is asked for.
        text: its docstring.
    """

    def reduction(
        input: Tensor,
        dim: Dims = None,
        *,
        keepdim: bool | None = False,
        dtype: DType | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        found = _filled(name, input, mask, neutral)
        return compute(found, _dims(dim, input.ndim), bool(keepdim), dtype or result(input))

    return _named(reduction, name, text)


def _prod(found: Tensor, dims: tuple[int, ...], keepdim: bool, dtype: DType) -> Tensor:
    found = found.to(dtype)
    for one in reversed(dims):
        found = found.prod(one, keepdim)
    return found


sum = _reduction(
    "sum", 0, lambda x, dims, keepdim, dtype: x.sum(dims, keepdim, dtype=dtype), _summing_dtype,
    """The sum of the elements that count, over ``dim`` or all dimensions; zero of none.

    Args:
        input: a tensor (...).
        dim: a dimension, several, or None for all.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: of the sum; by default that of the input, int64 of smaller integers.
        mask: True where an element counts; broadcast to the shape of the input.

    Raises:
        ValueError: for a mask of more dimensions than the input.
    """,
)  # fmt: skip
prod = _reduction(
    "prod", 1, _prod, _summing_dtype,
    """The product of the elements that count, one of none; arguments as for ``sum``.""",
)  # fmt: skip
amax = _reduction(
    "amax", _least, lambda x, dims, keepdim, dtype: x.amax(dims, keepdim).to(dtype), _own,
    """The largest element that counts; the least number of the dtype of none, as for ``sum``.""",
)  # fmt: skip
amin = _reduction(
    "amin", _greatest, lambda x, dims, keepdim, dtype: x.amin(dims, keepdim).to(dtype), _own,
    """The smallest element that counts; the greatest number of the dtype of none.""",
)  # fmt: skip


def _position(name: str, neutral: Neutral, text: str) -> Callable[..., Tensor]:
    """``argmax`` or ``argmin``."""

    def position(
        input: Tensor,
        dim: int | None = None,
        *,
        keepdim: bool | None = False,
        dtype: DType | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        found = getattr(_filled(name, input, mask, neutral), name)(dim, bool(keepdim))
        made: Tensor = found.to(dtype or input.dtype)
        return made

    return _named(position, name, text)


argmax = _position(
    "argmax", _least,
    """The place of the largest element that counts, as ``dtype``: by default that of the input.""",
)  # fmt: skip
argmin = _position(
    "argmin", _greatest,
    """The place of the smallest element that counts, as ``dtype``: by default the input's.""",
)  # fmt: skip


def _count(name: str, input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Any:
    """How many elements count: a number without a mask, else a Tensor."""
    dims = _dims(dim, input.ndim)
    if mask is None:
        return math.prod([input.shape[d] for d in dims]) if input.ndim else 1
    return _mask_of(name, input, mask).sum(dims, keepdim)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that count, NaN of none; arguments as for ``sum``.

    Raises:
        ValueError: for integers without a ``dtype`` of floats.
    """
    wanted = dtype or input.dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {'Optional' if dtype else 'Input'} dtype must "
            f"be either a floating point or complex dtype. Got: {wanted}"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=wanted, mask=mask)
    return total / _count("mean", input, dim, bool(keepdim), mask)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median of the elements that count along ``dim``, the lower one of two; NaN of none.

    Raises:
        ValueError: for integers, if a row has no element that counts.
    """
    floats = input if input.is_floating_point() else input.float()
    found = _filled("median", floats, mask, math.nan)
    made = found.nanmedian(_dims(dim, input.ndim)[0], keepdim).values
    if input.is_floating_point():
        return made
    if bool(made.isnan().any()):
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return made.to(dtype or input.dtype)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of the exponentials of the elements that count."""
    found = _filled("logsumexp", input, mask, _least)
    return _logsumexp(found, _dims(dim, input.ndim), keepdim).to(dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))``, each of the two counting where its own mask is True."""
    terms = [
        _filled("logaddexp", x, mask, _least)
        for x, mask in ((input, input_mask), (other, other_mask))
    ]
    return _logaddexp(*terms).to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,  # noqa: A002 - torch's name
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of the elements that count, as ``linalg.vector_norm``; zero of none.

    Of none it is infinite for an ``ord`` of minus infinity.
    """
    order = 2.0 if ord is None else ord
    found = _filled("norm", input, mask, math.inf if order == -math.inf else 0)
    dims = _dims(dim, input.ndim)
    return vector_norm(found, order, dims, bool(keepdim), dtype=dtype or input.dtype)


def _variance(
    name: str,
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: DType | None,
    mask: Tensor | None,
) -> Tensor:
    """Squares of distances from the mean, over the count less a correction that is 1 by default."""
    if unbiased is not None and correction is not None:
        raise AssertionError(f"masked.{name}: only one of unbiased and correction may be given")
    has_fractions = input.is_floating_point() or input.is_complex()
    wanted = dtype or (input.dtype if has_fractions else float32)
    computed = wanted if wanted.is_floating_point or wanted.is_complex else float32
    count = _count(name, input, dim, True, mask)
    away = input - sum(input, dim, keepdim=True, dtype=computed, mask=mask) / count
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=computed, mask=mask)
    if isinstance(count, Tensor) and not keepdim:
        count = count.reshape(total.shape)
    less = correction if correction is not None else 0.0 if unbiased is False else 1.0
    if less:
        if isinstance(count, Tensor):
            count = (count.to(_real_of(computed)) - less).clamp_min(0)
        else:
            count = max(count - less, 0.0)
    return (total / count).to(wanted)


def _real_of(kind: DType) -> DType:
    """The dtype of the parts of complex numbers; a real dtype itself."""
    return kind.to_real() if kind.is_complex else kind


def _spread(name: str, text: str) -> Callable[..., Tensor]:
    """``var`` or ``std``."""

    def spread(
        input: Tensor,
        dim: Dims = None,
        unbiased: bool | None = None,
        *,
        correction: float | None = None,
        keepdim: bool | None = False,
        dtype: DType | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        found = _variance(name, input, dim, unbiased, correction, bool(keepdim), dtype, mask)
        return found.sqrt() if name == "std" else found

    return _named(spread, name, text)


var = _spread(
    "var",
    """The variance of the elements that count, NaN of none; arguments as for ``sum``.

    Args:
        unbiased: whether the sum of squares is divided by the count less one.
        correction: what is taken from the count instead.
    """,
)
std = _spread("std", """The root of ``var``.""")


# --- along one dimension --------------------------------------------------------------------------


def _along(
    name: str,
    neutral: Neutral,
    compute: Callable[[Tensor, int, DType], Tensor],
    text: str,
) -> Callable[..., Tensor]:
    """A function along one dimension whose result has the shape of its input."""

    def along(
        input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
    ) -> Tensor:
        found = _filled(name, input, mask, neutral)
        return compute(found, _dims(dim, input.ndim)[0], dtype or input.dtype)

    return _named(along, name, text)


cumsum = _along(
    "cumsum", 0, lambda x, dim, dtype: x.cumsum(dim, dtype=dtype).to(dtype),
    """Sums of the elements that count up to each place along ``dim``.""",
)  # fmt: skip
cumprod = _along(
    "cumprod", 1, lambda x, dim, dtype: x.cumprod(dim, dtype=dtype).to(dtype),
    """Products of the elements that count up to each place along ``dim``.""",
)  # fmt: skip
softmax = _along(
    "softmax", _least, lambda x, dim, dtype: _softmax(x, dim, dtype=dtype),
    """Exponentials over their sum, of the elements that count; zero elsewhere.""",
)  # fmt: skip
log_softmax = _along(
    "log_softmax", _least, lambda x, dim, dtype: _log_softmax(x, dim, dtype=dtype),
    """The logarithm of ``softmax``; minus infinity where an element does not count.""",
)  # fmt: skip
softmin = _along(
    "softmin", _greatest, lambda x, dim, dtype: _softmin(x, dim, dtype=dtype),
    """``softmax`` of the negative elements that count; zero elsewhere.""",
)  # fmt: skip


def normalize(
    input: Tensor,
    ord: float,  # noqa: A002 - torch's name
    dim: Dims,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that count over their norm, which is ``eps`` at least; zero elsewhere."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    least = full((), eps, dtype=size.dtype)
    return _filled("normalize", input, mask, 0) / maximum(size, least)
