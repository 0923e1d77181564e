"""Functions that a user compiled with ``numba.njit``, as kernels that a program can hold.

The trace asks whether a call can be one (``is_native``), lowering asks for its entry. A function
that Numba compiled takes the headers of its arrays field by field; ``entry`` makes a few lines of
LLVM that load those from the packed words of a launch, so that nothing of the function is compiled
again and no Python runs.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen import loader
from ...interrupts import uninterrupted
from ...kernels.launches.program_layout import MayFail

#: The words behind those of a launch that may fail: the compiled function, then the arguments.
FUNCTION = 2
ARGUMENTS = 3

#: The fields of an array: owner, parent, number of elements, bytes an element, address; then sizes
#: and strides. A number is one word, the address of its value.
FIELDS = 5
ELEMENTS, ITEM, ADDRESS = 2, 3, 4

#: Status codes of a compiled function without an error: with a value, and with None.
_SUCCESS = (0, -2)

#: An argument as far as code depends on it: dtype and rank of an array, the dtype of a number.
Kind = tuple[np.dtype[Any], int] | str


def is_dispatcher(function: Any) -> bool:
    """Whether a function was compiled by ``numba.njit`` for the CPU."""
    registry = sys.modules.get("numba.core.registry")
    return registry is not None and isinstance(function, registry.CPUDispatcher)


def is_native(function: Any, arguments: Sequence[Any]) -> bool:
    """Whether a call with these arrays and numbers can be a launch of a program."""
    if not is_dispatcher(function):
        return False
    kinds = tuple([kind_of(argument) for argument in arguments])
    return None not in kinds and _compiled(function, kinds) is not None


def kind_of(argument: Any) -> Kind | None:
    """The kind of an argument, which decides its code; None for one that a launch cannot pass."""
    if isinstance(argument, np.ndarray):
        return (argument.dtype, argument.ndim) if argument.flags.c_contiguous else None
    if isinstance(argument, bool):
        return "bool"
    if isinstance(argument, int):
        return "int64" if -(1 << 63) <= argument < 1 << 63 else None
    return "float64" if isinstance(argument, float) else None


def _compiled(function: Any, kinds: tuple[Any, ...]) -> Any:
    """The function that Numba compiled for such arguments, or None if a launch cannot use it."""
    with uninterrupted():
        from numba.core import types
        from numba.np import numpy_support

    numbers = {"bool": types.boolean, "int64": types.int64, "float64": types.float64}
    signature = tuple(
        [
            numbers[kind]
            if isinstance(kind, str)
            else types.Array(numpy_support.from_dtype(kind[0]), kind[1], "C")
            for kind in kinds
        ]
    )
    if signature not in function.overloads:
        if not function._can_compile:  # its signatures were given with the decorator
            return None
        function.compile(signature)
    found = function.overloads[signature]
    usable = found.fndesc.native and found.signature.return_type == types.none
    return found if usable else None


@functools.cache
def entry(function: Any, kinds: tuple[Kind, ...]) -> tuple[int, int]:
    """Addresses of the uniform entry for calls with such arguments, and of what Numba compiled."""
    compiled = _compiled(function, kinds)
    signature = compiled.signature
    called = compiled.target_context.call_conv.get_function_type(
        signature.return_type, signature.args
    )
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return _trampoline(called, kinds), address


def _trampoline(called: Any, kinds: tuple[Kind, ...]) -> int:
    """Compile the uniform entry that calls a function of the LLVM type ``called``."""
    with uninterrupted():
        import llvmlite.binding as llvm
        from llvmlite import ir

    word, symbol = ir.IntType(64), "numbagrad_user_function"
    module = ir.Module(symbol)
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [word] * 3), symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    words = builder.inttoptr(function.args[0], word.as_pointer())

    def field(position: int, kind: Any) -> Any:
        value = builder.load(builder.gep(words, [ir.Constant(word, position)]))
        return builder.inttoptr(value, kind) if isinstance(kind, ir.PointerType) else value

    # Where the function puts its result (there is none) and what it raises.
    passed = [builder.bitcast(builder.alloca(word), kind) for kind in called.args[:2]]
    fields = iter(called.args[2:])
    position = ARGUMENTS
    for kind in kinds:
        if isinstance(kind, str):
            stored = next(fields)
            passed.append(builder.load(field(position, stored.as_pointer())))
            position += 1
            continue
        for _ in range(FIELDS + 2 * kind[1]):
            passed.append(field(position, next(fields)))
            position += 1
    status = builder.call(field(FUNCTION, called.as_pointer()), passed)
    well = [builder.icmp_signed("==", status, status.type(code)) for code in _SUCCESS]
    with builder.if_then(builder.not_(builder.or_(*well)), likely=False):
        failed = field(MayFail.failed.position, word.as_pointer())
        builder.store(field(MayFail.failure.position, word), failed)
    builder.ret_void()
    machine = loader.target_machine()
    return loader.load(machine.emit_object(llvm.parse_assembly(str(module))), symbol)


__all__ = ["entry", "is_dispatcher", "is_native", "kind_of"]
