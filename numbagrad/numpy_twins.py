"""Functions of NumPy, and the functions of tensors that compute the same and are differentiated.

Each entry takes the parameters that NumPy's function has, as far as tensors have such a thing;
``numpy_protocols.py`` calls them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import (
    Tensor,
    as_tensor,
    broadcast_to,
    cat,
    clamp,
    column_stack,
    diag,
    diff,
    dstack,
    einsum,
    fft,
    flip,
    hstack,
    kron,
    linalg,
    meshgrid,
    moveaxis,
    nan_to_num,
    nanmean,
    nanquantile,
    nansum,
    quantile,
    roll,
    rot90,
    stack,
    swapaxes,
    take_along_dim,
    tensordot,
    tile,
    trapezoid,
    tril,
    triu,
    vstack,
    where,
)
from . import round as rounded
from .dtype import from_numpy

__all__ = ["FUNCTIONS", "NOT_DIFFERENTIABLE", "REDUCTIONS", "UFUNC_METHODS", "named_twin"]

_NO_VALUE: Any = getattr(np, "_NoValue", None)


def _tensor(value: Any) -> Tensor:
    """An operand that may be an array, a list or a number; of arrays a copy, as it may be saved."""
    return value if isinstance(value, Tensor) else as_tensor(np.array(value))


# --- reductions -----------------------------------------------------------------------------------


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


#: Functions that are those of tensors whether or not NumPy could read them.
REDUCTIONS: dict[Any, Callable[..., Any]] = {
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

# --- functions ------------------------------------------------------------------------------------


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one dimension, which NumPy applies to all elements in a row without an axis."""
    return lambda a, axis=None: function(a.reshape(-1), 0) if axis is None else function(a, axis)


def _sorted(a: Tensor, axis: int | None = -1) -> Tensor:
    values: Tensor = a.reshape(-1).sort(0)[0] if axis is None else a.sort(axis)[0]
    return values


def _concatenate(arrays: Any, axis: int | None = 0) -> Tensor:
    parts = [_tensor(x) for x in arrays]
    return cat([x.reshape(-1) for x in parts] if axis is None else parts, axis or 0)


def _dot(a: Any, b: Any) -> Tensor:
    a, b = _tensor(a), _tensor(b)
    if not a.ndim or not b.ndim:
        return a * b
    return tensordot(a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))


def _inner(a: Any, b: Any) -> Tensor:
    a, b = _tensor(a), _tensor(b)
    return a * b if not a.ndim or not b.ndim else tensordot(a, b, ([a.ndim - 1], [b.ndim - 1]))


def _repeated(a: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    repeats = repeats if isinstance(repeats, int) else _tensor(repeats)
    return a.repeat_interleave(repeats, dim=axis)


def _taken(a: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    index = _tensor(indices).long()
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = axis % a.ndim
    size = a.shape[axis]
    index = where(index < 0, index + size, index)
    chosen = a.index_select(axis, index.reshape(-1))
    return chosen.reshape((*a.shape[:axis], *index.shape, *a.shape[axis + 1 :]))


def _parts(a: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    return list(a.tensor_split(indices_or_sections, dim=axis))


def _equal_parts(a: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    if isinstance(indices_or_sections, int) and a.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return _parts(a, indices_or_sections, axis)


def _expanded(a: Tensor, axis: Any) -> Tensor:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for dim in sorted([x % (a.ndim + len(axes)) for x in axes]):
        a = a.unsqueeze(dim)
    return a


def _diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return a.diagonal(offset, axis1, axis2)


def _transposed(a: Tensor, axes: Any = None) -> Tensor:
    return a.permute(tuple(range(a.ndim))[::-1] if axes is None else tuple(axes))


def _clipped(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    low, high = (x if y is None else y for x, y in ((a_min, min), (a_max, max)))
    tensors = any([isinstance(x, (Tensor, np.ndarray)) for x in (low, high)])
    bounds = [x if x is None or not tensors else _tensor(x) for x in (low, high)]
    return clamp(_tensor(a), *bounds)


def _turned(a: Tensor, axis: Any = None) -> Tensor:
    axes = tuple(range(a.ndim)) if axis is None else axis
    return flip(a, axes if isinstance(axes, tuple) else (axes,))


def _quantile(a: Tensor, q: Any, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    return quantile(a, q if isinstance(q, float) else _tensor(q).to(a.dtype), axis, keepdims)


def _norm(x: Tensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    return linalg.norm(x, ord, axis, keepdims)


def _grids(*xi: Any, indexing: str = "xy") -> Any:
    return tuple(meshgrid(*[_tensor(x) for x in xi], indexing=indexing))


def _transform(name: str) -> Callable[..., Any]:
    """A Fourier transform of one dimension."""
    function = getattr(fft, name)
    return lambda a, n=None, axis=-1, norm=None: function(a, n, axis, norm)


def _transform_of_many(name: str, axes_at_first: Any) -> Callable[..., Any]:
    function = getattr(fft, name)
    return lambda a, s=None, axes=axes_at_first, norm=None: function(a, s, axes, norm)


#: Functions of tensors that NumPy cannot read.
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.concatenate: _concatenate,
    np.stack: lambda arrays, axis=0: stack([_tensor(x) for x in arrays], axis),
    np.vstack: lambda tup: vstack([_tensor(x) for x in tup]),
    np.hstack: lambda tup: hstack([_tensor(x) for x in tup]),
    np.dstack: lambda tup: dstack([_tensor(x) for x in tup]),
    np.column_stack: lambda tup: column_stack([_tensor(x) for x in tup]),
    np.append: lambda arr, values, axis=None: _concatenate((arr, values), axis),
    np.where: lambda condition, x, y: where(_tensor(condition).bool(), _tensor(x), _tensor(y)),
    np.dot: _dot,
    np.vdot: lambda a, b: _tensor(a).reshape(-1).conj() @ _tensor(b).reshape(-1),
    np.inner: _inner,
    np.outer: lambda a, b: _tensor(a).reshape(-1, 1) * _tensor(b).reshape(-1),
    np.kron: lambda a, b: kron(_tensor(a), _tensor(b)),
    np.tensordot: lambda a, b, axes=2: tensordot(_tensor(a), _tensor(b), axes),
    np.einsum: lambda subscripts, *operands: einsum(subscripts, *[_tensor(x) for x in operands]),
    np.cross: lambda a, b, axis=-1: linalg.cross(_tensor(a), _tensor(b), dim=axis),
    np.reshape: lambda a, shape: a.reshape(shape),
    np.ravel: lambda a: a.reshape(-1),
    np.transpose: _transposed,
    np.swapaxes: swapaxes,
    np.moveaxis: moveaxis,
    np.squeeze: lambda a, axis=None: a.squeeze() if axis is None else a.squeeze(axis),
    np.expand_dims: _expanded,
    np.broadcast_to: lambda array, shape: broadcast_to(array, shape),
    np.copy: lambda a: a.clone(),
    np.flip: lambda m, axis=None: _turned(m, axis),
    np.fliplr: lambda m: _turned(m, 1),
    np.flipud: lambda m: _turned(m, 0),
    np.rot90: lambda m, k=1, axes=(0, 1): rot90(m, k, axes),
    np.roll: lambda a, shift, axis=None: roll(a, shift, axis),
    np.repeat: _repeated,
    np.tile: lambda A, reps: tile(A, reps if isinstance(reps, (tuple, list)) else (reps,)),
    np.take: _taken,
    np.take_along_axis: lambda arr, indices, axis=-1: take_along_dim(arr, _tensor(indices), axis),
    np.split: _equal_parts,
    np.array_split: _parts,
    np.diagonal: _diagonal,
    np.diag: lambda v, k=0: diag(v, k),
    np.trace: lambda a, offset=0, axis1=0, axis2=1: _diagonal(a, offset, axis1, axis2).sum(-1),
    np.tril: lambda m, k=0: tril(m, k),
    np.triu: lambda m, k=0: triu(m, k),
    np.meshgrid: _grids,
    np.sort: _sorted,
    np.median: lambda a, axis=None, *, keepdims=False: quantile(a, 0.5, axis, keepdims),
    np.quantile: _quantile,
    np.percentile: lambda a, q, axis=None, *, keepdims=False: _quantile(
        a, np.true_divide(q, 100), axis, keepdims=keepdims
    ),
    np.ptp: lambda a, axis=None, *, keepdims=False: (
        _reduced("amax", a, axis, keepdims) - _reduced("amin", a, axis, keepdims)
    ),
    np.cumsum: _along(Tensor.cumsum),
    np.cumprod: _along(Tensor.cumprod),
    np.diff: lambda a, n=1, axis=-1: diff(a, n, axis),
    np.trapezoid: lambda y, x=None, dx=1.0, axis=-1: (
        trapezoid(y, dx=dx, dim=axis) if x is None else trapezoid(y, _tensor(x), dim=axis)
    ),
    np.nansum: lambda a, axis=None, *, keepdims=False: nansum(a, axis, keepdims),
    np.nanmean: lambda a, axis=None, *, keepdims=False: nanmean(a, axis, keepdims),
    np.nanmedian: lambda a, axis=None, *, keepdims=False: nanquantile(a, 0.5, axis, keepdims),
    np.clip: _clipped,
    np.round: lambda a, decimals=0: rounded(a, decimals=decimals),
    np.nan_to_num: lambda x, copy=True, nan=0.0, posinf=None, neginf=None: nan_to_num(
        x, nan, posinf, neginf
    ),
    np.real: lambda val: val.real if val.is_complex() else val,
    np.imag: lambda val: val.imag if val.is_complex() else val * 0,
    np.angle: lambda z: z.angle(),
    np.sinc: lambda x: x.sinc(),
    np.i0: lambda x: x.i0(),
    np.linalg.norm: _norm,
    np.linalg.inv: linalg.inv,
    np.linalg.pinv: lambda a: linalg.pinv(a),
    np.linalg.det: linalg.det,
    np.linalg.slogdet: linalg.slogdet,
    np.linalg.solve: lambda a, b: linalg.solve(_tensor(a), _tensor(b)),
    np.linalg.cholesky: lambda a: linalg.cholesky(a),
    np.linalg.eigh: lambda a, UPLO="L": linalg.eigh(a, UPLO),
    np.linalg.eigvalsh: lambda a, UPLO="L": linalg.eigvalsh(a, UPLO),
    np.linalg.eig: linalg.eig,
    np.linalg.svd: lambda a, full_matrices=True, compute_uv=True: (
        linalg.svd(a, full_matrices) if compute_uv else linalg.svdvals(a)
    ),
    np.linalg.qr: lambda a, mode="reduced": linalg.qr(a, mode),
    np.linalg.matrix_power: linalg.matrix_power,
    np.linalg.multi_dot: lambda arrays: linalg.multi_dot([_tensor(x) for x in arrays]),
    **{getattr(np.fft, x): _transform(x) for x in "fft ifft rfft irfft hfft ihfft".split()},
    **{getattr(np.fft, x): _transform_of_many(x, (-2, -1))
       for x in "fft2 ifft2 rfft2 irfft2".split()},
    **{getattr(np.fft, x): _transform_of_many(x, None)
       for x in "fftn ifftn rfftn irfftn".split()},
    np.fft.fftshift: lambda x, axes=None: fft.fftshift(x, axes),
    np.fft.ifftshift: lambda x, axes=None: fft.ifftshift(x, axes),
}  # fmt: skip

#: Functions whose results have no gradient: they read the values of tensors that require one.
NOT_DIFFERENTIABLE = frozenset((
    np.argmax, np.argmin, np.argsort, np.nonzero, np.argwhere, np.flatnonzero, np.count_nonzero,
    np.searchsorted, np.digitize, np.allclose, np.isclose, np.array_equal, np.zeros_like,
    np.ones_like, np.empty_like, np.full_like, np.shape, np.ndim, np.result_type, np.isin,
    np.array_repr, np.array_str, np.array2string, np.histogram, np.unique, np.lexsort,
))  # fmt: skip

# --- universal functions --------------------------------------------------------------------------

#: Methods of Tensor that have another name than the function of NumPy or SciPy.
_RENAMED = {
    "conjugate": "conj_physical", "rint": "round", "fabs": "abs", "degrees": "rad2deg",
    "radians": "deg2rad", "power": "pow", "invert": "bitwise_not", "mod": "remainder",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "sign": "sgn",
    "equal": "eq", "not_equal": "ne", "expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma",
}  # fmt: skip
#: Functions of one name that compute something else.
_OTHERS = frozenset(("ldexp", "frexp", "modf", "divmod", "spacing", "vecdot"))
#: Functions of SciPy that tensors have.
_OF_SCIPY = frozenset("erf erfc erfinv expit gammaln i0 logit psi xlogy".split())


def _vector_product(x1: Tensor, x2: Tensor) -> Tensor:
    return linalg.vecdot(x1, x2)


def named_twin(ufunc: Any) -> Callable[..., Any] | None:
    """The function of tensors for a universal function of NumPy or of ``scipy.special``."""
    name = ufunc.__name__
    if name == "vecdot" and getattr(np, "vecdot", None) is ufunc:
        return _vector_product
    special = sys.modules.get("scipy.special")
    known = getattr(np, name, None) is ufunc or (
        name in _OF_SCIPY and special is not None and getattr(special, name, None) is ufunc
    )
    if not known or name in _OTHERS:
        return None
    twin = getattr(Tensor, _RENAMED.get(name, name), None)
    return None if twin is None else lambda *operands: twin(*operands)


def _reduce(name: str) -> Callable[..., Any]:
    return lambda array, axis=0, keepdims=False: _reduced(name, array, axis, keepdims)


#: Methods of universal functions.
UFUNC_METHODS: dict[tuple[Any, str], Callable[..., Any]] = {
    (np.add, "reduce"): _reduce("sum"),
    (np.multiply, "reduce"): _reduce("prod"),
    (np.maximum, "reduce"): _reduce("amax"),
    (np.minimum, "reduce"): _reduce("amin"),
    (np.logaddexp, "reduce"): _reduce("logsumexp"),
    (np.add, "accumulate"): lambda array, axis=0: array.cumsum(axis),
    (np.multiply, "accumulate"): lambda array, axis=0: array.cumprod(axis),
    (np.maximum, "accumulate"): lambda array, axis=0: array.cummax(axis)[0],
    (np.minimum, "accumulate"): lambda array, axis=0: array.cummin(axis)[0],
}
