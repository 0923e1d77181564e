"""``nonzero`` of a given size, and reads and additions at indices where a mask is true.

Called by users and by programs for torch's dispatcher (``_unsafe_masked_index``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...executor.memory.arrays import values_on_host
from ...tensor import Tensor, new_tensor
from ...transforms.levels import refuse_samples
from ..methods.registry import method
from ..pointwise.selection import where

__all__ = ["nonzero_static"]


@method()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ``size`` indices of elements that are not zero, as rows (size, dimensions).

    Rows that are too many are ``fill_value``.

    Raises:
        RuntimeError: for a negative size.
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be a non-negative integer, but got {size}")
    refuse_samples("nonzero_static", input)
    reader = "nonzero_static(), whose elements are places of values"
    found = np.argwhere(values_on_host(input._array, reader))[:size]
    made = np.full((size, input._array.ndim), fill_value, np.int64)
    made[: len(found)] = found
    return new_tensor(made)


def _inside(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """The indices, 0 where the mask is false; whole dimensions for None."""
    return tuple([slice(None) if x is None else where(mask, x, 0) for x in indices])


def masked_index(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: Any
) -> Tensor:
    """``input[indices]`` where ``mask`` is true, ``fill`` elsewhere.

    Indices need not be valid where the mask is false.
    """
    if not input._array.size:
        return input.new_full(mask._array.shape, fill)
    return input[_inside(input, mask, indices)].masked_fill(~mask, fill)


def masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    """``input`` with ``values`` added at indices where ``mask`` is true."""
    if not input._array.size:
        return input.clone()
    positions: Any = [None if x is None else where(mask, x, 0) for x in indices]
    return input.index_put(positions, values.masked_fill(~mask, 0), accumulate=True)
