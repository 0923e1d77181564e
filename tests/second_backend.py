"""A second backend, in one file: arrays of a class of their own, and kernels that run as Python.

``PythonArray`` holds memory that only this file reads. NumPy must not: whoever asks it for an
ndarray, or calls a function of NumPy on it, gets ``ReadByNumPy``, which no caller catches. What is
computed is planned as on the CPU (``executor/plan``), and each launch runs the Python function of
its kernel. Importing this file registers the device "python"; nothing else knows of it.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from types import SimpleNamespace

import numpy as np

from numbagrad import backend
from numbagrad import half_precision as half
from numbagrad.codegen import addresses
from numbagrad.dtype import computed_as, from_numpy, name_of
from numbagrad.executor import library
from numbagrad.executor.conversion import program as conversion
from numbagrad.executor.plan import lowering, result_forms
from numbagrad.executor.plan.direct import view_of
from numbagrad.executor.plan.dtypes import code_of
from numbagrad.executor.plan.forms import (
    bounds,
    broadcast,
    contiguous,
    dense,
)
from numbagrad.executor.plan.operations import (
    Number,
    Pointwise,
    Product,
    Reduce,
    Rowwise,
)
from numbagrad.formula import Formula, constant
from numbagrad.kernels.pointwise import loaded_as

_INDEXING = "kernels.indexing"


class ReadByNumPy(Exception):
    """Memory of this backend was read past it."""


class _Block:
    """A block of memory."""

    def __init__(self, nbytes):
        self.cells = ctypes.create_string_buffer(max(nbytes, 1))
        self.address = ctypes.addressof(self.cells)


class PythonArray:
    """Describes itself and makes views as an ndarray does; its elements are the backend's."""

    __slots__ = ("_block", "_offset", "shape", "strides", "dtype", "base", "__weakref__")
    __array_priority__ = 0

    def __init__(self, block, offset, shape, strides, dtype, base=None):
        self._block, self._offset = block, offset
        self.shape, self.strides, self.dtype = tuple(shape), tuple(strides), dtype
        self.base = base if base is None or base.base is None else base.base

    # --- what it is ---

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)

    @property
    def flags(self):
        expected = contiguous(self.shape, self.dtype).strides
        steps = zip(self.shape, self.strides, expected, strict=True)
        dense = not self.size or all(n == 1 or own == step for n, own, step in steps)
        return SimpleNamespace(c_contiguous=dense, writeable=True)

    def __len__(self):
        return self.shape[0]

    # --- views ---

    def _view(self, shape, strides, offset=0, dtype=None):
        place = self._offset + offset
        return PythonArray(self._block, place, shape, strides, dtype or self.dtype, self)

    def view(self, dtype=None):
        assert dtype is None or np.dtype(dtype).itemsize == self.itemsize
        return self._view(self.shape, self.strides, dtype=dtype and np.dtype(dtype))

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = list(axes or range(self.ndim)[::-1])
        return self._view([self.shape[k] for k in order], [self.strides[k] for k in order])

    T = property(lambda self: self.transpose())

    def swapaxes(self, first, second):
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.transpose(order)

    def __getitem__(self, key):
        key = list(key if isinstance(key, tuple) else (key,))
        assert all(x is None or x is Ellipsis or isinstance(x, int | slice) for x in key), key
        missing = self.ndim - sum([x is not None and x is not Ellipsis for x in key])
        place = key.index(Ellipsis) if Ellipsis in key else len(key)
        key[place : place + 1] = [slice(None)] * missing
        shape, strides, offset, dim = [], [], 0, 0
        for entry in key:
            if entry is None:
                shape.append(1), strides.append(0)
                continue
            size, step = self.shape[dim], self.strides[dim]
            dim += 1
            if isinstance(entry, slice):
                chosen = range(size)[entry]
                offset += (chosen.start if len(chosen) else 0) * step
                shape.append(len(chosen)), strides.append(step * chosen.step)
            else:
                offset += range(size)[entry] * step
        return self._view(shape, strides, offset)

    def reshape(self, *shape):
        shape = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        if -1 in shape:
            known = -math.prod(shape)
            shape[shape.index(-1)] = self.size // known if known else 0
        if math.prod(shape) != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {shape}")
        strides = _strides_of_reshaped(self, shape)
        if strides is not None:
            return self._view(shape, strides)
        made = BACKEND.allocate(*contiguous(self.shape, self.dtype))
        BACKEND.copy(made, self)
        return PythonArray(made._block, 0, shape, contiguous(tuple(shape), self.dtype).strides,
                           self.dtype)  # fmt: skip

    def copy(self, order="C"):
        form = contiguous if order == "C" else lambda *given: dense(*given, [self])
        made = BACKEND.allocate(*form(self.shape, self.dtype))
        BACKEND.copy(made, self)
        return made

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


def _strides_of_reshaped(array, shape):
    """The strides of the same memory in another shape; None if it has to be copied."""
    if array.flags.c_contiguous:
        return contiguous(tuple(shape), array.dtype).strides
    old = [(n, s) for n, s in zip(array.shape, array.strides, strict=True) if n != 1]
    strides, place = [], 0
    rest, step = 1, 0  # of the group of old dimensions that is being taken apart
    for size in shape:
        if size == 1:
            strides.append(0)
            continue
        if rest == 1:
            (rest, step), place = old[place], place + 1
            step *= rest
        while rest % size:  # the next old dimension has to follow without a gap
            if place == len(old):
                return None
            more, inner = old[place]
            if step // rest != more * inner:
                return None
            place += 1
            rest, step = rest * more, inner * rest * more
        rest //= size
        step //= size
        strides.append(step)
    return strides


class PythonBackend(backend.Backend):
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
        cells = (ctypes.c_char * len(array._block.cells)).from_buffer(array._block.cells)
        return np.ndarray(array.shape, array.dtype, cells, array._offset, array.strides)

    def view(self, array, shape, strides, offset):
        return array._view(shape, strides, offset)

    def address(self, array):
        return array._block.address + array._offset

    def fill(self, array, number):
        if array.dtype.kind == "c":
            self.refuse("a fill of complex numbers")
        if array.size:
            element = half.readable(half.converted(np.array(number), array.dtype)).item()
            filled = Formula((), [constant(element)])
            self._run(Pointwise("fill", filled, (), (view_of(array),), _computed(array), ()))

    def copy(self, target, source):
        if "c" in (target.dtype.kind + source.dtype.kind):
            self.refuse("a copy of complex numbers")
        if target.dtype != source.dtype:
            self.pointwise(conversion(), (source,), target)
        elif target.size:
            source = self._apart(source, target)
            views = (view_of(source),), (view_of(target),)
            taken = Formula(("x",), [conversion().prepare().outputs[0]])
            self._run(Pointwise("copy", taken, *views, _computed(target), (None,)))

    # --- families of kernels ---

    def pointwise(self, program, operands, into):
        program.prepare()
        compute, forms = result_forms.pointwise(program, operands, into)
        outputs = tuple([self.allocate(*form) for form in forms]) if into is None else (into,)
        rules = program.rules
        narrow = rules.rounded([code_of(x, len(forms[0].shape)) for x in operands])
        views, numbers = [], []
        for place, operand in enumerate(operands):
            if isinstance(operand, PythonArray):
                if narrow is not None and operand.dtype != narrow.numpy:
                    operand = self._converted(operand, narrow.numpy)
                views.append(view_of(operand if into is None else self._apart(operand, into)))
                numbers.append(None)
            else:
                views.append(operand)
                numbers.append(rules.number(place, compute).name)
        if outputs[0].size:
            made = tuple([view_of(x) for x in outputs])
            self._run(
                Pointwise(program.name, program.formula, tuple(views), made, compute.name,
                          tuple(numbers), eager=True)
            )  # fmt: skip
        if into is not None:
            return None
        return outputs[0] if len(outputs) == 1 else outputs

    def reduce(self, program, array, mask, keepdim, shift=None, parameters=None):
        mask = int(mask) & ((1 << array.ndim) - 1)
        forms = result_forms.reduction(program, array, mask, bool(keepdim))
        outputs = [self.allocate(*form) for form in forms]
        self._run(
            Reduce(
                program, view_of(array), mask, bool(keepdim),
                None if shift is None else view_of(self._in_order(shift)), view_of(outputs[0]),
                None if parameters is None else float(parameters[0]),
                view_of(outputs[1]) if len(outputs) > 1 else None,
            )
        )  # fmt: skip
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def rowwise(self, program, dim, *arrays):
        arrays = [self._in_order(x) for x in arrays]
        outputs = [self.allocate(*form) for form in result_forms.rowwise(program, arrays[0])]
        if arrays[0].size:
            views = [tuple([view_of(x) for x in each]) for each in (arrays, outputs)]
            self._run(Rowwise(program, dim, *views))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def matmul(self, a, b):
        if a.dtype.kind != "f" or a.itemsize < 4:
            self.refuse(f"matmul of {a.dtype}")
        batch = broadcast([a.shape[:-2], b.shape[:-2]])
        a, b = [self._stack(x, batch) for x in (a, b)]
        made = self.allocate(*contiguous((*a.shape[:-1], b.shape[-1]), a.dtype))
        self._run(Product(view_of(a), view_of(b), view_of(made)))
        return made.reshape((*batch, *made.shape[-2:]))

    def _stack(self, array, batch):
        """An array with one dimension of samples, those of ``batch``."""
        expanded = view_of(array).expanded((*batch, *array.shape[-2:]))
        whole = array._view(expanded.shape, expanded.strides)
        return whole.reshape((math.prod(batch), *array.shape[-2:]))

    def gather(self, array, dim, index):
        if not array.ndim:
            return self.gather(array.reshape(1), dim, index.reshape(1)).reshape(index.shape)
        key = [slice(size) for size in index.shape]
        key[dim] = slice(None)
        made = self.allocate(*contiguous(index.shape, array.dtype))
        words = self._words(array[tuple(key)], dim, index, index.shape[dim])
        outer, inner = _around(index.shape, dim)
        self.kernel(
            _INDEXING, f"gather_{array.itemsize}", outer * index.shape[dim], (made, *words, inner)
        )
        return made

    def index_select(self, array, dim, index):
        if not array.ndim:
            array = array.reshape(1)
        shape = (*array.shape[:dim], index.size, *array.shape[dim + 1 :])
        made = self.allocate(*contiguous(shape, array.dtype))
        words = self._words(array, dim, index, index.size)
        outer, inner = _around(shape, dim)
        self.kernel(
            _INDEXING, f"index_select_{array.itemsize}", outer * index.size, (made, *words, inner)
        )
        return made

    def scatter_add(self, output, dim, index, source):
        if not output.ndim:
            output, index, source = [x.reshape(1) for x in (output, index, source)]
        key = [slice(size) for size in index.shape]
        part = output[tuple([slice(None) if d == dim else x for d, x in enumerate(key)])]
        self._added("scatter_add", part, dim, index, source[tuple(key)], index.shape[dim])

    def index_add(self, output, dim, index, source):
        self._added("index_add", output, dim, index, source, index.size)

    def _added(self, name, output, dim, index, source, count):
        dense = self._in_order(output)
        size = dense.shape[dim]
        words = [self._in_order(source), self._in_order(index), size, count]
        outer, inner = _around(dense.shape, dim)
        self.kernel(
            _INDEXING, f"{name}_{name_of(output.dtype)}", outer * inner, (dense, *words, inner)
        )
        if dense is not output:
            self.copy(output, dense)

    def _words(self, array, dim, index, count):
        return self._in_order(array), self._in_order(index), array.shape[dim], count

    def kernel(self, module, name, total, words):
        with library.as_python():
            kernel = library.hand_written(module, name)
        packed = [self.address(x) if isinstance(x, PythonArray) else x for x in words]
        packed = np.array(packed, dtype=np.int64)
        addresses.run_kernel(kernel, packed.ctypes.data, 0, total)

    # --- how ---

    def prepare(self, operations):
        with library.as_python():
            launches = [x for operation in operations for x in lowering.lower(operation)]

        def run(arrays, numbers):
            self.runs["program"] += 1
            starts = {id(x): self.address(array) - at for x, (array, at) in arrays.items()}
            self._launch(launches, lambda memory: starts[id(memory)], numbers)

        return run

    def _run(self, operation):
        self.runs["operation"] += 1
        with library.as_python():
            launches = lowering.lower(operation)
        self._launch(launches, lambda memory: memory.address)

    def _launch(self, launches, start_of, numbers=()):
        """Run launches, one after another."""
        scratch = {}  # launches hand partial results to one another
        for launch in launches:
            words = launch.words
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

    def _in_order(self, array):
        return array if array.flags.c_contiguous else self._converted(array, array.dtype)

    def _converted(self, array, dtype):
        made = self.allocate(*contiguous(array.shape, dtype))
        self.copy(made, array)
        return made

    def _apart(self, operand, output):
        """An operand, copied if it lies in the memory of the output otherwise than that does."""
        if operand._block is not output._block:
            return operand
        same = ("_offset", "shape", "strides", "dtype")
        if all(getattr(operand, name) == getattr(output, name) for name in same):
            return operand
        return self._converted(operand, operand.dtype)


def _cell(number, dtype, numbers):
    """A number, which a program may be given anew at each run, where a kernel reads it."""
    value = numbers[number.index] if isinstance(number, Number) else number
    return np.array([value], loaded_as(dtype))


def _around(shape, dim):
    return math.prod(shape[:dim]), math.prod(shape[dim + 1 :])


def _computed(array):
    return computed_as(from_numpy(array.dtype)).name


class _Namespace:
    """Functions under NumPy's names."""

    @staticmethod
    def flip(array, axis):
        return BACKEND.from_host(np.flip(BACKEND.to_host(array), axis).copy())


BACKEND = PythonBackend()
