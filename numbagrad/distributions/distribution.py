"""``Distribution``: what all distributions can do, and the checks of parameters and values."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops.pointwise.functions import exp
from ..size import Size
from ..tensor import Tensor
from ..torch_homes import module_here
from . import constraints
from .utils import LazyOnClass

__all__ = ["Distribution", "ExponentialFamily"]

_PACKAGE = __name__.rpartition(".")[0] + "."


def validated(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a value, which is checked first if the distribution checks its arguments."""

    @functools.wraps(method)
    def check_first(self: Any, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)

    return check_first


class Distribution:
    """Random tensors.

    A sample has the shape ``sample_shape + batch_shape + event_shape``: parameters of
    ``batch_shape`` make independent values, each of ``event_shape``.

    Attributes:
        arg_constraints: where parameters lie, by name.
        support: where samples lie.
        has_rsample: whether samples have gradients to the parameters.
        has_enumerate_support: whether all values can be listed.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    #: The parameters, and distributions of them, to which ``expand`` gives the new batch shape.
    _expands: tuple[str, ...] = ()
    #: Attributes that an expanded distribution has in common with this one.
    _shares: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions check parameters and values, if not told at their making."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = (),
        event_shape: Any = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    @property
    def arg_constraints(self) -> Any:
        """Where parameters lie, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """Where samples lie."""
        raise NotImplementedError

    def _constraints(self) -> Any:
        try:
            return self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set "
                "`arg_constraints = {}` or initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return {}

    def _check_parameters(self) -> None:
        for name, constraint in self._constraints().items():
            if constraints.is_dependent(constraint):
                continue
            lazy = isinstance(getattr(type(self), name, None), LazyOnClass)
            if lazy and name not in self.__dict__:
                continue  # computed when it is asked for, from others that are checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with parameters of a larger ``batch_shape``.

        Raises:
            NotImplementedError: for a subclass with a constructor of its own.
        """
        for ours in type(self).__mro__:
            if module_here(ours).startswith(_PACKAGE):
                break
        if module_here(ours) == __name__:  # no parameters are known
            raise NotImplementedError
        made = self._get_checked_instance(ours, _instance)
        shape, depth = Size(batch_shape), len(self._batch_shape)
        own = self.__dict__
        for name in self._expands:
            if name not in own:
                continue  # computed when it is asked for
            value = own[name]
            if isinstance(value, Distribution):
                inner = value.batch_shape[depth:]
            else:
                inner = value.shape[depth:] if value.dim() > depth else ()
            setattr(made, name, value.expand((*shape, *inner)))
        for name in self._shares:
            setattr(made, name, own[name])
        Distribution.__init__(made, shape, self._event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    @property
    def batch_shape(self) -> Size:
        """The shape of independent values."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single value."""
        return self._event_shape

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """Values, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """Values with gradients to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """``sample((n,))``, as programs wrote it."""
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", UserWarning,
                      stacklevel=2)  # fmt: skip
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values, along a new first dimension; with ``expand`` over ``batch_shape`` too."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """exp(entropy)."""
        return exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:  # noqa: B008
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _along_first(self, values: Any, expand: bool) -> Any:
        """A vector of all values as ``enumerate_support`` returns them."""
        values = values.view((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        count = value.dim() - len(self._event_shape)
        if tuple(value.shape[max(count, 0) :]) != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.shape} vs {self._event_shape}."
            )
        expected = (*self._batch_shape, *self._event_shape)
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.shape} vs {Size(expected)}."
                )
        support = self._support_or_warning()
        if support is not None and not support.check(value).all():
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _support_or_warning(self) -> Any:
        try:
            return self.support
        except (AttributeError, NotImplementedError):
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return None

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        parts = []
        for name in names:
            value = self.__dict__[name]
            parts.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{self.__class__.__name__}({', '.join(parts)})"


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), θ> - F(θ) + k(x)), whose entropy follows from F.

    A subclass has ``_natural_params`` (θ), ``_log_normalizer`` (F of θ) and
    ``_mean_carrier_measure`` (the mean of k).
    """

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        """F(θ) - <θ, ∇F(θ)> less the mean of k."""
        from ..autograd import grad
        from ..autograd.grad_mode import enable_grad

        with enable_grad():
            params = [p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*params)
            gradients = grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        shape = self._batch_shape
        for p, g in zip(params, gradients, strict=True):
            product = p * g
            result = result - product.reshape((*shape, -1)).sum(-1)
        return result
