"""``torch.distributions.transforms``: functions with an inverse, and how they change volumes.

A ``Transform`` maps values of ``domain`` to values of ``codomain``; ``inv`` is the way back. With
``cache_size=1`` the last pair is kept, so that the inverse of a sample costs nothing and is exact.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any

from ..dtype import finfo
from ..nn.functional import pad, softplus
from ..ops.creation import eye, zeros_like
from ..ops.functions import log1p, sigmoid, tanh
from ..ops.join import cat, stack
from ..tensor import Tensor
from . import constraints
from .independent import sum_last
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform",
    "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip


class Transform:
    """A function with an inverse.

    Attributes:
        domain, codomain: the constraints that arguments and results satisfy.
        bijective: whether every value of ``codomain`` has one argument.
        sign: +1 or -1 where it is monotone.
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = None, None

    def __getstate__(self) -> Any:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dimensions an argument has, where a result has as many."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse, a transform too."""
        found = self._inv() if self._inv is not None else None
        if found is None:
            found = _InverseTransform(self)
            self._inv = weakref.ref(found)
        return found

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same with a cache, or without one."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        """The result for ``x``."""
        if self._cache_size == 0:
            return self._call(x)
        old_x, old_y = self._cached_x_y
        if x is old_x:
            return old_y
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        old_x, old_y = self._cached_x_y
        if y is old_y:
            return old_x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |dy/dx|, summed over the dimensions of a value."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for an argument of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument for a result of this shape."""
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform, whose cache it uses."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @property
    def inv(self) -> Any:
        return self._inv

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms one after the other."""

    def __init__(self, parts: Sequence[Any], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        domain = self.parts[0].domain
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        assert dims >= domain.event_dim
        extra = dims - domain.event_dim
        return constraints.independent(domain, extra) if extra else domain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        codomain = self.parts[-1].codomain
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        assert dims >= codomain.event_dim
        extra = dims - codomain.event_dim
        return constraints.independent(codomain, extra) if extra else codomain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Any:
        found = self._inv() if self._inv is not None else None
        if found is None:
            found = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(found)
            found._inv = weakref.ref(self)
        return found

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        total: Any = 0
        dims = self.domain.event_dim
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            total = total + sum_last(term, dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{self.__class__.__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as dimensions of a value."""

    def __init__(
        self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        count = self.reinterpreted_batch_ndims
        return IndependentTransform(self.base_transform, count, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        base = self.base_transform.domain
        return constraints.independent(base, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        base = self.base_transform.codomain
        return constraints.independent(base, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_last(terms, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        inner = f"{self.base_transform!r}, {self.reinterpreted_batch_ndims}"
        return f"{self.__class__.__name__}({inner})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Values of another shape, with the same elements."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        from ..size import Size

        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape((*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape((*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    @staticmethod
    def _exchanged(shape: Any, old: Any, new: Any) -> Any:
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new

    def forward_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.out_shape, self.in_shape)


class _Elementwise(Transform):
    """A transform of single numbers that are its only parameter's equal."""

    domain = constraints.real
    codomain: Any = constraints.positive
    bijective = True

    @property
    def sign(self) -> Any:
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = object.__hash__


class ExpTransform(_Elementwise):
    """exp(x)."""

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """x**exponent, for positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = _tensors(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, PowerTransform) and self.exponent.eq(other.exponent).all().item()
        return bool(same)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape


def _tensors(*values: Any) -> Any:
    from .utils import broadcast_all

    return broadcast_all(*values)


def _broadcast(shape: Any, *values: Any) -> Any:
    from ..ops.expand import broadcast_shapes

    return broadcast_shapes(shape, *[getattr(value, "shape", ()) for value in values])


def _inside(value: Any) -> Any:
    """Numbers of the unit interval, without its ends."""
    info = finfo(value.dtype)
    return value.clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Elementwise):
    """1 / (1 + exp(-x))."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _inside(sigmoid(x))

    def _inverse(self, y: Any) -> Any:
        y = _inside(y)
        return y.log() - log1p(-y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Elementwise):
    """log(1 + exp(x))."""

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Elementwise):
    """tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """|x|, whose inverse is the positive one."""

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """loc + scale * x."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if self.event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self.event_dim)

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = (self.loc, other.loc), (self.scale, other.scale)
        return all(bool(Tensor.all(a == b)) if isinstance(a == b, Tensor) else a == b
                   for a, b in pairs)  # fmt: skip

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, (int, float)):
            return 1 if self.scale > 0 else -1 if self.scale < 0 else 0
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale = self.scale
        if isinstance(scale, (int, float)):
            terms = zeros_like(x) + math.log(abs(scale))
        else:
            terms = scale.abs().log()
        count = self.event_dim
        terms = sum_last(terms.expand(_broadcast(x.shape, terms)) if count else terms, count)
        return terms.expand(x.shape[: x.dim() - count])

    def forward_shape(self, shape: Any) -> Any:
        return _broadcast(shape, self.loc, self.scale)

    inverse_shape = forward_shape


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
        r = r + eye(n, dtype=r.dtype)
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
        z = _inside(sigmoid(x - self._offset(x)))
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


class CatTransform(_PartsTransform):
    """A transform for each part, as ``cat`` joins them."""

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Any = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
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
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
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


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution."""

    bijective = True
    codomain = constraints.unit_interval

    @property
    def sign(self) -> Any:
        return +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
