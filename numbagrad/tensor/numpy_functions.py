"""NumPy's functions of tensors: what ``numpy.sum(tensor)`` and its kin do.

NumPy calls ``Tensor.__array_function__`` with the function that was called. Reductions, which NumPy
would hand to the method of their name with arguments that only arrays take, are those of tensors
here, recorded for gradients. All other functions read the tensor as an array
(``Tensor.__array__``), as they do those of torch, which refuses where a gradient is required.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtype import from_numpy

if TYPE_CHECKING:
    from .tensor import Tensor

#: Defaults of functions of NumPy for arguments that were not given.
_NO_VALUE: Any = getattr(np, "_NoValue", None)


def called(
    tensor: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """The result of one of NumPy's functions, of which an argument is a tensor."""
    twin = _TWINS.get(function)
    if twin is None or not arguments or arguments[0] is not tensor:
        return function._implementation(*arguments, **keywords)
    return twin(*arguments, **keywords)


def _reduction(name: str, has_dtype: bool = False) -> Callable[..., Any]:
    """The method of tensors ``name``, with the parameters of NumPy's function."""

    def call(a: Tensor, axis: Any = None, *rest: Any, **options: Any) -> Any:
        names = ("dtype", "out", "keepdims") if has_dtype else ("out", "keepdims")
        given = _given(name, dict(zip(names, rest, strict=False)) | options)
        dtype = given.pop("dtype", None)
        if dtype is not None:
            a = a.to(from_numpy(np.dtype(dtype)))
        return _reduced(name, a, axis, **given)

    return call


def _spread(name: str) -> Callable[..., Any]:
    """``std`` or ``var``, which divide by the number of elements less ``ddof``."""

    def call(
        a: Tensor,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = _NO_VALUE,
        **options: Any,
    ) -> Any:
        options = _given(name, {**options, "out": out, "keepdims": keepdims})
        ddof = options.pop("correction", ddof)
        if dtype is not None:
            a = a.to(from_numpy(np.dtype(dtype)))
        if axis is None:
            axis = tuple(range(a.ndim))
        keepdim = bool(options.get("keepdims", False))
        return getattr(a, name)(dim=axis, correction=ddof, keepdim=keepdim)

    return call


def _given(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The arguments that were given; raises for those that tensors have no such thing for."""
    found = {key: value for key, value in options.items() if value is not _NO_VALUE}
    if found.pop("out", None) is not None:
        raise TypeError(
            f"numpy.{name} of a tensor writes into no array; assign its result, or call "
            f"tensor.detach().numpy().{name}(...)"
        )
    unknown = found.keys() - {"keepdims", "dtype", "correction"}
    if unknown:
        raise TypeError(
            f"numpy.{name} of a tensor takes no {sorted(unknown)[0]!r}; call "
            f"numpy.{name}(tensor.detach().numpy(), ...)"
        )
    return found


def _reduced(name: str, a: Tensor, axis: Any, keepdims: Any = False) -> Any:
    keepdim = bool(keepdims)
    method = getattr(a, name)
    if axis is None:
        made = method()
        return made.reshape((1,) * a.ndim) if keepdim else made
    if name == "prod" and isinstance(axis, tuple):  # which takes one dimension at a time
        for dim in sorted((each % max(a.ndim, 1) for each in axis), reverse=True):
            a = a.prod(dim=dim, keepdim=keepdim)
        return a
    return method(dim=axis, keepdim=keepdim)


def _size(a: Tensor, axis: Any = None) -> Any:
    return a.numel() if axis is None else a.shape[axis]


_TWINS: dict[Any, Callable[..., Any]] = {
    np.sum: _reduction("sum", has_dtype=True),
    np.prod: _reduction("prod", has_dtype=True),
    np.mean: _reduction("mean", has_dtype=True),
    np.max: _reduction("amax"),
    np.amax: _reduction("amax"),
    np.min: _reduction("amin"),
    np.amin: _reduction("amin"),
    np.all: _reduction("all"),
    np.any: _reduction("any"),
    np.std: _spread("std"),
    np.var: _spread("var"),
    np.size: _size,
}

__all__ = ["called"]
