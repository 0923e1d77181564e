"""Functions under the names of torch's operators, which programs written for torch call directly.

``numbagrad/__init__.py`` has them too, as torch has; each is a public function with another
signature.
"""

from __future__ import annotations

from .ops.creation.filled import empty
from .ops.reductions.sorting import unique
from .tensor import Tensor


def _unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    """``unique`` of all elements, and the places in it or nothing."""
    values, inverse, _ = unique_dim(input, None, sorted, return_inverse)
    return values, inverse


def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """``unique`` of all elements, the places in it and the counts; or nothing for these."""
    return unique_dim(input, None, sorted, return_inverse, return_counts)


def unique_dim(
    input: Tensor,
    dim: int | None,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """``unique`` of the entries of a dimension, the places in it and the counts."""
    values, inverse, counts = unique(input, sorted, True, True, dim)
    nothing = empty(0, dtype=inverse.dtype)
    return values, inverse if return_inverse else nothing, counts if return_counts else nothing
