"""Scratch memory of convolutions: the pool of ``matmul``'s, with buffers of a size of its own.

Called by ``product`` and ``weights``, hence only when compiling. All buffers have ``BYTES``, also
those of kernels that run as Python, which share one pool.
"""

from __future__ import annotations

from ...codegen.primitive import primitive
from ..matmul import scratch
from ..matmul.problem import compiled
from .layout import SLACK, SOURCE_ELEMENTS, SUM_ELEMENTS

#: Room for elements of 8 bytes; pages that smaller ones leave are never touched.
BYTES = 8 * (SOURCE_ELEMENTS + SUM_ELEMENTS + 3 * SLACK)

_buffers = [0] * scratch.SLOTS


def _exchange_in_python(index, buffer):
    before, _buffers[index] = _buffers[index], buffer
    return before


_exchange = primitive(_exchange_in_python)(scratch._exchange._defn)

acquire = compiled(scratch.acquire.py_func, _exchange=_exchange)
release = compiled(scratch.release.py_func, _exchange=_exchange)
