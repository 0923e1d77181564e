"""Transforms of vectors and matrices, and transforms for parts of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..dtype import finfo
from ..nn.functional import pad, softplus
from ..ops.creation.filled import eye
from ..ops.pointwise.functions import sigmoid, tanh
from ..ops.views.join import cat, stack
from . import constraints
from .independent import sum_last
from .transform import Transform
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = ["CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform",
           "PositiveDefiniteTransform", "SoftmaxTransform", "StackTransform",
           "StickBreakingTransform"]  # fmt: skip


def inside(value: Any) -> Any:
    """Numbers of the unit interval, without its ends."""
    info = finfo(value.dtype)
    return value.clamp(min=info.tiny, max=1.0 - info.eps)


class CorrCholeskyTransform(Transform):
    """Vectors to Cholesky factors of correlation matrices (Lewandowski et al., 2009).

    Partial correlations tanh(x) below the diagonal; each takes a part of what its row still lacks
    to length one.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        x = tanh(x)
        eps = finfo(x.dtype).eps
        x = x.clamp(min=-1 + eps, max=1 - eps)
        r = vec_to_tril_matrix(x, diag=-1)
        n = r.shape[-1]
        z = r**2
        rest = (1 - z).sqrt().cumprod(-1)
        r = r + eye(n, dtype=r.dtype, device=r.device)
        return r * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        rest = 1 - (y * y).cumsum(-1)
        shifted = pad(rest[..., :-1], [1, 0], value=1)
        y_vec = tril_matrix_to_vec(y, diag=-1)
        rest_vec = tril_matrix_to_vec(shifted, diag=-1)
        t = y_vec / rest_vec.sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        rest = 1 - (y * y).cumsum(-1)
        below = tril_matrix_to_vec(rest, diag=-2)
        terms = 0.5 * below.log().sum(-1)
        slope = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return terms + slope

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape: Any) -> Any:
        _require_square(shape)
        n = shape[-1]
        return shape[:-2] + (n * (n - 1) // 2,)


def _require_square(shape: Any) -> None:
    if len(shape) < 2:
        raise ValueError("Too few dimensions on input")
    if shape[-2] != shape[-1]:
        raise ValueError("Input is not square")


class SoftmaxTransform(Transform):
    """exp(x), normalized; its inverse is the logarithm."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        powers = (x - x.max(-1, True)[0]).exp()
        return powers / powers.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors to points of a simplex with one more part: each takes a share of what is left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = object.__hash__

    @staticmethod
    def _offset(x: Any) -> Any:
        """The logarithm of how many parts are left behind each."""
        n = x.shape[-1]
        return (n + 1 - x.new_ones(n).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        z = inside(sigmoid(x - self._offset(x)))
        left = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        parts = y[..., :-1]
        left = 1 - parts.cumsum(-1)
        left = left.clamp(min=finfo(y.dtype).tiny)
        return parts.log() - left.log() + self._offset(parts)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x)
        return (-x - softplus(-x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        from ..linalg import cholesky

        return LowerCholeskyTransform().inv(cholesky(y))


class _PartsTransform(Transform):
    """A transform for each part of a tensor along a dimension."""

    transforms: list[Any]
    dim: int

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(each.bijective for each in self.transforms)

    def _split(self, value: Any) -> list[Any]:
        raise NotImplementedError

    def _joined(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _check(self, *values: Any) -> None:
        for value in values:
            if not -value.dim() <= self.dim < value.dim():
                raise ValueError("dim is outside of the dimensions of the value")

    def _call(self, x: Any) -> Any:
        self._check(x)
        pairs = zip(self.transforms, self._split(x), strict=True)
        return self._joined([each(part) for each, part in pairs])

    def _inverse(self, y: Any) -> Any:
        self._check(y)
        pairs = zip(self.transforms, self._split(y), strict=True)
        return self._joined([each.inv(part) for each, part in pairs])


def _checked_transforms(tseq: Sequence[Any], cache_size: int) -> list[Any]:
    """The transforms of a sequence, which hold nothing else, with caches if they are asked for."""
    if not all([isinstance(each, Transform) for each in tseq]):
        raise AssertionError("All elements of tseq must be Transform instances")
    return [each.with_cache(cache_size) if cache_size else each for each in tseq]


class CatTransform(_PartsTransform):
    """A transform for each part, as ``cat`` joins them."""

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Any = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = _checked_transforms(tseq, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.transforms)
        self.dim = dim

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, value: Any) -> list[Any]:
        assert value.size(self.dim) == self.length
        return list(value.split(self.lengths, self.dim))

    def _joined(self, parts: list[Any]) -> Any:
        return cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        self._check(x, y)
        terms = []
        for each, a, b in zip(self.transforms, self._split(x), self._split(y), strict=True):
            term = each.log_abs_det_jacobian(a, b)
            terms.append(sum_last(term, self.event_dim - each.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return cat(terms, dim)
        total: Any = 0
        for term in terms:
            total = total + term
        return total

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """A transform for each part, as ``stack`` joins them."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = _checked_transforms(tseq, cache_size)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _split(self, value: Any) -> list[Any]:
        assert value.size(self.dim) == len(self.transforms)
        return list(value.unbind(self.dim))

    def _joined(self, parts: list[Any]) -> Any:
        return stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        self._check(x, y)
        triples = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return stack([t.log_abs_det_jacobian(a, b) for t, a, b in triples], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
