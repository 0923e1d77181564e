"""The backend ``cuda``: the entries of the seam (``backend/interface.py``) on a GPU.

What is computed is planned as on the CPU (``executor/plan``) and becomes launches of kernels in
``cuda/kernels``; ``lowering`` has the table. Importing this module registers the device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from .. import backend
from ..dtype import from_numpy
from ..executor.plan.forms import Form, contiguous, dense_of
from ..executor.plan.operations import Operation
from ..executor.plan.sharing import bounds
from ..executor.planned_backend import PlannedBackend
from ..tensor.dlpack import DLDeviceType, capsule_from, memory_of
from . import (
    asserts,
    attention,
    foreach,
    hand_written,
    indexing,
    launches,
    library,
    philox,
    recurrent,
    windows,
)
from .array import Adopted, CudaArray, adopted
from .driver import driver
from .driver.memory import is_pinned
from .forwards import function_of
from .lowering import lower

Shape = tuple[int, ...]


class CudaBackend(PlannedBackend):
    """Everything that GPUs can do.

    Attributes:
        device_index: the device of new arrays; None means the current one.
    """

    device_type = "cuda"
    array_class = CudaArray
    passes = ("elements", "checks_first", "copies", "dead")
    generator_class = philox.Generator
    multiplied = ("float16", "bfloat16", "float32", "float64")  # halves are summed in float32

    def __init__(self, device_index: int | None = None):
        self.device_index = device_index

    hosts = True

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
        return self._upload(array, False)

    def _upload(self, array: np.ndarray[Any, Any], later: bool) -> CudaArray:
        form = dense_of(array)
        host = array
        if form.strides != array.strides:
            host = np.ndarray(form.shape, form.dtype, None, 0, form.strides)
            host[...] = array
        made = self.allocate(*form)
        foreach.flush()
        position = made.address, host.ctypes.data, host.nbytes
        if later:
            driver().upload_later(*position, host, made.block.device)
        else:
            driver().upload(*position, made.block.device)
        return made

    def constant(self, array: np.ndarray[Any, Any]) -> CudaArray:
        """See :class:`Backend`: an upload that nobody waits for."""
        return self._upload(array, not is_pinned(array))  # pinned memory may be written again

    def from_host_later(self, array: np.ndarray[Any, Any]) -> CudaArray:
        """See :class:`Backend`: pinned memory without gaps is read when the stream gets there."""
        form = dense_of(array)
        if form.strides != array.strides or not is_pinned(array):
            return self.from_host(array)
        made = self.allocate(*form)
        position = made.address, array.ctypes.data, array.nbytes
        foreach.flush()
        driver().upload_later(*position, array, made.block.device)
        return made

    def pinned(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A copy of an ndarray in memory of the host that is locked until nobody holds it."""
        form = dense_of(array)
        memory = np.asarray(driver().allocate_pinned(max(array.nbytes, 1)))
        made = np.ndarray(form.shape, form.dtype, memory, 0, form.strides)
        made[...] = array
        return made

    def adopt(self, described: Any) -> CudaArray:
        """The memory of an object with ``__cuda_array_interface__``, which stays its owner.

        Raises:
            TypeError: for elements that no tensor has.
        """
        given = described.__cuda_array_interface__
        dtype = np.dtype(given["typestr"])
        from_numpy(dtype)
        shape = tuple(given["shape"])
        strides = given.get("strides") or contiguous(shape, dtype).strides
        address = int(given["data"][0])
        index = driver().device_of(address) if address else driver().current
        stream = given.get("stream")
        if stream is not None:
            driver().queue_behind(stream, index, index)
        return adopted(address, Form(shape, tuple(strides), dtype), index, described)

    def from_dlpack(self, source: Any) -> CudaArray:
        """The memory of an object with ``__dlpack__`` on a GPU, behind whose making ours waits.

        Raises:
            BufferError: for elements that no tensor has.
            ValueError: for negative strides.
        """
        index = int(source.__dlpack_device__()[1])
        capsule = capsule_from(source, stream=driver().stream(index) or 1)
        made = memory_of(capsule, DLDeviceType.kDLCUDA)
        form = Form(made.shape, made.strides, made.dtype.numpy)
        return adopted(made.address, form, index, made.owner)

    def to_host(self, array: CudaArray) -> np.ndarray[Any, Any]:
        """See :class:`Backend`: one download, of a copy if the elements do not lie side by side."""
        form = dense_of(array)
        if form.strides != array.strides and array.size > 1:
            array = self.copied_to(form, array)
        host = np.ndarray(form.shape, form.dtype, None, 0, form.strides)
        foreach.flush()
        driver().download(host.ctypes.data, array.address, host.nbytes, array.block.device)
        asserts.raise_failure()
        return host

    def to_host_later(self, array: CudaArray) -> np.ndarray[Any, Any]:
        """See :class:`Backend`: to pinned memory, which the stream writes when it gets there."""
        form = dense_of(array)
        if form.strides != array.strides and array.size > 1:
            array = self.copied_to(form, array)
        memory = np.asarray(driver().allocate_pinned(max(array.nbytes, 1)))
        host = np.ndarray(form.shape, form.dtype, memory, 0, form.strides)
        foreach.flush()
        position = host.ctypes.data, array.address, host.nbytes
        driver().download_later(*position, host, array.block.device)
        return host

    def new(self, form: Form, like: CudaArray) -> CudaArray:
        """See :class:`PlannedBackend`: on the device of that array, whichever is current."""
        return self._new(form, like.block.device)

    def copy(self, target: CudaArray, source: CudaArray) -> None:
        """See :class:`Backend`; between two devices as well."""
        if target.size and target.block.device != source.block.device:
            self._copy_between(target, source)
        else:
            super().copy(target, source)

    def _copy_between(self, target: CudaArray, source: CudaArray) -> None:
        """A copy to another device: moved by the driver, converted there."""
        own = self.in_order(source)
        foreach.flush()
        there = self._new(contiguous(source.shape, source.dtype), target.block.device)
        devices = own.block.device, there.block.device
        driver().move(there.address, own.address, own.nbytes, *devices)
        self.copy(target, there)

    def synchronise(self) -> None:
        """See :class:`Backend`."""
        foreach.flush()
        driver().synchronise()
        asserts.raise_failure()

    def walking_from(self, array: CudaArray) -> AbstractContextManager[None]:
        """See :class:`Backend`: a backward runs on the stream on which its root was made."""
        return foreach.on_stream(array.block.device, getattr(array.block, "stream", None))

    def record_stream(self, array: CudaArray, stream: Any) -> None:
        """Keep the memory of an array until the work of a stream is done that uses it."""
        if not isinstance(array.block, Adopted):  # which its owner gives back
            array.block.used_on(stream.cuda_stream)

    def together(self) -> AbstractContextManager[None]:
        """See :class:`Backend`."""
        return foreach.together()

    # --- kernels ---

    def kernel(self, module: str, name: str, total: int, launch_args: Sequence[Any]) -> None:
        """See :class:`Backend`."""
        hand_written.run_kernel(module, name, total, launch_args)

    def check(self, kernel: Any, total: int, launch_args: Sequence[Any], subject: str) -> bool:
        """See :class:`Backend` and ``asserts.py``."""
        hand_written.run_check(kernel.name, total, launch_args, subject)
        if asserts.is_blocking():
            self.synchronise()
        return True

    def matmul(self, a: CudaArray, b: CudaArray) -> CudaArray:
        """See :class:`Backend`: large products by cuBLAS."""
        if library.multiplies(a, b):
            return library.product(self, a, b)
        made: CudaArray = super().matmul(a, b)
        return made

    def scatter_add(self, output: CudaArray, dim: int, index: CudaArray, source: CudaArray) -> None:
        """See :class:`Backend`; in the order of the indices, so that bits do not change."""
        self.by_parts(indexing.write_elements, indexing.ADD, output, dim, index, source)

    def index_add(self, output: CudaArray, dim: int, index: CudaArray, source: CudaArray) -> None:
        """See :class:`Backend`; in the order of the indices."""
        self.by_parts(indexing.write, indexing.ADD, output, dim, index, source)

    def index_copy(self, output: CudaArray, dim: int, index: CudaArray, source: CudaArray) -> None:
        """See :class:`Backend`."""
        self.by_parts(indexing.write, indexing.COPY, output, dim, index, source)

    def sorted(self, index: CudaArray) -> tuple[CudaArray, CudaArray]:
        """Which element of a vector each of the sorted ones is, equal ones in order; and these."""
        return library.sorted_with_order(self, index)

    def window(self, name: str, arrays: Sequence[Any], options: Mapping[str, Any]) -> CudaArray:
        """See :class:`Backend`."""
        return windows.window(self, name, arrays, options)

    def random(
        self, name: str, draw: Callable[..., None], array: CudaArray, arguments: tuple[Any, ...]
    ) -> None:
        """See :class:`Backend`: by generators of the device."""
        assert isinstance(draw, functools.partial)
        philox.fill(self, name, draw.args[0], array, arguments)

    def drawn(self, one: Callable[..., float], arrays: Sequence[Any], generator: Any) -> CudaArray:
        """See :class:`Backend`: a thread for each element, with numbers of its own."""
        return philox.drawn(self, one, arrays, generator)

    def takes_attention(self, arrays: Sequence[Any]) -> bool:
        """See :class:`Backend`."""
        return attention.takes(arrays)

    def attention(self, *operands: Any) -> tuple[CudaArray, CudaArray]:
        """See :class:`Backend`: no matrix of scores, nor a sum by atomics."""
        return attention.forward(self, *operands)

    def attention_backward(
        self, grad: CudaArray, operands: Sequence[Any], made: CudaArray, logarithms: CudaArray
    ) -> tuple[CudaArray, CudaArray, CudaArray]:
        """See :class:`Backend`."""
        return attention.backward(self, grad, operands, made, logarithms)

    def takes_recurrent(self, arrays: Sequence[Any]) -> bool:
        """See :class:`Backend`."""
        return all([isinstance(x, CudaArray) for x in arrays]) and recurrent.takes(arrays)

    def recurrent(self, *given: Any) -> Any:
        """See :class:`Backend`: two launches a step."""
        return recurrent.forward(self, *given)

    def recurrent_backward(self, *given: Any) -> Any:
        """See :class:`Backend`."""
        return recurrent.backward(self, *given)

    def run_function(self, name: str, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """See :class:`Backend`: as a CUDA function of one thread, so that loops run in order."""
        index = next(x.block.device for x in arrays if isinstance(x, CudaArray))
        foreach.flush()
        driver().run_function(function, arrays, index)

    def argsort(self, array: CudaArray, dim: int, descending: bool) -> CudaArray:
        """See :class:`Backend`."""
        if not array.ndim:
            return self.argsort(array.reshape(1), 0, descending).reshape(())
        return library.argsort(self, array, dim, descending)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """See :class:`Backend`; but for functions that have kernels here (``forwards.py``)."""
        own = function_of(self, function)
        if own is not None:
            return own(*arguments)
        return super().call(function, *arguments)

    def by_parts(self, write: Callable[..., None], how: indexing.How, *given: Any) -> None:
        """A write at indices, of complex numbers part by part, of bools as integers."""
        output, dim, index, source = given
        if output.dtype.kind == "c":
            write(self, how, output.real, dim, index, self.copied(source.real))
            write(self, how, output.imag, dim, index, self.copied(source.imag))
        elif output.dtype.kind == "b" and how != indexing.COPY:
            wide = self.converted(output, np.dtype(np.int64))
            write(self, how, wide, dim, index, self.converted(source, wide.dtype))
            self.copy(output, wide)
        else:
            write(self, how, output, dim, index, source)

    # --- programs ---

    def prepare(self, operations: Sequence[Operation]) -> Callable[[Mapping[Any, Any], Any], None]:
        """See :class:`Backend`: plain launches, one after another; formulas alike are one.

        Large products that nothing is fused with are calls of cuBLAS between these.
        """
        made: list[foreach.Batch | library.LargeProduct | list[launches.Launch]] = []
        for part in foreach.batches(operations):
            if isinstance(part, foreach.Batch):
                made.append(part)
                continue
            for operation in part:
                if library.LargeProduct.takes(operation):
                    made.append(library.LargeProduct(operation))
                elif made and isinstance(made[-1], list):
                    made[-1] += lower(operation)
                else:
                    made.append(lower(operation))

        def run(arrays: Mapping[Any, tuple[CudaArray, int]], numbers: Any) -> None:
            starts = {id(x): array.address - at for x, (array, at) in arrays.items()}
            index = next(iter(arrays.values()))[0].block.device
            scratch = launches.Scratch(index)

            def start_of(memory: Any) -> int:
                return scratch.address_of(memory) if memory.is_scratch else starts[id(memory)]

            for part in made:
                if isinstance(part, foreach.Batch):
                    part.run(start_of, numbers)
                elif isinstance(part, library.LargeProduct):
                    part.run(start_of, index)
                else:
                    launches.run(part, start_of, numbers, index, scratch)

        return run

    def run(self, operation: Operation) -> None:
        """Run one operation on the memory that its views lie in."""
        if foreach.keeps(operation):
            return
        index = _device_of(next(operation.writes).memory.array)
        launches.run(lower(operation), lambda memory: memory.address, (), index)


@functools.cache
def _on(index: int) -> CudaBackend:
    return CudaBackend(index)


def _device_of(array: Any) -> int:
    """The number of the device that an array is on."""
    return int(array.block.device)


BACKEND = CudaBackend()
backend.register(BACKEND)
philox.default_generators()
