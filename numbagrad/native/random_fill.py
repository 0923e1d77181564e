"""The launcher that fills a small ndarray with random numbers: a call without ctypes.

``numbagrad/random.py`` installs it for each kernel of ``kernels/random/mt19937.py`` whose
parameters are real numbers. Imported only to compile.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..codegen.intrinsics import int64, load
from .launch import element_count
from .layout import DrawTable
from .object_heads import ArrayHead
from .objects import error_occurred, float_as_double, long_as_long, new_reference

NULL = 0


@intrinsic
def call_drawing(typing_context, function, state, output, count, first, second):
    """Call a kernel of random numbers at address ``function``."""

    def codegen(context, builder, signature, arguments):
        word, real = ir.IntType(64), ir.DoubleType()
        function_type = ir.FunctionType(ir.VoidType(), [word, word, word, real, real])
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        builder.call(pointer, arguments[1:])
        return context.get_dummy_value()

    parameters = [types.int64] * 4 + [types.float64] * 2
    return types.void(*parameters), codegen


def draw(self, arguments, given):
    """``builtin(state, array, first, second) -> None``: fill a contiguous array.

    ``state`` is the address of a generator's state. The GIL is kept: arrays are to be small.
    """
    table = DrawTable(ArrayHead(self).data)
    state = long_as_long(load(arguments, 0, int64))
    array = load(arguments, 1, int64)
    first = float_as_double(load(arguments, 2, int64))
    second = float_as_double(load(arguments, 3, int64))
    if error_occurred() != NULL:
        return NULL
    kernel = table.kernel
    data = ArrayHead(array).data
    call_drawing(kernel, state, data, element_count(array), first, second)
    return new_reference(table.runtime.none)
