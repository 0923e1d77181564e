"""Stores past the caches, for outputs that are too large to stay in them.

An ordinary store first reads the line it writes to, and pushes another one out of the cache. A
kernel with a large output therefore computes a block of it in the first cache and has ``stream``
write whole lines to memory. Imported by the kernels that ``source.py`` prints with
``streamed=True``, therefore only when compiling.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir
from numba import types

from ...codegen.intrinsics import int8, load, store, subroutine
from ...codegen.primitive import primitive

__all__ = ["LINE_BYTES", "fetch", "stream", "streams_done"]

LINE_BYTES = 64

#: Bytes of a row up to which the next one is fetched: both stay in the first-level cache.
_FETCHED_BYTES = 1 << 14

_LINE = ir.VectorType(ir.IntType(32), LINE_BYTES // 4)


@primitive(lambda target, source: ctypes.memmove(int(target), int(source), LINE_BYTES))
def _stream_line(typing_context, target, source):
    """Copy a line between addresses that are multiples of its size; the target is not cached."""

    def codegen(context, builder, signature, arguments):
        pointers = [builder.inttoptr(address, _LINE.as_pointer()) for address in arguments]
        value = builder.load(pointers[1], align=LINE_BYTES)
        stored = builder.store(value, pointers[0], align=LINE_BYTES)
        one = ir.Constant(ir.IntType(32), 1)
        stored.set_metadata("nontemporal", builder.module.add_metadata([one]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@primitive(lambda address: None)
def _prefetch_line(typing_context, address):
    """Have the line at an address, which may be any, read into the cache meanwhile."""

    def codegen(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer], ir.FunctionType(ir.VoidType(), [pointer, *[number] * 3])
        )
        # A read, of data that is used more than once: into all caches.
        flags = [ir.Constant(number, flag) for flag in (0, 3, 1)]
        builder.call(function, [builder.inttoptr(arguments[0], pointer), *flags])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@primitive(lambda: None)
def streams_done(typing_context):
    """Make what was streamed visible to other threads before whatever follows."""

    def codegen(context, builder, signature, arguments):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen


@subroutine
def stream(target, source, size):
    """Copy ``size`` bytes past the caches; both addresses are equally far into a line."""
    head = min(-target & (LINE_BYTES - 1), size)
    lines = (size - head) // LINE_BYTES
    for i in range(head):
        store(target, i, load(source, i, int8), int8)
    for i in range(lines):
        _stream_line(target + head + i * LINE_BYTES, source + head + i * LINE_BYTES)
    for i in range(head + lines * LINE_BYTES, size):
        store(target, i, load(source, i, int8), int8)


@subroutine
def fetch(row, step, size, part, parts):
    """Have one of some parts of the next row, a ``step`` behind a row, read meanwhile.

    CPUs do not foresee what lies behind a page, which a long row fills, and so memory would be idle
    while a row is computed. All of it at once is more than they remember.
    """
    if step != 0 and size <= _FETCHED_BYTES:
        for offset in range(size * part // parts, size * (part + 1) // parts, LINE_BYTES):
            _prefetch_line(row + step + offset)
