"""The device ``meta``: arrays that have a form and no memory, so that nothing is computed of them.

Models are made there before it is known where their parameters are to lie, and shapes and dtypes of
calls are learnt there. Families of kernels plan their results as on every device
(``planned_backend.py``) and run nothing; a forward that knows ndarrays alone runs on zeros of the
same form, for the form of what it returns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from .. import backend
from ..backend.strided_array import StridedArray
from ..dtype import DTYPES
from .plan.forms import Form, bounds, contiguous, dense_of
from .planned_backend import PlannedBackend

__all__ = ["BACKEND", "MetaArray", "MetaBackend"]

Shape = tuple[int, ...]
#: Functions of NumPy whose results have as many elements as values decide.
_BY_VALUES = frozenset(("argwhere", "flatnonzero", "nonzero", "unique"))


class _Block:
    """Bytes that nobody holds: an address that no other block has, and their number."""

    _next = itertools.count(1)

    def __init__(self, nbytes: int) -> None:
        self.address, self.nbytes = next(self._next) << 48, nbytes


class MetaArray(StridedArray):
    """A form, and the block in which views of one another lie."""

    __slots__ = ()


class MetaBackend(PlannedBackend):
    """Plans what each call makes, and computes none of it."""

    device_type = "meta"
    array_class = MetaArray
    hosts = True
    has_elements = False
    multiplied = tuple([each.name for each in DTYPES])

    @property
    def namespace(self) -> Any:
        """See :class:`Backend`."""
        return _Namespace()

    # --- memory ---

    def allocate(self, shape: Shape, strides: Shape, dtype: np.dtype[Any]) -> MetaArray:
        """See :class:`Backend`."""
        _, high = bounds(Form(shape, strides, dtype))
        return MetaArray(_Block(high), 0, shape, strides, dtype)

    def from_host(self, array: np.ndarray[Any, Any]) -> MetaArray:
        """See :class:`Backend`: the form, as that of all copies."""
        return self.allocate(*dense_of(array))

    def to_host(self, array: Any) -> NoReturn:
        """Raise: there are no elements.

        Raises:
            NotImplementedError: torch's.
        """
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() "
            "instead of torch.nn.Module.to() when moving module from meta to a different device; "
            "a call whose result depends on values does not run on meta tensors."
        )

    def fill(self, array: Any, number: Any) -> None:
        """Nothing: there are no elements."""

    def copy(self, target: Any, source: Any) -> None:
        """Nothing: there are no elements."""

    def apart(self, operand: Any, output: Any) -> Any:
        """The operand: nothing is read."""
        return operand

    # --- what is computed ---

    def run(self, operation: Any) -> None:
        """Nothing: results have their form."""

    def kernel(self, module: str, name: str, total: int, launch_args: Sequence[Any]) -> None:
        """Nothing: results have their form."""

    def check(self, kernel: Any, total: int, launch_args: Sequence[Any], subject: str) -> bool:
        """True: no element can be wrong."""
        return True

    def _downloaded(self, value: Any) -> Any:
        """Zeros in the place of an array, for :meth:`call`: their pages take no memory.

        Square matrices are the identity, which can be solved, inverted and decomposed, and numbers
        of int32 are 1, as pivots are rows that are counted from 1.
        """
        if not isinstance(value, MetaArray):
            return super()._downloaded(value)
        form = dense_of(value)
        zeros = np.zeros(max(value.nbytes, 1), np.uint8)
        made: np.ndarray[Any, Any] = np.ndarray(form.shape, form.dtype, zeros, 0, form.strides)
        if made.ndim > 1 and made.shape[-1] == made.shape[-2] and made.dtype.kind in "fc":
            np.einsum("...ii->...i", made)[...] = 1
        elif made.dtype == np.int32:
            made[...] = 1
        return made

    def scatter_add(self, output: Any, dim: int, index: Any, source: Any) -> None:
        """Nothing: there are no elements."""

    def index_add(self, output: Any, dim: int, index: Any, source: Any) -> None:
        """Nothing: there are no elements."""

    def index_copy(self, output: Any, dim: int, index: Any, source: Any) -> None:
        """Nothing: there are no elements."""

    def argsort(self, array: Any, dim: int, descending: bool) -> MetaArray:
        """See :class:`Backend`."""
        return self.allocate(*contiguous(array.shape, np.dtype(np.int64)))

    def window(self, name: str, arrays: Sequence[Any], options: Mapping[str, Any]) -> MetaArray:
        """See :class:`Backend`."""
        array, given = arrays[0], SimpleNamespace(**options)
        if name == "convolve":
            form = given.form
            shape = (form.batch, form.groups * form.rows, *form.result)
        elif name == "correlate":
            shape = given.shape
        else:
            shape = (*array.shape[:2], *(given.sizes if name == "spread_sums" else given.counts))
        kind = np.dtype(np.int64) if name == "largest" else array.dtype
        return self.allocate(*contiguous(shape, kind))

    def random(self, name: str, draw: Any, array: Any, arguments: tuple[Any, ...]) -> None:
        """Nothing: no number is drawn."""

    def drawn(self, one: Callable[..., float], arrays: Sequence[Any], generator: Any) -> MetaArray:
        """See :class:`Backend`."""
        return self.allocate(*contiguous(arrays[0].shape, arrays[0].dtype))

    def prepare(self, operations: Sequence[Any]) -> Callable[[Mapping[Any, Any], Any], None]:
        """See :class:`Backend`."""
        return lambda arrays, numbers: None


class _Namespace:
    """NumPy's functions on arrays of this device: the forms of what they return."""

    @staticmethod
    def flip(array: Any, axis: Any) -> MetaArray:
        """A new array in the order of the strides."""
        made: MetaArray = BACKEND.copied(array, "K")
        return made

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(np, name)

        def form_of_result(*arguments: Any, **options: Any) -> Any:
            if name in _BY_VALUES:
                BACKEND.to_host(None)
            return BACKEND.call(lambda *given: function(*given, **options), *arguments)

        return form_of_result


BACKEND = MetaBackend()
backend.register(BACKEND)
