"""Reading by what elements are: where a mask holds, and where they are not zero.

The sizes of these results depend on values, so that no program has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import half_precision as half
from ...executor.families import indexing as executor
from ...executor.families.indexing import strided_view
from ...executor.memory.arrays import coordinates_of_nonzero, positions_where
from ...executor.plan.forms import spread
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed, refuse_samples
from ...transforms.tangents import multilinear
from ..arguments.shapes import common_shape
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.tensor_operator import TensorOperator
from ..views.expand import expand
from ..views.view import reshape
from .gather import index_select_operator, select_samples

__all__ = ["argwhere", "masked_select", "nonzero"]

Array = np.ndarray[Any, Any]


def _mask_of(name: str, mask: Tensor) -> Array:
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"{name}: expected BoolTensor for mask")
    return mask._array


@method()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, as a vector; both broadcast together."""
    if is_transformed(mask):
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
            "support this because for each batch this would return a differently shaped Tensor. "
            "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
            "feature."
        )
    array = _mask_of("masked_select", mask)
    shape = common_shape([input._array.shape, array.shape])
    if input._array.shape != shape:
        input = expand(input, shape)
    whole = strided_view(array, shape, spread(array, shape))
    found = positions_where(whole.reshape(-1), "masked_select(), whose size depends on values")[0]
    return _masked_select(reshape(input, -1), 0, new_tensor(found))


_masked_select = TensorOperator(
    "masked_select",
    lambda input, dim, index: executor.index_select(input, dim, index),
    dict(index_select_operator.gradient),
    batch=select_samples,
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


_NONZERO = "nonzero(), whose size depends on values"


@array_function(refused=_NONZERO)
def _rows_where(array: Array) -> Array:
    """``argwhere``, whose result lies in memory dimension by dimension, as torch's."""
    if array.__class__ is not np.ndarray or array.ndim == 0:
        return np.argwhere(array)
    return np.stack(coordinates_of_nonzero(array)).T


@method()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not zero: rows of a matrix, or a vector a dimension."""
    refuse_samples("nonzero", input)
    array = input._array
    if array.__class__ is np.ndarray:
        array = half.readable(array)  # the bits of a negative zero are not zero
    if as_tuple:
        found = positions_where(array.reshape(-1) if array.ndim == 0 else array, _NONZERO)
        return tuple([new_tensor(positions) for positions in found])
    return new_tensor(_rows_where(array))


@method()
def argwhere(input: Tensor) -> Tensor:
    """Indices of the elements that are not zero, as rows of a matrix."""
    return nonzero(input)
