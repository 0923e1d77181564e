"""Functions that compute past the operators, without a derivative, as operators of their own.

``forward_only`` is a decorator for the few public functions whose result is made of memory in one
step, as the counts of values. Under transformations they run sample by sample, and on values only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...dispatch import transformations
from ...tensor import Tensor
from ...transforms.levels import is_transformed
from .base import Operator

__all__ = ["forward_only"]

Function = TypeVar("Function", bound=Callable[..., Any])


class _ForwardOnly(Operator):
    """A call of a function as an operator without history; ``names`` are those of keywords."""

    recorded = False

    def __init__(self, function: Callable[..., Any], names: Sequence[str]) -> None:
        self.function = function
        self.name = function.__name__
        self.names = names

    def __call__(self, *arguments: Any) -> Any:
        count = len(arguments) - len(self.names)
        return call_forward_only(
            self.function, arguments[:count], dict(zip(self.names, arguments[count:], strict=True))
        )

    def tangent(
        self, operator: Any, primals: Any, tangents: Any, results: tuple[Tensor, ...]
    ) -> tuple[None, ...]:
        """None: the results are constant where they are differentiable."""
        return (None,) * len(results)


def call_forward_only(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``function(*args, **kwargs)``, under the transformations of its arguments."""
    if is_transformed(args) or is_transformed(tuple(kwargs.values())):
        return transformations.call(
            _ForwardOnly(function, tuple(kwargs)), (*args, *kwargs.values())
        )
    return function(*args, **kwargs)


def forward_only(function: Function) -> Function:
    """A function without a derivative that reads the memory of its Tensors itself."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return call_forward_only(function, args, kwargs)

    return call  # type: ignore[return-value]
