"""A second backend, in one file: arrays of a class of their own, and kernels that run as Python.

``PythonArray`` holds memory that only this file reads. NumPy must not: whoever asks it for an
ndarray, or calls a function of NumPy on it, gets ``ReadByNumPy``, which no caller catches. What is
computed is planned as on the CPU (``executor/plan``), and each launch runs the Python function of
its kernel. Importing this file registers the device "python"; nothing else knows of it.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from types import SimpleNamespace

import numpy as np

from numbagrad.backend.strided_array import StridedArray
from numbagrad.codegen import addresses
from numbagrad.executor.cache import library
from numbagrad.executor.plan import lowering
from numbagrad.executor.plan.forms import bounds, dense
from numbagrad.executor.plan.views import Number
from numbagrad.executor.planned_backend import PlannedBackend
from numbagrad.kernels.pointwise.source import loaded_as


class ReadByNumPy(Exception):
    """Memory of this backend was read past it."""


class _Block:
    """A block of memory."""

    def __init__(self, nbytes):
        self.cells = ctypes.create_string_buffer(max(nbytes, 1))
        self.address = ctypes.addressof(self.cells)


class PythonArray(StridedArray):
    """Describes itself and makes views as an ndarray does; its elements are the backend's."""

    __slots__ = ()

    # --- what nobody may do ---

    def _refuse(self, *arguments, **options):
        raise ReadByNumPy(f"elements of {self!r} were read past its backend")

    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __setitem__ = __iter__ = __bool__ = __int__ = __float__ = __index__ = __contains__ = _refuse
    __array_interface__ = __array_struct__ = property(_refuse)

    def __getattr__(self, name):
        if hasattr(np.ndarray, name):
            raise ReadByNumPy(f"{name!r} of an array was asked for, which only ndarrays have")
        raise AttributeError(name)

    def __repr__(self):
        return f"PythonArray(shape={self.shape}, strides={self.strides}, dtype={self.dtype})"


class PythonBackend(PlannedBackend):
    """Everything that this device can do."""

    device_type = "python"
    array_class = PythonArray
    runs = Counter()  # of programs, and of operations by themselves
    passes = ("elements", "checks_first", "copies", "dead", "loops", "dead")
    namespace = property(lambda self: _Namespace)

    # --- memory ---

    def allocate(self, shape, strides, dtype):
        low, high = bounds(SimpleNamespace(shape=shape, strides=strides, dtype=dtype))
        assert low == 0
        return PythonArray(_Block(high), 0, shape, strides, dtype)

    def from_host(self, array):
        form = dense(array.shape, array.dtype, [array])
        made = self.allocate(*form)
        self._on_host(made)[...] = array
        return made

    def to_host(self, array):
        form = dense(array.shape, array.dtype, [array])
        host = np.ndarray(form.shape, form.dtype, None, 0, form.strides)
        host[...] = self._on_host(array)
        return host

    def _on_host(self, array):
        """An ndarray of the same memory, which stays in this file."""
        cells = (ctypes.c_char * len(array.block.cells)).from_buffer(array.block.cells)
        return np.ndarray(array.shape, array.dtype, cells, array._offset, array.strides)

    # --- how ---

    def kernel(self, module, name, total, words):
        with library.as_python():
            kernel = library.hand_written(module, name)
        packed = [self.address(x) if isinstance(x, PythonArray) else x for x in words]
        packed = np.array(packed, dtype=np.int64)
        addresses.run_kernel(kernel, packed.ctypes.data, 0, total)

    def prepare(self, operations):
        with library.as_python():
            launches = [x for operation in operations for x in lowering.lower(operation)]

        def run(arrays, numbers):
            self.runs["program"] += 1
            starts = {id(x): self.address(array) - at for x, (array, at) in arrays.items()}
            self._launch(launches, lambda memory: starts[id(memory)], numbers)

        return run

    def run(self, operation):
        self.runs["operation"] += 1
        with library.as_python():
            launches = lowering.lower(operation)
        self._launch(launches, lambda memory: memory.address)

    def _launch(self, launches, start_of, numbers=()):
        """Run launches, one after another."""
        scratch = {}  # launches hand partial results to one another
        for launch in launches:
            words = launch.args
            for word, memory, offset in launch.addresses:
                if memory.is_scratch:
                    address = scratch.setdefault(id(memory), _Block(memory.nbytes)).address
                else:
                    address = start_of(memory)
                words[word] = address + offset
            cells = [_cell(number, dtype, numbers) for _, number, dtype in launch.numbers]
            for (word, _, _), cell in zip(launch.numbers, cells, strict=True):
                words[word] = cell.ctypes.data
            addresses.run_kernel(launch.kernel, words.ctypes.data, 0, launch.total)


def _cell(number, dtype, numbers):
    """A number, which a program may be given anew at each run, where a kernel reads it."""
    value = numbers[number.index] if isinstance(number, Number) else number
    return np.array([value], loaded_as(dtype))


class _Namespace:
    """Functions under NumPy's names."""

    @staticmethod
    def flip(array, axis):
        return BACKEND.from_host(np.flip(BACKEND.to_host(array), axis).copy())

    @staticmethod
    def nonzero(array):
        return tuple([BACKEND.from_host(x) for x in BACKEND.to_host(array).nonzero()])


BACKEND = PythonBackend()
