"""``torch.distributions.constraints``: sets of values, and whether tensors lie in them.

Distributions say with them what their parameters and their samples are. ``check`` returns a tensor
of bools without the dimensions that make one value (``event_dim``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
    "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real",
    "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A set of values.

    Attributes:
        is_discrete: whether it is one of separate values.
        event_dim: how many dimensions one value has.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """Whether each value lies in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Dependent(Constraint):
    """A set that depends on other parameters, so that it cannot be checked by itself.

    What is None cannot be told before these are known: asking for it raises NotImplementedError.
    """

    def __init__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether it is one of separate values."""
        if self._is_discrete is None:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """How many dimensions one value has."""
        if self._event_dim is None:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> Any:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is None else is_discrete,
            event_dim=self._event_dim if event_dim is None else event_dim,
        )

    def check(self, value: Any) -> Any:
        """Raises."""
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property of a distribution whose value is a constraint; on the class it is dependent."""

    def __init__(
        self, fn: Any = None, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint cannot be checked by itself."""
    return isinstance(constraint, _Dependent)


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors of zeros and a single one."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """A set between bounds, which may be tensors."""

    names: tuple[str, ...] = ()

    def __init__(self, *bounds: Any, **named: Any) -> None:
        for name, bound in (*zip(self.names, bounds, strict=False), *named.items()):
            setattr(self, name, bound)
        super().__init__()

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={getattr(self, name)}" for name in self.names)
        return f"{type(self).__name__[1:]}({bounds})"


class _IntegerInterval(_Bounded):
    """Whole numbers from a lower to an upper bound, both included."""

    is_discrete = True
    names = ("lower_bound", "upper_bound")
    lower_bound: Any
    upper_bound: Any

    def check(self, value: Any) -> Any:
        whole = value % 1 == 0
        return whole & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Bounded):
    """Whole numbers up to a bound."""

    is_discrete = True
    names = ("upper_bound",)
    upper_bound: Any

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """Whole numbers from a bound."""

    is_discrete = True
    names = ("lower_bound",)
    lower_bound: Any

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """All numbers but NaN."""

    def check(self, value: Any) -> Any:
        return value == value


class _GreaterThan(_Bounded):
    """Numbers above a bound."""

    names = ("lower_bound",)
    lower_bound: Any

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_GreaterThan):
    """Numbers from a bound."""

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    """Numbers below a bound."""

    names = ("upper_bound",)
    upper_bound: Any

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Bounded):
    """Numbers between two bounds, both included."""

    names = ("lower_bound", "upper_bound")
    lower_bound: Any
    upper_bound: Any

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    """Numbers between two bounds, without the upper one."""

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors that are nonnegative and sum to one."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_Bounded):
    """Vectors of counts, with an upper bound on their sum."""

    is_discrete = True
    event_dim = 1
    names = ("upper_bound",)
    upper_bound: Any

    def check(self, x: Any) -> Any:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


class _LowerTriangular(Constraint):
    """Matrices that are zero above the diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Such matrices with a positive diagonal."""

    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Such matrices whose rows have length one."""

    def check(self, value: Any) -> Any:
        from ..dtype import finfo

        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = (value * value).sum(-1).sqrt()
        return super().check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        from ..ops.creation.filled import full

        square = value.shape[-2] == value.shape[-1]
        return full(value.shape[:-2], square)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Any) -> Any:
        good = super().check(value)
        if not good.all():
            return good
        return value.isclose(value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        from ..linalg import eigvalsh

        good = super().check(value)
        return eigvalsh(value).ge(0).all(-1) if good.all() else good


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Any) -> Any:
        from ..linalg import cholesky_ex

        good = super().check(value)
        return cholesky_ex(value).info.eq(0) if good.all() else good


class _Independent(Constraint):
    """Tensors whose last dimensions all lie in a set, as one value."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        assert isinstance(reinterpreted_batch_ndims, int) and reinterpreted_batch_ndims >= 0
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """As the set itself."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The dimensions of the set, and those that were added."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if result.dim() < count:
            expected = self.event_dim
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        if count == 0:
            return result
        return result.reshape(*result.shape[: result.dim() - count], -1).all(-1)

    def __repr__(self) -> str:
        count = self.reinterpreted_batch_ndims
        return f"IndependentConstraint({self.base_constraint!r}, {count})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: a value lies in it if it does for every component."""

    def __init__(self, base_constraint: Constraint) -> None:
        assert isinstance(base_constraint, Constraint)
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """As that of components."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """As that of components."""
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        inner = value.dim() - self.event_dim
        result = self.base_constraint.check(value.unsqueeze(inner))
        return result.all(-1) if result.dim() > inner else result

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Parts(Constraint):
    """Tensors whose parts along a dimension lie in one set each."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        assert all(isinstance(c, Constraint) for c in cseq)
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether one of the sets is."""
        return any(c.is_discrete for c in self.cseq)


class _Cat(_Parts):
    """Tensors that were joined by ``cat``."""

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The largest of the sets'."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Any) -> Any:
        from ..ops.views.join import cat as join

        assert -value.dim() <= self.dim < value.dim()
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return join(checks, self.dim)


class _Stack(_Parts):
    """Tensors that were joined by ``stack``."""

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The largest of the sets', and one more where the new dimension lies among them."""
        most = max(c.event_dim for c in self.cseq)
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Any) -> Any:
        from ..ops.views.join import stack as join

        assert -value.dim() <= self.dim < value.dim()
        parts = value.unbind(self.dim)
        return join([c.check(v) for c, v in zip(self.cseq, parts, strict=True)], self.dim)


dependent = _Dependent()
dependent_property: Callable[..., Any] = _DependentProperty
independent = _Independent
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
