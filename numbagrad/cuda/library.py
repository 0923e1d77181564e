"""Operators whose forward is calls of NumPy, on a GPU by CuPy: sorting, triangles and the like.

CuPy's arrays answer NumPy's functions, so the forward is most often the one that the CPU has. In
the simulator ``driver/twin.py`` stands for CuPy: arrays of NumPy that refuse what CuPy's refuse.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..executor.plan import result_forms
from ..executor.plan.forms import Form, dense
from ..executor.plan.operations import Operation, Product
from ..executor.plan.views import Memory, View
from . import foreach
from .array import CudaArray, adopted
from .driver import driver
from .forwards import OF_LIBRARY, OWN

if TYPE_CHECKING:
    from .backend import CudaBackend

#: Operators whose forward runs so as it is, by the names of their definitions.
NAMES = frozenset(
    """fft_c2c fft_c2r fft_r2c geqrf linalg_cholesky_ex linalg_cross linalg_eig linalg_eigh
    linalg_inv_ex linalg_lstsq linalg_qr linalg_solve_ex linalg_solve_triangular
    linalg_svd""".split()
)

#: Operators whose forward the library refused in this process: the host ran it.
refused: set[str] = set()


def _library(index: int) -> AbstractContextManager[Any]:
    """The context of functions of CuPy, after the operations that wait were launched."""
    foreach.flush()
    made: AbstractContextManager[Any] = driver().library(index)
    return made


def forward_of(where: CudaBackend, operator: Any) -> Callable[..., Any] | None:
    """The forward for the device; None for an operator whose own runs as it is."""
    name = operator.name
    if name in OWN and not operator.portable:
        return functools.partial(OWN[name], where)
    if name in OF_LIBRARY:
        return functools.partial(_call, where, operator, OF_LIBRARY[name])
    if operator.portable or name not in NAMES:
        return None
    return functools.partial(_call, where, operator, operator.forward)


def _call(where: CudaBackend, operator: Any, forward: Callable[..., Any], *arguments: Any) -> Any:
    """Run a forward on arrays of the library, or the CPU's on the host if that refuses them.

    The host says as well what is wrong with values that no forward takes, as singular matrices.
    """
    try:
        with _library(_device_of(arguments)):
            return _taken(where, forward(*[_given(x) for x in arguments]))
    except (TypeError, ValueError, AttributeError, NotImplementedError, np.linalg.LinAlgError):
        refused.add(operator.name)
    return where.call(operator.forward, *arguments)


def multiplies(a: CudaArray, b: CudaArray) -> bool:
    """Whether a product of stacks of matrices is one for cuBLAS: large, of a real dtype it has."""
    if a.dtype != b.dtype or a.dtype.kind != "f" or a.block.device != b.block.device:
        return False
    elements = math.prod(result_forms.product(a, b).shape)
    return elements * a.shape[-1] >= driver().large_product


def product(where: CudaBackend, a: CudaArray, b: CudaArray) -> CudaArray:
    """``a @ b`` by CuPy, which asks cuBLAS; halves are summed in float32."""
    made = where.new(result_forms.product(a, b), a)
    with _library(a.block.device):
        np.matmul(_given(a), _given(b), out=_given(made))
    return made


class LargeProduct:
    """A large product of a program, by cuBLAS: nothing else is computed of its result there."""

    def __init__(self, operation: Any):
        self._views: tuple[View, ...] = operation.a, operation.b, operation.c

    @staticmethod
    def takes(operation: Operation) -> bool:
        """Whether an operation is one: a product alone, of a real dtype that cuBLAS has."""
        if not isinstance(operation, Product) or operation.epilogue is not None:
            return False
        a, b, c = operation.a, operation.b, operation.c
        if operation.accumulates or operation.further or {x.dtype for x in (a, b)} != {c.dtype}:
            return False
        return c.dtype.kind == "f" and c.size * a.shape[-1] >= driver().large_product

    def run(self, start_of: Callable[[Memory], int], index: int) -> None:
        """Compute it on a device; ``start_of`` gives the address of a block of memory."""
        a, b, c = [
            adopted(start_of(x.memory) + x.offset, Form(x.shape, x.strides, x.dtype), index, None)
            for x in self._views
        ]
        with _library(index):
            np.matmul(_given(a), _given(b), out=_given(c))


def sorted_with_order(where: CudaBackend, index: CudaArray) -> tuple[CudaArray, CudaArray]:
    """The stable order that sorts a vector, and its sorted elements."""
    with _library(index.block.device):
        given = _given(index)
        order = given.argsort(kind="stable")
        return _taken(where, order), _taken(where, given[order])


def _device_of(arguments: Iterable[Any]) -> int:
    """The number of the device of the first array among arguments."""
    for value in arguments:
        if isinstance(value, CudaArray):
            return int(value.block.device)
        if isinstance(value, list | tuple) and value:
            return _device_of(value)
    return int(driver().current)


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
    if not hasattr(made, "strides"):
        return made
    result = where.allocate(*dense(tuple(made.shape), np.dtype(made.dtype), [made]))
    driver().as_cupy(result)[...] = made
    return result


def argsort(where: CudaBackend, array: CudaArray, dim: int, descending: bool) -> CudaArray:
    """The stable order of a dimension."""
    if array.dtype.kind == "b":
        array = where.converted(array, np.dtype(np.uint8))
    with _library(array.block.device):
        return _taken(where, _order(_given(array), dim, descending))


def _order(array: Any, dim: int, descending: bool) -> Any:
    """Descending it is the order of what is reversed, reversed: equal elements keep theirs."""
    if not descending:
        return array.argsort(dim, kind="stable")
    backwards = (*(slice(None),) * dim, slice(None, None, -1))
    turned = array[backwards].argsort(dim, kind="stable")
    return array.shape[dim] - 1 - turned[backwards]


class Namespace:
    """NumPy's functions by name, on arrays of the device: CuPy's on a GPU."""

    def __init__(self, where: CudaBackend):
        self._where = where

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(np, name)

        def call(*arguments: Any, **options: Any) -> Any:
            with _library(_device_of(arguments)):
                given = [_given(x) for x in arguments]
                return _taken(self._where, function(*given, **options))

        return call
