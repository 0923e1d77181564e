"""Scratch memory for kernels that pack their operands: a small pool of equal buffers.

Called by ``matmul`` and convolutions, hence only when compiling; each kernel has a pool of its own.
A buffer stays allocated between calls, because fresh pages would cost more than the packing. Taking
and returning one is a few atomic exchanges, so any number of threads may do it at once, and a
forked child loses at most the buffers that other threads held at the fork.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types

from ...codegen.atomics import pause
from ...codegen.intrinsics import external, subroutine
from ...codegen.primitive import primitive

#: Buffers kept for later calls; more threads than this at once allocate and free their own.
SLOTS = 64

_ALIGNMENT = 64

_malloc = external("malloc", types.int64, types.int64)
_free = external("free", types.void, types.int64)


def _exchange_in_python(index, buffer):
    """No slot is ever free nor filled: kernels whose buffers differ in size would share them."""
    return buffer


@primitive(_exchange_in_python)
def _exchange(typing_context, index, buffer):
    """Put ``buffer`` into a slot, atomically; returns what was there: 0, or a free buffer."""

    def codegen(context, builder, signature, arguments):
        name = "numbagrad_matmul_scratch"
        slots = builder.module.globals.get(name)
        if slots is None:
            slots = ir.GlobalVariable(builder.module, ir.ArrayType(ir.IntType(64), SLOTS), name)
            slots.initializer = ir.Constant(slots.value_type, None)
            slots.linkage = "linkonce_odr"  # one pool for all functions of an object file
            slots.align = 64
        index, buffer = arguments
        slot = builder.gep(slots, [ir.Constant(ir.IntType(64), 0), index])
        return builder.atomic_rmw("xchg", slot, buffer, "acq_rel")

    return types.int64(types.int64, types.int64), codegen


@subroutine
def acquire(size, waiting):
    """A buffer of ``size`` bytes, which is the same in every call of a kernel, for this thread.

    Without memory for another one, 0, or ``waiting`` that a thread gives back the one it has.
    """
    slot = 0
    while slot < SLOTS:
        buffer = _exchange(slot, 0)
        if buffer != 0:
            return buffer
        slot += 1
    buffer = _malloc(size + _ALIGNMENT)
    while buffer == 0 and waiting:
        pause()
        buffer = _exchange(0, 0)
    return buffer


@subroutine
def aligned(buffer):
    """The first address in the buffer that starts a cache line."""
    return (buffer + _ALIGNMENT - 1) & -_ALIGNMENT


@subroutine
def release(buffer):
    """Give a buffer back: to the first slot, whose own moves on to the next, till one was free."""
    slot = 0
    while slot < SLOTS:
        buffer = _exchange(slot, buffer)
        if buffer == 0:
            return
        slot += 1
    _free(buffer)
