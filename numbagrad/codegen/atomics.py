"""Atomic operations on int64 words, and calls through function addresses, as primitives.

Called by ``threads``; imported only when compiling. The atomic operations are sequentially
consistent: the thread pool relies on "I announced myself, then I looked" being seen in one order by
everyone, and on the common CPUs the weaker orders would save nothing that can be measured.
"""

from __future__ import annotations

import ctypes
import threading

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types

from . import loader
from .addresses import load_element, store_element
from .primitive import primitive

_WORD = ir.IntType(64)

#: In Python one thread at a time does what is atomic in machine code.
_lock = threading.RLock()


def _fetch_add(address, value):
    with _lock:
        before = load_element(address, 0, "int64")
        store_element(address, 0, before + value, "int64")
        return before


def _compare_exchange(address, expected, desired):
    with _lock:
        found = load_element(address, 0, "int64") == expected
        if found:
            store_element(address, 0, desired, "int64")
        return found


def _call(function, *arguments):
    kinds = [ctypes.c_int64] * (len(arguments) + 1)
    return np.int64(ctypes.CFUNCTYPE(*kinds)(int(function))(*map(int, arguments)))


_ORDER = "seq_cst"


def _pointer(builder, address):
    return builder.inttoptr(address, _WORD.as_pointer())


@primitive(lambda address, offset: load_element(address + offset, 0, "int64"))
def read_word(typing_context, address, offset):
    """The word ``offset`` bytes behind ``address``, by an ordinary load."""

    def codegen(context, builder, signature, arguments):
        return builder.load(_pointer(builder, builder.add(*arguments)), align=8)

    return types.int64(types.int64, types.int64), codegen


@primitive(lambda address, offset, value: store_element(address + offset, 0, value, "int64"))
def write_word(typing_context, address, offset, value):
    """Write the word ``offset`` bytes behind ``address``, by an ordinary store."""

    def codegen(context, builder, signature, arguments):
        address, offset, value = arguments
        builder.store(value, _pointer(builder, builder.add(address, offset)), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@primitive(lambda address: load_element(address, 0, "int64"))
def atomic_load(typing_context, address):
    """The word at ``address``."""

    def codegen(context, builder, signature, arguments):
        return builder.load_atomic(_pointer(builder, arguments[0]), _ORDER, 8)

    return types.int64(types.int64), codegen


@primitive(lambda address, value: store_element(address, 0, value, "int64"))
def atomic_store(typing_context, address, value):
    """Write ``value`` to the word at ``address``."""

    def codegen(context, builder, signature, arguments):
        builder.store_atomic(arguments[1], _pointer(builder, arguments[0]), _ORDER, 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@primitive(_fetch_add)
def fetch_add(typing_context, address, value):
    """Add ``value`` to the word at ``address``; returns what it was before."""

    def codegen(context, builder, signature, arguments):
        return builder.atomic_rmw("add", _pointer(builder, arguments[0]), arguments[1], _ORDER)

    return types.int64(types.int64, types.int64), codegen


@primitive(_compare_exchange)
def compare_exchange(typing_context, address, expected, desired):
    """Replace the word at ``address`` by ``desired`` if it is ``expected``; whether it was."""

    def codegen(context, builder, signature, arguments):
        address, expected, desired = arguments
        pair = builder.cmpxchg(_pointer(builder, address), expected, desired, _ORDER, _ORDER)
        return builder.extract_value(pair, 1)

    return types.boolean(types.int64, types.int64, types.int64), codegen


@primitive(lambda: None)
def pause(typing_context):
    """Tell the CPU that this is a spinning loop (nothing on CPUs without such a hint)."""
    architecture = (loader.target().triple or llvm.get_process_triple()).split("-", 1)[0]

    def codegen(context, builder, signature, arguments):
        void = ir.VoidType()
        if architecture in ("x86_64", "i386", "i686"):
            function_type = ir.FunctionType(void, [])
            function = builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), function_type)
            builder.call(function, [])
        elif architecture in ("aarch64", "arm64"):
            integer = ir.IntType(32)
            function_type = ir.FunctionType(void, [integer])
            function = builder.module.declare_intrinsic("llvm.aarch64.hint", (), function_type)
            builder.call(function, [ir.Constant(integer, 1)])  # hint 1 is YIELD
        return context.get_dummy_value()

    return types.void(), codegen


def _emit_call(context, builder, signature, arguments):
    function_type = ir.FunctionType(_WORD, [_WORD] * (len(arguments) - 1))
    pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
    return builder.call(pointer, arguments[1:])


@primitive(_call)
def call_0(typing_context, function):
    """Call the C function at address ``function`` without arguments."""
    return types.int64(types.int64), _emit_call


@primitive(_call)
def call_1(typing_context, function, first):
    """Call the C function at address ``function`` with one integer or pointer."""
    return types.int64(types.int64, types.int64), _emit_call


@primitive(_call)
def call_2(typing_context, function, first, second):
    """Call the C function at address ``function`` with two integers or pointers.

    The result is the whole return register: the upper half is noise if the function returns a
    C ``int``, all of it if the function returns nothing.
    """
    return types.int64(types.int64, types.int64, types.int64), _emit_call


@primitive(_call)
def call_5(typing_context, function, first, second, third, fourth, fifth):
    """Call the C function at address ``function`` with five integers or pointers, as ``call_2``."""
    return types.int64(*[types.int64] * 6), _emit_call
