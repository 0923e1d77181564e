"""Products with every vector of a basis, all at once: the rows or columns of a Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ops.creation.filled import ones_like, zeros
from ..ops.views.join import stack
from ..tensor import Tensor
from .vmap import vmap

__all__ = ["jacobian_of_products", "standard_basis"]


def standard_basis(like: Sequence[Tensor]) -> list[Tensor]:
    """For every Tensor, the unit vectors of all of them together: ``(count, *shape)`` each."""
    sizes = [tensor.numel() for tensor in like]
    count = sum(sizes)
    basis = []
    start = 0
    for tensor, size in zip(like, sizes, strict=True):
        block = zeros(count, size, dtype=tensor.dtype, device=tensor.device)
        block.diagonal(-start).fill_(1)
        basis.append(block.reshape((count, *tensor._array.shape)))
        start += size
    return basis


def jacobian_of_products(
    function: Callable[..., Any],
    product: Callable[..., list[Tensor]],
    like: Sequence[Tensor],
    chunk_size: int | None,
    randomness: str = "error",
) -> list[list[Tensor]]:
    """For every result of ``product``, its values for the unit vectors of each Tensor in ``like``.

    ``product`` takes a vector in the form of ``like`` and is linear; a block of the result has the
    elements of one Tensor of ``like`` along its first dimension. ``function`` is what the user
    wants the Jacobian of.
    """
    sizes = [tensor.numel() for tensor in like]
    count = sum(sizes)
    if count == 1:
        made = product(*[ones_like(tensor) for tensor in like])
        return [[result.unsqueeze(0)] for result in made]
    results: list[Tensor] | None = None
    if chunk_size is None and randomness == "error":
        from .blocks import products_in_blocks  # programs are imported when they are needed

        results = products_in_blocks(product, like, function)
    if chunk_size == 1 and count:  # without ``vmap``, and what that does not take
        basis = standard_basis(like)
        rows = [product(*[block[position] for block in basis]) for position in range(count)]
        results = [stack(column) for column in zip(*rows, strict=True)]
    elif results is None:
        mapped = vmap(product, randomness=randomness, chunk_size=chunk_size)
        results = mapped(*standard_basis(like))
    assert results is not None
    return [list(result.split(sizes, 0)) for result in results]
