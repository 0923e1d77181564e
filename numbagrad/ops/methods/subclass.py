"""Tensors of classes that programs derive from Tensor."""

from __future__ import annotations

from typing import Any, TypeVar

from ...tensor import Tensor, leaf_of_class
from ...transforms.batching import stacked
from ..operators.view_operator import ViewOperator
from .registry import method

__all__: list[str] = []

Subclass = TypeVar("Subclass", bound=Tensor)

_alias = ViewOperator("alias", lambda input: input.view(), lambda grad: grad, batch=stacked())


@method()
def as_subclass(input: Tensor, cls: type[Subclass]) -> Subclass:
    """The same memory and history as a Tensor of class ``cls``.

    Raises:
        TypeError: if ``cls`` is no subclass of Tensor.
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError("cls must be a type (not an instance) that derives from Tensor")
    made: Any = _alias(input)
    made.__class__ = cls
    return made


def _make_subclass(
    cls: type[Subclass], data: Tensor, require_grad: bool = False, **options: Any
) -> Subclass:
    """A leaf of class ``cls`` with the memory of ``data``; ``Tensor._make_subclass``."""
    return leaf_of_class(cls, data, require_grad)


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]
