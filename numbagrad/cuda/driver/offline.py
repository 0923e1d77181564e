"""A driver that runs no kernel and notes them all, as they would be made for a GPU.

``tools/cuda_registers.py`` and tests compile what was noted. Memory is the host's, full of zeros,
and stays so: results mean nothing, but their shapes.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...executor.plan.sharing import bounds
from ..kernels.attention import block_for
from ..kernels.matmul import Shape, shape_for
from .source import Source
from .twin import TwinArray, of_scipy


class Block:
    """Memory of the host."""

    __slots__ = ("address", "nbytes", "device", "_cells", "__weakref__")

    def __init__(self, nbytes: int):
        self._cells = np.zeros(nbytes + 256, np.uint8)
        self.address = -(-self._cells.ctypes.data // 256) * 256
        self.nbytes, self.device = nbytes, 0


class Offline:
    """See the module; the numbers are those of ``device.Device`` with ``processors`` processors."""

    is_simulated = False
    device_count, current = 1, 0
    threads, lanes, segment = 256, 32, 16
    piece, large_product = 4096, 1 << 24

    def __init__(self, processors: int = 132):
        self.blocks = 16 * processors
        self.processors = processors
        #: The kernels that were launched, in order.
        self.sources: dict[Source, None] = {}

    def allocate(self, nbytes: int, index: int = 0) -> Block:
        """New memory."""
        return Block(nbytes)

    def upload(self, address: int, source: int, nbytes: int, *other: Any) -> None:
        """Copy bytes."""
        ctypes.memmove(address, source, nbytes)

    download = move = upload_later = upload
    failure_address = 0

    def take_failure(self) -> int:
        """Nothing runs, and nothing fails."""
        return 0

    def as_cupy(self, array: Any) -> Any:
        """The same memory as an array of what stands for CuPy."""
        low, high = bounds(array)
        memory: Any = (ctypes.c_char * max(high - low, 1)).from_address(array.address + low)
        return TwinArray(np.ndarray(array.shape, array.dtype, memory, -low, array.strides))

    of_scipy = staticmethod(of_scipy)

    def library(self, index: int) -> contextlib.AbstractContextManager[Any]:
        """The context in which functions of that library run."""
        return contextlib.nullcontext()

    def stream(self, index: int | None = None) -> int:
        """The handle of the only stream."""
        return 0

    def synchronise(self, index: int | None = None) -> None:
        """Nothing is under way."""

    def product_shape(self, dtype: str, rows: int, columns: int, count: int) -> Shape:
        """How a matrix product is cut."""
        return shape_for(dtype, rows, columns, count, self.processors)

    attention_side = 16

    def attention_block(self, itemsize: int, width: int, wide: int) -> int:
        """How many queries and keys a tile of attention has."""
        return block_for(itemsize, width, wide)

    def launch(
        self, source: Source, blocks: int, launch_args: Sequence[int], index: int = 0
    ) -> None:
        """Note a kernel."""
        self.sources[source] = None
