"""How arrays become the packed arguments of kernels, for those who call kernels from Python.

The executor packs arguments itself, in compiled code or by plan. Here are the same layouts in a few
lines each, with checks: a kernel believes every address it is given. ``@kernel(takes=...)`` names
one of these. Imports NumPy alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..codegen.addresses import Address
from ..codegen.kernel import Kernel, element
from ..codegen.record import Record, Word, fields_of
from . import layout
from .matmul import layout as product
from .reduction import layout as reduction_layout

Array = np.ndarray[Any, Any]


class Elements(Word):
    """The address of a contiguous array of a dtype, which may be a variable of the kernel."""

    def __init__(self, dtype: Any):
        self.dtype = dtype

    def word(self, kernel: Kernel, name: str, value: Any) -> int:
        """The address of an array; TypeError for anything else."""
        return kernel.address_of(name, self.dtype, value)


class OptionalElements(Elements):
    """The same, or 0 in the place of an array."""

    def word(self, kernel: Kernel, name: str, value: Any) -> int:
        return 0 if isinstance(value, int) and value == 0 else super().word(kernel, name, value)


class Arguments(Record):
    """Argument words of a kernel: addresses of arrays (``Elements``), and numbers (``Word``).

    A subclass declares them, in the order in which the kernel is given them. In the kernel
    ``Declared(args)`` has them as attributes. What is first is written, if an array.
    """

    @classmethod
    def pack(cls, kernel: Kernel, *values: Any) -> Address:
        """One word for each value.

        Raises:
            TypeError: if there are more or fewer values than words, or one is no such array.
        """
        words = fields_of(cls)
        if len(values) != len(words):
            raise TypeError(f"{kernel.__name__} takes {', '.join(words)}")
        if isinstance(values[0], np.ndarray):
            check_written(kernel, values[0])
        packed = cls()
        for (name, field), value in zip(words.items(), values, strict=True):
            packed.words[field.position] = _word(kernel, name, field, value)
        return Address.of(packed.words, values)


def _word(kernel: Kernel, name: str, field: Any, value: Any) -> int:
    """The word of a value of a name."""
    if isinstance(field, Elements):
        return field.word(kernel, name, value)
    if isinstance(value, int | np.integer):
        return int(value)
    raise TypeError(f"{kernel.__name__}: {name} is an int, not {type(value).__name__}")


def check_written(kernel: Kernel, array: Array, others: Iterable[Array] = ()) -> None:
    """Check an array that a kernel writes; ``others`` are those that it takes as apart from it.

    Raises:
        TypeError: if it is read-only.
        ValueError: if it shares memory with another one.
    """
    if not array.flags.writeable:
        raise TypeError(f"{kernel.__name__} writes to an array that is read-only")
    if any([np.may_share_memory(array, other) for other in others]):
        raise ValueError(f"{kernel.__name__} writes to memory that it also reads")


class Operands:
    """The operands of a pointwise kernel over contiguous arrays of one shape, and single values.

    Args:
        operands: name, dtype and layout (``layout.py``) of inputs, then of outputs. An input with
            the layout ``ALIAS`` is the first output, and is given once, as the input.
        outputs: how many operands are outputs.
    """

    def __init__(self, *operands: tuple[str, str, int], outputs: int = 1):
        self._operands = operands
        self._first_output = len(operands) - outputs

    def pack(self, kernel: Kernel, *values: Any) -> Address:
        """The words of a single dimension; numbers may stand for arrays of one element."""
        aliased = [each[2] == layout.ALIAS for each in self._operands]
        given = self._operands[: len(aliased) - any(aliased)]
        if len(values) != len(given):
            raise TypeError(f"{kernel.__name__} takes {', '.join([each[0] for each in given])}")
        packed = np.zeros(layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS * len(aliased), np.int64)
        arrays = [_operand(kernel, *each) for each in zip(given, values, strict=True)]
        shapes = set()
        for position, array in enumerate(arrays):
            target = self._first_output if aliased[position] else position
            if target >= self._first_output:
                check_written(kernel, array, arrays[:position] + arrays[position + 1 :])
            packed[layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS * target] = array.ctypes.data
            if self._operands[position][2] != layout.ZERO:
                shapes.add(array.shape)
        if len(shapes) != 1:
            raise ValueError(f"{kernel.__name__} takes arrays of one shape, not {sorted(shapes)}")
        size = math.prod(shapes.pop())
        packed[[layout.ARGUMENT_DIMENSIONS, layout.ARGUMENT_SIZES]] = 1, size
        return Address.of(packed, tuple(arrays), size)


def _operand(kernel: Kernel, operand: tuple[str, str, int], value: Any) -> Array:
    """The array of an operand, which a number may stand for."""
    name, dtype, how = operand
    if how == layout.ZERO and isinstance(value, int | float):
        value = np.array(value, dtype)
    kernel.address_of(name, dtype, value)  # which checks it
    if how == layout.ZERO and value.size != 1:
        raise ValueError(f"{kernel.__name__}: {name} is a single value, not {value.shape}")
    return value


class Rows:
    """The reduction of the last dimension of a contiguous array: ``(x, out)``.

    ``out`` has the shape of x without its last dimension, or is one element for all of x.
    """

    def __init__(self, dtype: str):
        self._dtype = dtype

    def pack(self, kernel: Kernel, *values: Any) -> Address:
        """The words for one segment: a result for each row, or one for all elements."""
        if len(values) != 2:
            raise TypeError(f"{kernel.__name__} takes x, out")
        x, out = values
        read = kernel.address_of("x", self._dtype, x)
        written = kernel.address_of("out", self._dtype, out)
        check_written(kernel, out, [x])
        if out.size != 1 and out.shape != x.shape[:-1]:
            raise ValueError(f"{kernel.__name__}: rows of {x.shape} do not make {out.shape}")
        w, size, item = reduction_layout, x.size // max(out.size, 1), x.itemsize
        packed = np.zeros(w.WORDS, np.int64)
        packed[[w.KEPT, w.REDUCED, w.INPUT, w.OUTPUT]] = 1, 1, read, written
        packed[[w.OUTPUTS, w.NUMBER, w.ELEMENTS]] = out.size, size, size
        packed[[w.SEGMENTS, w.LENGTH]] = 1, size
        packed[w.SIZES : w.SIZES + 2] = out.size, size
        packed[w.INPUT_STEPS : w.INPUT_STEPS + 2] = size * item, item
        packed[w.OUTPUT_STEPS] = 1
        return Address.of(packed, values, out.size)


class Product:
    """A matrix product ``(a, b, c)``: c of shape (..., m, n) becomes a @ b, by one of the methods.

    Batches have up to two dimensions, which broadcast to those of c. Strides of a and b may be any;
    the columns of c are contiguous. None is empty.
    """

    def pack(self, kernel: Kernel, *values: Any) -> Address:
        """The words of a product that is not shared, without an epilogue."""
        if len(values) != 3:
            raise TypeError(f"{kernel.__name__} takes a, b, c")
        a, b, c = values
        for name, array in (("a", a), ("b", b), ("c", c)):
            kernel.check_dtype(name, element, array)
        check_written(kernel, c, [a, b])
        if a.ndim < 2 or b.ndim < 2 or not 2 <= c.ndim <= 4 or not c.size or not a.size:
            raise ValueError(f"{kernel.__name__} takes matrices, or stacks of up to two dimensions")
        rows, depth, columns = a.shape[-2], a.shape[-1], b.shape[-1]
        if b.shape[-2] != depth or c.shape[-2:] != (rows, columns):
            raise ValueError(f"{kernel.__name__}: {a.shape} @ {b.shape} does not make {c.shape}")
        packed = np.zeros(product.WORDS, np.int64)
        batch = (1,) * (4 - c.ndim) + c.shape[:-2]
        for operand, array in ((product.A, a), (product.B, b), (product.C, c)):
            packed[operand] = array.ctypes.data
            first = product.A_ROW + 4 * operand
            packed[first : first + 4] = _strides(kernel, array, batch)
        width = product.unit_columns(rows, columns, depth)
        packed[[product.M, product.N, product.K, product.WIDTH]] = rows, columns, depth, width
        packed[[product.OUTER, product.INNER]] = batch
        packed[product.PACKS] = _check_method(kernel, kernel.values["method"], packed, a.itemsize)
        units = product.matmul_units(rows, columns, width, math.prod(batch))
        return Address.of(packed, values, units)


def _strides(kernel: Kernel, array: Array, batch: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Elements from row to row and column to column, and along the two dimensions of the batch.

    One element for a single row or column, which a kernel does not leave.
    """
    if any([stride % array.itemsize for stride in array.strides]):
        raise TypeError(f"{kernel.__name__} takes strides of whole elements")
    spread = np.broadcast_to(array, batch + array.shape[-2:])
    outer, inner, row, column = [stride // array.itemsize for stride in spread.strides]
    rows, columns = array.shape[-2:]
    return 1 if rows == 1 else row, 1 if columns == 1 else column, outer, inner


def _check_method(kernel: Kernel, method: int, packed: Array, item_size: int) -> int:
    """The sizes that a product packs; TypeError where the method does not take its strides."""
    words = packed.tolist()
    rows, columns, depth = words[product.M], words[product.N], words[product.K]
    a_row, a_column = words[product.A_ROW], words[product.A_COLUMN]
    b_row, b_column = words[product.B_ROW], words[product.B_COLUMN]
    takes = {
        product.TILES: True,
        product.DOTS: a_column == 1 and b_row == 1,
        product.ROW: rows == 1 and b_column == 1,
    }
    if not takes[method] or words[product.C_COLUMN] != 1:
        raise TypeError(f"{kernel.__name__} does not take these strides; its docstring says which")
    if method != product.TILES:
        return 0
    packs_b = product.packs_b(rows, depth * columns, b_row, b_column, item_size, True)
    packs_a = product.packs_a(columns, depth, a_row, a_column, item_size)
    return packs_a * product.PACKS_A + packs_b * product.PACKS_B
