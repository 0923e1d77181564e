"""What runs on a GPU in the place of the forward of an operator, by the operator's name.

Either our kernels, or a function of CuPy where the CPU's forward is written for ndarrays alone.
``library.py`` has those whose forward CuPy's arrays take as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..executor.plan.forms import contiguous
from . import indexing
from .array import CudaArray

if TYPE_CHECKING:
    from .backend import CudaBackend

# --- by kernels of ours: arrays of the device -----------------------------------------------------


def _repeated(where: CudaBackend, value: Any, like: CudaArray, shape: tuple[int, ...]) -> CudaArray:
    """A number, or an array of one element, in every element of an array of a shape."""
    steps = (0,) * len(shape)
    if isinstance(value, CudaArray):
        return value.reshape(()).view_of(shape, steps)
    one = where.new(contiguous((), like.dtype), like)
    where.fill(one, value.item() if isinstance(value, np.ndarray) else value)
    return one.view_of(shape, steps)


def _scatter(
    where: CudaBackend, input: CudaArray, dim: int, index: CudaArray, values: Any
) -> CudaArray:
    made = where.copied(input)
    if not isinstance(values, CudaArray) or (values.ndim == 0 and index.ndim):
        values = _repeated(where, values, input, index.shape)
    where.by_parts(indexing.write_elements, indexing.COPY, made, dim, index, values)
    return made


def _index_copy(
    where: CudaBackend, input: CudaArray, dim: int, index: CudaArray, source: CudaArray
) -> CudaArray:
    made = where.copied(input)
    flat = made if made.ndim else made.reshape(1)
    where.index_copy(flat, dim, index.reshape(-1), source if source.ndim else source.reshape(1))
    return made


def _index_fill(
    where: CudaBackend, input: CudaArray, dim: int, index: CudaArray, value: Any
) -> CudaArray:
    sizes = input.shape or (1,)
    shape = (*sizes[:dim], index.size, *sizes[dim + 1 :])
    return _index_copy(where, input, dim, index, _repeated(where, value, input, shape))


#: Called with the backend and the arguments of the operator.
OWN: dict[str, Callable[..., Any]] = {
    "scatter": _scatter,
    "index_copy": _index_copy,
    "index_fill": _index_fill,
}

# --- by functions of CuPy -------------------------------------------------------------------------


def _rolled(array: Any, shifts: Any, dims: Any) -> Any:
    return np.roll(array, shifts if dims else shifts[0], dims or None).copy("C")


#: Called with arrays of the library and the other arguments of the operator.
OF_LIBRARY: dict[str, Callable[..., Any]] = {
    "frexp": lambda input: np.frexp(input)[0],
    "frexp_exponent": lambda input: np.frexp(input)[1],
    "gcd": np.gcd,
    "lcm": lambda input, other: np.lcm(input, other).astype(input.dtype),
    "linalg_det": lambda A: np.linalg.det(A),
    "linalg_slogdet": lambda A: tuple(np.linalg.slogdet(A)),
    "roll": _rolled,
    "trace": lambda input: input.trace(dtype=input.dtype if input.dtype.kind in "fc" else np.int64),
    "tril": lambda input, diagonal: np.tril(input, diagonal),
    "triu": lambda input, diagonal: np.triu(input, diagonal),
}
