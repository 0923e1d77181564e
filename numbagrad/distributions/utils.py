"""Small things that distributions share: parameters of one shape, probabilities and logits."""

from __future__ import annotations

import functools
import operator
from numbers import Number
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..dtype import finfo, get_default_dtype
from ..nn.functional.activation import softmax
from ..ops.creation.from_data import as_tensor
from ..ops.creation.random import randn
from ..ops.pointwise.functions import log, log1p, sigmoid
from ..ops.views.expand import broadcast_tensors
from ..tensor import Tensor

__all__ = ["broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs",
           "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix"]  # fmt: skip

euler_constant = 0.57721566490153286060


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    """Standard normal numbers, for libraries that define distributions."""
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


def broadcast_all(*values: Any) -> Any:
    """Parameters as tensors of one shape; numbers are of the dtype and device of the tensors.

    Raises:
        ValueError: for what is neither a number nor a tensor.
    """
    if not all(isinstance(v, (Tensor, Number)) or hasattr(v, "__torch_function__") for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    if not all(isinstance(v, Tensor) for v in values):
        tensors = [v for v in values if isinstance(v, Tensor)]
        like: Any = {"dtype": get_default_dtype()}
        if tensors:
            like = {"dtype": tensors[0].dtype, "device": tensors[0].device}
        values = tuple(v if isinstance(v, Tensor) else as_tensor(v, **like) for v in values)
    return broadcast_tensors(*values)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of log odds, or of log probabilities up to a constant."""
    return sigmoid(logits) if is_binary else softmax(logits, -1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities, away from 0 and 1 by the rounding of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The inverse of ``logits_to_probs``."""
    clamped = clamp_probs(probs)
    return log(clamped) - log1p(-clamped) if is_binary else log(clamped)


def same_as(path: str) -> Any:
    """A property that is another attribute of the object, as ``"base_dist.scale"``."""
    made = property(operator.attrgetter(path))
    made.__doc__ = None  # not that of attrgetter
    return made


class lazy_property:
    """A property that is computed once, with a graph, and kept on the object."""

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return LazyOnClass(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class LazyOnClass(property):
    """The value of such a property on a class: documentation tools ask for it."""

    def __init__(self, wrapped: Any) -> None:
        super().__init__(wrapped)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The entries of matrices on and below a diagonal, row by row.

    Raises:
        ValueError: for a diagonal that lies outside.
    """
    n = mat.shape[-1]
    if not -n < diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = _tril_positions(n, diag)
    return mat[..., rows, columns]


def _tril_positions(n: int, diag: int) -> Any:
    positions = [(i, j) for i in range(n) for j in range(n) if j <= i + diag]
    return [i for i, _ in positions], [j for _, j in positions]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Matrices with entries on and below a diagonal, and zeros above it."""
    count = vec.shape[-1]
    shift = 1 + 2 * diag
    n = (-shift + (shift * shift + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    eps = finfo(vec.dtype).eps
    if round(n) - n > eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    rows, columns = _tril_positions(n, diag)
    made = vec.new_zeros((*vec.shape[:-1], n * n))
    where = as_tensor([i * n + j for i, j in zip(rows, columns, strict=True)], device=vec.device)
    made = made.index_copy(-1, where, vec)
    return made.reshape(*vec.shape[:-1], n, n)
