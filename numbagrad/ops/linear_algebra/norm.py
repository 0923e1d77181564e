"""``torch.norm``, of vectors and matrices; ``torch.linalg`` has a function for each."""

from __future__ import annotations

from typing import Any

from ...dtype import dtype as DType
from ...tensor import Tensor
from ..arguments.check import check_tensors
from ..methods.registry import method
from ..reductions.statistics import vector_norm
from .matrix_norms import matrix_norm

__all__ = ["norm"]


@method()
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """The vector norm of order ``p`` of all elements, or over ``dim``; "fro" is 2.

    With "nuc" it is the sum of singular values, of matrices in the two dimensions ``dim``.

    Raises:
        RuntimeError: for "nuc" unless there are two dimensions, and for other names.
    """
    if keepdim.__class__ is not bool:
        check_tensors(norm, (input, p, dim, keepdim))
    if p == "nuc":
        dims = tuple(range(input._array.ndim)) if dim is None else dim
        return matrix_norm(input, "nuc", dims, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported. Give a number or 'fro'")
    order = 2.0 if p is None or isinstance(p, str) else p
    return vector_norm(input, order, dim, keepdim, dtype=dtype)
