"""The array of a sparse Tensor, in the place of an ndarray: places, values at these, a shape.

It says its shape and dtype, and nothing else that an ndarray says: whoever would read or write it
as if it were dense gets torch's error, whatever it reads. ``numbagrad/sparse/`` computes with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import prod
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from ..backend import foreign

__all__ = ["Places", "SparseArray", "SparseRead", "could_not_run"]

Array = np.ndarray[Any, Any]

_OURS = __name__.partition(".")[0]
#: Files that lead to a public function, of which none is one.
_WAYS = (f"{_OURS}.dispatch", f"{_OURS}.tensor.sparse_array", f"{_OURS}.ops.arguments.check")


class SparseRead(NotImplementedError):
    """A sparse Tensor was met by what knows dense ones alone; nothing was written before that."""


class Places:
    """Where values of a sparse Tensor are; never changed, and shared by all that have them there.

    Attributes:
        indices: int64, (sparse dimensions, nnz): a column for each place.
        sizes: of the sparse dimensions, which are the first ones.
        coalesced: whether the places are in order, and none is there twice.
        compressed: (crow_indices, col_indices) of a matrix in the layout CSR, else None.
    """

    __slots__ = ("_kept", "coalesced", "compressed", "indices", "sizes")

    def __init__(
        self,
        indices: Array,
        sizes: tuple[int, ...],
        coalesced: bool = False,
        compressed: tuple[Array, Array] | None = None,
    ) -> None:
        self.indices = indices
        self.sizes = tuple(sizes)
        self.coalesced = coalesced or indices.shape[1] < 2
        self.compressed = compressed
        self._kept: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Places, (self.indices, self.sizes, self.coalesced, self.compressed)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.indices.shape[1]

    def keep(self, name: Any, compute: Callable[[], Any]) -> Any:
        """The result of ``compute``, which finds out something about the places, once."""
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]


class SparseArray:
    """The elements of a sparse Tensor; those of no place are 0.

    Attributes:
        places: where the others are.
        values: (nnz, sizes of the dense dimensions), an ndarray.
        shape: of the whole, sparse dimensions first.
    """

    __slots__ = ("places", "shape", "values")

    base = None
    flags = SimpleNamespace(c_contiguous=True, carray=False, writeable=True)
    __array_ufunc__ = None

    def __init__(self, places: Places, values: Any) -> None:
        self.places = places
        self.values = values
        self.shape = (*places.sizes, *values.shape[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseArray, (self.places, self.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        found: np.dtype[Any] = self.values.dtype
        return found

    @property
    def ndim(self) -> int:
        """Number of dimensions, sparse and dense ones."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements, most of them of no place."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of a value."""
        return self.dtype.itemsize

    def duplicate(self) -> SparseArray:
        """The same places with a copy of the values."""
        return SparseArray(self.places, self.values.copy())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__array__", "__array_interface__"):
            raise AttributeError(name)  # Python's own questions
        raise could_not_run(self)

    def _refuse(self, *arguments: Any, **options: Any) -> NoReturn:
        raise could_not_run(self)

    __array__ = __array_function__ = __len__ = __iter__ = __getitem__ = __setitem__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = __buffer__ = _refuse


def could_not_run(array: SparseArray, name: str = "") -> SparseRead:
    """Torch's error for an operator that knows no sparse tensors; its name is found if not given.

    That is the function of this library that the program called.
    """
    frame, called = sys._getframe(1), ""
    while not name and frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_OURS):
            break
        if not module.startswith(_WAYS):
            called = frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]
    backend = "SparseCPU" if array.places.compressed is None else "SparseCsrCPU"
    operator = (name or called).strip("_") or "an operator"
    return SparseRead(
        f"Could not run 'aten::{operator}' with arguments from the '{backend}' backend: "
        "numbagrad has no such operator for sparse tensors; make them dense with to_dense() first"
    )


def on_the_cpu_alone(name: str, device: Any) -> NotImplementedError:
    """The error of a function that would make a sparse tensor of another device."""
    return NotImplementedError(
        f"{name}(): numbagrad has sparse tensors on the CPU only, not on the device '{device}'; "
        "what is dense, as to_dense() makes it, is on all devices"
    )


def require_cpu(name: str, array: Any) -> None:
    """Raise that error for an array of another device."""
    where = foreign(array)
    if where is not None:
        raise on_the_cpu_alone(name, where.device_type)
