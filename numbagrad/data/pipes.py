"""Pipes of data: streams and maps that are put together by methods, which classes register.

The pipes that torch itself brings (``torch.utils.data.datapipes``) are absent. A ``DataLoader``
takes an ``IterDataPipe`` for the ``IterableDataset`` that it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .dataset import Dataset, IterableDataset

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]

T_co = TypeVar("T_co", covariant=True)
Pipe = TypeVar("Pipe", bound=type)


class _Methods:
    """The methods of a kind of pipes: functions that take the pipe before them."""

    functions: dict[str, Callable[..., Any]]

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]

    def __repr__(self) -> str:
        return type(self).__qualname__

    __str__ = __repr__

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Have ``pipe.function_name(...)`` call ``function(pipe, ...)``."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Have ``pipe.function_name(...)`` make ``cls_to_register(pipe, ...)``.

        Raises:
            Exception: if another pipe has the name, as in torch.
        """
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )
        cls.register_function(
            function_name, lambda *given, **named: cls_to_register(*given, **named)
        )


class IterDataPipe(_Methods, IterableDataset[T_co]):
    """A stream of samples that others are made of: a subclass defines ``__iter__``."""

    functions: dict[str, Callable[..., Any]] = {}

    def __iter__(self) -> Iterator[T_co]:
        return self

    def reset(self) -> None:
        """Go back to the first sample; subclasses that keep a state define it."""


class MapDataPipe(_Methods, Dataset[T_co]):
    """Samples by index that others are made of: a subclass defines ``__getitem__``."""

    functions: dict[str, Callable[..., Any]] = {}


class functional_datapipe:
    """A decorator: pipes get a method ``name`` that makes one of the decorated class.

    Args:
        name: of the method.
        enable_df_api_tracing: for data frames of torcharrow; nothing asks for it.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Pipe) -> Pipe:
        for kind in (IterDataPipe, MapDataPipe):
            if issubclass(cls, kind):
                kind.register_datapipe_as_function(self.name, cls)
        return cls
