"""The backend ``cuda``: the entries of the seam (``backend/interface.py``) on a GPU.

What is computed is planned as on the CPU (``executor/plan``) and becomes launches of kernels in
``cuda/kernels``; ``lowering`` has the table. Importing this module registers the device.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import backend
from .. import half_precision as half
from ..dtype import computed_as, from_numpy
from ..executor.conversion import program as conversion
from ..executor.plan import result_forms
from ..executor.plan.direct import view_of
from ..executor.plan.dtypes import code_of
from ..executor.plan.forms import Form, broadcast, contiguous, dense
from ..executor.plan.operations import Operation, Pointwise, Product, Reduce, Rowwise, View
from ..executor.plan.sharing import bounds
from ..formula import Formula, constant, symbol
from . import indexing, launches, library
from .array import CudaArray
from .driver import driver
from .lowering import lower

Shape = tuple[int, ...]


@functools.cache
def _taken(name: str = "x") -> Formula:
    """The formula of a copy."""
    return Formula((name,), [symbol(name)])


class CudaBackend(backend.Backend):
    """Everything that GPUs can do.

    Attributes:
        device_index: the device of new arrays; None means the current one.
    """

    device_type = "cuda"
    array_class = CudaArray
    passes = ("elements", "checks_first", "copies", "dead")

    def __init__(self, device_index: int | None = None):
        self.device_index = device_index

    @property
    def namespace(self) -> Any:
        """See :class:`Backend`."""
        return library.Namespace(self)

    def forward_of(self, operator: Any) -> Callable[..., Any] | None:
        """See :class:`Backend`."""
        return library.forward_of(self, operator)

    # --- devices ---

    def index_of(self, array: CudaArray) -> int:
        """See :class:`Backend`."""
        return int(array.block.device)

    def on(self, index: int | None) -> CudaBackend:
        """The same for new arrays of one device.

        Raises:
            RuntimeError: torch's, for a device that is not there.
        """
        if index is None or index == self.device_index:
            return self
        count = driver().device_count
        if index >= count:
            raise RuntimeError(
                "CUDA error: invalid device ordinal: there "
                f"{'is 1 device' if count == 1 else f'are {count} devices'}, cuda:0 the first, "
                f"but got cuda:{index}"
            )
        return self if count == 1 else _on(index)

    def holds(self, array: Any) -> bool:
        """See :class:`Backend`."""
        index = driver().current if self.device_index is None else self.device_index
        return isinstance(array, CudaArray) and array.block.device == index

    # --- memory ---

    def allocate(self, shape: Shape, strides: Shape, dtype: np.dtype[Any]) -> CudaArray:
        """See :class:`Backend`. Raises OutOfMemoryError without memory."""
        index = self.device_index
        return self._new(Form(shape, strides, dtype), driver().current if index is None else index)

    def _new(self, form: Form, index: int) -> CudaArray:
        """A new array of a form on a device."""
        low, high = bounds(form)
        assert low == 0
        return CudaArray(driver().allocate(high, index), 0, form.shape, form.strides, form.dtype)

    def from_host(self, array: np.ndarray[Any, Any]) -> CudaArray:
        """See :class:`Backend`: one upload."""
        form = dense(array.shape, array.dtype, [array])
        host = np.ndarray(form.shape, form.dtype, None, 0, form.strides)
        host[...] = array
        made = self.allocate(*form)
        driver().upload(made.address, host.ctypes.data, host.nbytes, made.block.device)
        return made

    def to_host(self, array: CudaArray) -> np.ndarray[Any, Any]:
        """See :class:`Backend`: one download, of a copy if the elements do not lie side by side."""
        form = dense(array.shape, array.dtype, [array])
        if form.strides != array.strides and array.size > 1:
            array = self._copied_to(form, array)
        host = np.ndarray(form.shape, form.dtype, None, 0, form.strides)
        driver().download(host.ctypes.data, array.address, host.nbytes, array.block.device)
        return host

    def view(self, array: CudaArray, shape: Shape, strides: Shape, offset: int) -> CudaArray:
        """See :class:`Backend`."""
        return array.view_of(shape, strides, offset)

    def address(self, array: CudaArray) -> int:
        """See :class:`Backend`."""
        return array.address

    def fill(self, array: CudaArray, number: Any) -> None:
        """See :class:`Backend`."""
        if array.dtype.kind == "c":
            number = complex(number)
            self.fill(array.real, number.real)
            self.fill(array.imag, number.imag)
        elif array.size:
            element = half.readable(half.converted(np.array(number), array.dtype)).item()
            filled = Formula((), [constant(element)])
            self.run(Pointwise("fill", filled, (), (_view(array),), _computed(array), ()))

    def copy(self, target: CudaArray, source: CudaArray) -> None:
        """See :class:`Backend`."""
        if not target.size:
            return
        kinds = target.dtype.kind, source.dtype.kind
        if target.block.device != source.block.device:
            self._copy_between(target, source)
        elif kinds == ("c", "c"):
            source = self._apart(source, target)
            self.copy(target.real, source.real)
            self.copy(target.imag, source.imag)
        elif kinds[0] == "c":
            self.copy(target.real, source)
            self.fill(target.imag, 0)
        elif kinds[1] == "c":
            self.copy(target, source.real)
        elif target.dtype != source.dtype:
            self.pointwise(conversion(), (source,), target)
        else:
            views = (_view(self._apart(source, target)),), (_view(target),)
            self.run(Pointwise("copy", _taken(), *views, _computed(target), (None,)))

    def _copy_between(self, target: CudaArray, source: CudaArray) -> None:
        """A copy to another device: converted there, moved by the driver."""
        form = contiguous(source.shape, source.dtype)
        own = source if source.flags.c_contiguous else self._copied_to(form, source)
        there = self._new(form, target.block.device)
        driver().move(there.address, own.address, own.nbytes, own.block.device)
        self.copy(target, there)

    def copied(self, array: CudaArray, order: str = "C") -> CudaArray:
        """A new array of the same elements on the same device, in C order or in theirs."""
        if order == "C":
            return self._copied_to(contiguous(array.shape, array.dtype), array)
        return self._copied_to(dense(array.shape, array.dtype, [array]), array)

    def _copied_to(self, form: Form, array: CudaArray) -> CudaArray:
        made = self._new(form, array.block.device)
        self.copy(made, array)
        return made

    def in_order(self, array: CudaArray) -> CudaArray:
        """The array, or a copy of it in C order."""
        return array if array.flags.c_contiguous else self.copied(array)

    def converted(self, array: CudaArray, dtype: np.dtype[Any]) -> CudaArray:
        """A new array of the same elements in another dtype, in C order."""
        return self._copied_to(contiguous(array.shape, dtype), array)

    def _apart(self, operand: CudaArray, output: CudaArray) -> CudaArray:
        """An operand, copied if it lies in the memory of the output otherwise than that does."""
        if operand.block is not output.block:
            return operand
        same = ("address", "shape", "strides", "dtype")
        if all([getattr(operand, name) == getattr(output, name) for name in same]):
            return operand
        return self.copied(operand)

    def synchronise(self) -> None:
        """See :class:`Backend`."""
        driver().synchronise()

    # --- families of kernels ---

    def pointwise(self, program: Any, operands: tuple[Any, ...], into: Any) -> Any:
        """See :class:`Backend`."""
        program.prepare()
        compute, forms = result_forms.pointwise(program, operands, into)
        index = self.index_of(next(x for x in (*operands, into) if isinstance(x, CudaArray)))
        outputs = tuple([self._new(x, index) for x in forms]) if into is None else (into,)
        rules = program.rules
        narrow = rules.rounded([code_of(x, len(forms[0].shape)) for x in operands])
        views: list[Any] = []
        numbers: list[str | None] = []
        for place, operand in enumerate(operands):
            if isinstance(operand, CudaArray):
                if narrow is not None and operand.dtype != narrow.numpy:
                    operand = self.converted(operand, narrow.numpy)
                views.append(_view(operand if into is None else self._apart(operand, into)))
                numbers.append(None)
            else:
                views.append(operand.item() if isinstance(operand, np.ndarray) else operand)
                numbers.append(rules.number(place, compute).name)
        if outputs[0].size:
            made = tuple([_view(x) for x in outputs])
            self.run(
                Pointwise(program.name, program.formula, tuple(views), made, compute.name,
                          tuple(numbers), eager=True)
            )  # fmt: skip
        if into is not None:
            return None
        return outputs[0] if len(outputs) == 1 else outputs

    def reduce(
        self,
        program: Any,
        array: CudaArray,
        mask: int,
        keepdim: bool,
        shift: CudaArray | None = None,
        parameters: Any = None,
    ) -> Any:
        """See :class:`Backend`."""
        mask = int(mask) & ((1 << array.ndim) - 1)
        forms = result_forms.reduction(program, array, mask, bool(keepdim))
        outputs = [self._new(form, array.block.device) for form in forms]
        self.run(
            Reduce(
                program, _view(array), mask, bool(keepdim),
                None if shift is None else _view(self.in_order(shift)), _view(outputs[0]),
                None if parameters is None else float(parameters[0]),
                _view(outputs[1]) if len(outputs) > 1 else None,
            )
        )  # fmt: skip
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def rowwise(self, program: Any, dim: int, *arrays: CudaArray) -> Any:
        """See :class:`Backend`."""
        arrays = tuple([self.in_order(x) for x in arrays])
        forms = result_forms.rowwise(program, arrays[0])
        outputs = [self._new(form, arrays[0].block.device) for form in forms]
        if arrays[0].size:
            views = [tuple([_view(x) for x in each]) for each in (arrays, outputs)]
            self.run(Rowwise(program, dim, *views))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def matmul(self, a: CudaArray, b: CudaArray) -> CudaArray:
        """See :class:`Backend`; float16 and bfloat16 too, summed in float32."""
        if a.dtype != b.dtype or from_numpy(a.dtype).name not in _MULTIPLIED:
            self.refuse(f"matmul of {from_numpy(a.dtype).name}")
        batch = broadcast([a.shape[:-2], b.shape[:-2]])
        a, b = [self._stack(x, batch) for x in (a, b)]
        form = contiguous((*a.shape[:-1], b.shape[-1]), a.dtype)
        made = self._new(form, a.block.device)
        self.run(Product(_view(a), _view(b), _view(made)))
        return made.reshape((*batch, *made.shape[-2:]))

    def _stack(self, array: CudaArray, batch: Shape) -> CudaArray:
        """An array with one dimension of samples, those of ``batch``."""
        expanded = _view(array).expanded((*batch, *array.shape[-2:]))
        whole = array.view_of(expanded.shape, expanded.strides)
        return whole.reshape((math.prod(batch), *array.shape[-2:]))

    def kernel(self, module: str, name: str, total: int, words: Sequence[Any]) -> None:
        """See :class:`Backend`."""
        indexing.run_word_kernel(module, name, total, words)

    def gather(self, array: CudaArray, dim: int, index: CudaArray) -> CudaArray:
        """See :class:`Backend`."""
        return indexing.gather(self, array, dim, index)

    def index_select(self, array: CudaArray, dim: int, index: CudaArray) -> CudaArray:
        """See :class:`Backend`."""
        return indexing.index_select(self, array, dim, index)

    def scatter_add(self, output: CudaArray, dim: int, index: CudaArray, source: CudaArray) -> None:
        """See :class:`Backend`; in the order of the indices, so that bits do not change."""
        indexing.scatter_add(self, output, dim, index, source)

    def index_add(self, output: CudaArray, dim: int, index: CudaArray, source: CudaArray) -> None:
        """See :class:`Backend`; in the order of the indices."""
        indexing.index_add(self, output, dim, index, source)

    # --- programs ---

    def prepare(self, operations: Sequence[Operation]) -> Callable[[Mapping[Any, Any], Any], None]:
        """See :class:`Backend`: plain launches, one after another."""
        made = [x for operation in operations for x in lower(operation)]

        def run(arrays: Mapping[Any, tuple[CudaArray, int]], numbers: Any) -> None:
            starts = {id(x): array.address - at for x, (array, at) in arrays.items()}
            index = next(iter(arrays.values()))[0].block.device
            launches.run(made, lambda memory: starts[id(memory)], numbers, index)

        return run

    def run(self, operation: Operation) -> None:
        """Run one operation on the memory that its views lie in."""
        index = _device_of(next(operation.writes).memory.array)
        launches.run(lower(operation), lambda memory: memory.address, (), index)


#: Dtypes of which there are products.
_MULTIPLIED = ("float16", "bfloat16", "float32", "float64")


@functools.cache
def _on(index: int) -> CudaBackend:
    return CudaBackend(index)


def _device_of(array: Any) -> int:
    """The number of the device that an array is on."""
    return int(array.block.device)


def _view(array: Any) -> View:
    """An array as a view of its memory, as operations have it."""
    return view_of(array)


def _computed(array: CudaArray) -> str:
    return computed_as(from_numpy(array.dtype)).name


BACKEND = CudaBackend()
copied = BACKEND.copied
backend.register(BACKEND)
