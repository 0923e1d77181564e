"""Operators whose forward is calls of NumPy, on a GPU by CuPy: sorting, triangles and the like.

CuPy's arrays answer NumPy's functions, so the forward is the one that the CPU has. In the simulator
the arrays are NumPy's, over the memory of the simulated device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .array import CudaArray
from .driver import driver

if TYPE_CHECKING:
    from .backend import CudaBackend

#: Operators that run so, by the names of their definitions.
NAMES = frozenset(
    """argsort block_diag cdist frexp frexp_exponent gcd i0 igamma igammac index_copy index_fill
    index_reduce lcm linalg_cross median nanmedian roll scatter scatter_reduce special_i0e
    special_i1 special_i1e take topk tril triu unfold_backward""".split()
)


def forward_of(where: CudaBackend, operator: Any) -> Callable[..., Any] | None:
    """The forward of an operator on arrays of the device; None for one that does not run so."""
    if operator.name not in NAMES:
        return None
    return functools.partial(_call, where, operator)


def _call(where: CudaBackend, operator: Any, *arguments: Any) -> Any:
    """Run the CPU's forward on arrays of the library.

    Raises:
        NotImplementedError: for what that does not do on a GPU; it says so by a TypeError.
    """
    given = [_given(x) for x in arguments]
    try:
        made = operator.forward(*given)
    except TypeError as error:
        if driver().is_simulated:
            raise
        raise NotImplementedError(
            f"Could not run '{operator.name}' on the device 'cuda': CuPy refused it ({error}); "
            "move the tensors with .cpu() first"
        ) from error
    return _taken(where, made)


def _given(value: Any) -> Any:
    if isinstance(value, CudaArray):
        return driver().as_cupy(value)
    if isinstance(value, list | tuple):
        return type(value)([_given(x) for x in value])
    return value


def _taken(where: CudaBackend, made: Any) -> Any:
    """Results as arrays of the device; numbers as arrays without dimensions."""
    if isinstance(made, tuple | list):
        return tuple([_taken(where, x) for x in made])
    if isinstance(made, np.ndarray | np.generic):
        return where.from_host(np.asarray(made))
    if hasattr(made, "__cuda_array_interface__"):
        result = where.allocate(*_form(made))
        driver().as_cupy(result)[...] = made
        return result
    return made


def _form(made: Any) -> Any:
    from ..executor.plan.forms import contiguous

    return contiguous(tuple(made.shape), np.dtype(made.dtype))


class Namespace:
    """NumPy's functions by name, on arrays of the device: CuPy's on a GPU."""

    def __init__(self, where: CudaBackend):
        self._where = where

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(np, name)

        def call(*arguments: Any, **options: Any) -> Any:
            given = [_given(x) for x in arguments]
            return _taken(self._where, function(*given, **options))

        return call
