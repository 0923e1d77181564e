"""A GPU that is Numba's simulator: memory of the host, kernels as Python, in blocks and threads.

For tests without a GPU. A launch runs every thread of every block, so sizes have to be small;
kernels are made with fewer threads a block (``threads``), otherwise they are those of a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import linecache
import re
import sys
import threading
import time
import types
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from ...codegen import addresses, intrinsics
from ...executor import capture
from ...executor.plan.sharing import bounds
from ...kernels.reduction import combine
from ..kernels.matmul import Shape
from .memory import PinnedMemory
from .source import Source
from .twin import TwinArray, of_scipy


class SimulatedProperties(NamedTuple):
    """The result of ``get_device_properties`` for the simulator."""

    name: str = "Numba's simulator of CUDA"
    major: int = 0
    minor: int = 0
    total_memory: int = 0
    multi_processor_count: int = 1


_ALIGNMENT = 256  # of memory that CUDA allocates


def _load_vector(address: int, group: int, dtype: Any, width: int) -> tuple[Any, ...]:
    first = int(group) * width
    return tuple([addresses.load_element(address, first + k, dtype) for k in range(width)])


def _store_vector(address: int, group: int, values: Sequence[Any], dtype: Any) -> None:
    first = int(group) * len(values)
    for k, value in enumerate(values):
        addresses.store_element(address, first + k, value, dtype)


def _quotient(value: Any, divisor: Any) -> Any:
    return np.int64(value) // np.int64(divisor)


def _exchanged(value: Any, distance: Any) -> Any:
    """See ``language``; here all threads of the block have to come. ``said`` is the kernel's."""
    thread = int(cuda.threadIdx.x)
    said[thread] = value  # type: ignore[name-defined]  # noqa: F821
    cuda.syncthreads()
    found = said[thread ^ int(distance)]  # type: ignore[name-defined]  # noqa: F821
    cuda.syncthreads()
    return found


#: Names that the text of a kernel may use: bodies in Python of what ``language`` compiles.
NAMES: dict[str, Any] = {
    **{name: getattr(intrinsics, name) for name in intrinsics.__all__},
    **{name: getattr(combine, name) for name in combine.__all__},
    "load_vector": _load_vector,
    "store_vector": _store_vector,
    "quotient": _quotient,
    "math": addresses.c_math,
    "cuda": cuda,
}


class Block:
    """Memory of the simulated device, given back when nobody holds it."""

    __slots__ = ("address", "nbytes", "device", "_cells", "_driver", "__weakref__")

    def __init__(self, driver: Simulated, nbytes: int, device: int):
        self._cells = np.empty(nbytes + _ALIGNMENT, np.uint8)
        self.address = -(-self._cells.ctypes.data // _ALIGNMENT) * _ALIGNMENT
        self.nbytes, self.device, self._driver = nbytes, device, driver
        driver.note(nbytes, device)

    def used_on(self, stream: int) -> None:
        """Nothing is under way on another stream."""

    def __del__(self) -> None:
        self._driver.note(-self.nbytes, self.device)


class Simulated:
    """The driver of the simulated device; see ``device.Device`` for one of a GPU."""

    is_simulated = True
    current = 0
    #: Threads of a block, and of a warp; blocks of a launch; elements that a thread of a reduction
    #: takes at least before the work is cut into segments.
    threads, lanes, blocks, segment = 4, 2, 3, 8
    #: Elements of a piece of an optimizer's step; multiplications that are worth a call of cuBLAS.
    piece, large_product = 8, 1000

    def __init__(self, device_count: int = 1) -> None:
        self.device_count = device_count
        self._allocated, self._peak = [0] * device_count, [0] * device_count
        self.limit = 1 << 32
        self.launches = self.waits = 0
        self._failed = np.zeros(1, np.int64)
        self._lock = threading.RLock()
        self._compiled: dict[Source, Any] = {}
        self._streams: dict[int, int] = {}
        self._handles = itertools.count(1)
        self._events: dict[int, float] = {}

    # --- devices and streams: everything is done when it is asked for ---

    def properties(self, index: int) -> Any:
        """The properties of the device."""
        return SimulatedProperties(total_memory=self.limit)

    def stream(self, index: int | None = None) -> int:
        """The handle of the current stream; 0 is the default one."""
        return self._streams.get(threading.get_ident(), 0)

    def set_stream(self, index: int, handle: int) -> None:
        """Choose the stream of this thread."""
        self._streams[threading.get_ident()] = handle

    def new_stream(self, index: int, priority: int = 0) -> int:
        """The handle of a new stream."""
        return next(self._handles)

    def new_event(self, timing: bool, index: int) -> int:
        """The handle of a new event."""
        return next(self._handles)

    def record_event(self, event: int, stream: int, index: int) -> None:
        """Note the time."""
        self._events[event] = time.perf_counter()

    def milliseconds_between(self, first: int, second: int) -> float:
        """The time between two events."""
        return (self._events[second] - self._events[first]) * 1000

    def destroy_event(self, handle: int) -> None:
        """Forget an event."""
        self._events.pop(handle, None)

    def _nothing(self, *arguments: Any) -> None:
        """Nothing is under way."""

    destroy_stream = empty_cache = queue_behind_event = queue_behind = _nothing

    def wait_for_stream(self, handle: int, index: int) -> None:
        """Nothing is under way; that somebody waits is counted."""
        self.waits += 1

    def wait_for_event(self, event: int) -> None:
        """The same."""
        self.waits += 1

    def is_stream_done(self, handle: int, index: int) -> bool:
        """Whether all that was queued on a stream is done: always."""
        return True

    def is_event_done(self, event: int) -> bool:
        """Whether an event has happened: always."""
        return True

    def reaches(self, index: int, other: int) -> bool:
        """Whether a device can read the memory of another, as CUDA says it: not of itself."""
        return index != other

    # --- memory ---

    def note(self, nbytes: int, index: int) -> None:
        """Count memory that was taken or given back."""
        self._allocated[index] += nbytes
        self._peak[index] = max(self._peak[index], self._allocated[index])

    def allocated(self, index: int) -> int:
        """Bytes in use."""
        return self._allocated[index]

    reserved = allocated

    def peak(self, index: int) -> int:
        """The most bytes in use since ``reset_peak``."""
        return self._peak[index]

    def reset_peak(self, index: int) -> None:
        """Count the most bytes from here."""
        self._peak[index] = self._allocated[index]

    def free_and_total(self, index: int) -> tuple[int, int]:
        """Bytes that are left, and all of them."""
        return self.limit - self._allocated[index], self.limit

    def allocate(self, nbytes: int, device: int = 0) -> Block:
        """A new block of memory.

        Raises:
            OutOfMemoryError: if there is not enough.
        """
        from . import memory

        used = self._allocated[device]
        if used + nbytes > self.limit:
            raise memory.exhausted(nbytes, device, self.limit, used, used)
        return Block(self, nbytes, device)

    def upload(self, address: int, source: int, nbytes: int, index: int = 0) -> None:
        """Copy bytes of the host to the device."""
        self.waits += 1
        ctypes.memmove(address, source, nbytes)

    def download(self, target: int, address: int, nbytes: int, index: int = 0) -> None:
        """Copy bytes of the device to the host."""
        self.waits += 1
        ctypes.memmove(target, address, nbytes)

    def upload_later(
        self, address: int, source: int, nbytes: int, owner: Any, index: int = 0
    ) -> None:
        """Copy bytes of the host to the device."""
        ctypes.memmove(address, source, nbytes)

    def download_later(
        self, target: int, address: int, nbytes: int, owner: Any, index: int = 0
    ) -> None:
        """Copy bytes of the device to pinned ones of the host."""
        ctypes.memmove(target, address, nbytes)

    def move(self, target: int, address: int, nbytes: int, index: int, there: int) -> None:
        """Copy bytes to another device."""
        ctypes.memmove(target, address, nbytes)

    def allocate_pinned(self, nbytes: int) -> PinnedMemory:
        """Memory of the host that counts as locked."""
        cells = np.empty(nbytes, np.uint8)
        return PinnedMemory(cells.ctypes.data, nbytes, lambda: cells)

    @property
    def failure_address(self) -> int:
        """Where kernels note that values were bad (``cuda/asserts.py``)."""
        return int(self._failed.ctypes.data)

    def take_failure(self) -> int:
        """The failure that kernels noted, 0 for none; forgotten then."""
        word = int(self._failed[0])
        self._failed[0] = 0
        return word

    def device_of(self, address: int) -> int:
        """The number of the device that has an address."""
        return 0

    # --- kernels ---

    def product_shape(self, dtype: str, rows: int, columns: int, count: int) -> Shape:
        """How a matrix product is cut."""
        return Shape(side=2, tile=2, step=2)

    attention_side = 2

    def attention_block(self, itemsize: int, width: int, wide: int) -> int:
        """How many queries and keys a tile of attention has."""
        return 4

    def launch(
        self, source: Source, blocks: int, launch_args: Sequence[int], index: int = 0
    ) -> None:
        """Run a kernel in so many blocks."""
        with self._lock, capture.unheard(), _switching_often():
            kernel = self._compiled.get(source)
            if kernel is None:
                kernel = self._compiled[source] = _made(source)
            self.launches += 1
            kernel[max(1, blocks), source.threads](*[np.int64(x) for x in launch_args])

    def run_function(self, function: Any, arrays: Sequence[Any], index: int = 0) -> None:
        """A user's function of arrays as a CUDA function of one thread."""
        given = [self.as_cupy(x).hidden if hasattr(x, "block") else x for x in arrays]
        with self._lock, capture.unheard(), _switching_often():
            self.launches += 1
            cuda.jit(getattr(function, "py_func", function))[1, 1](*given)

    def synchronise(self, index: int | None = None) -> None:
        """Nothing is under way: a launch returns when it is done."""
        self.waits += 1

    def as_cupy(self, array: Any) -> Any:
        """The same memory as an array of a library: of what stands for CuPy here."""
        low, _ = bounds(array)
        nbytes = array.block.nbytes - (array.address + low - array.block.address)
        memory = (ctypes.c_char * max(nbytes, 1)).from_address(array.address + low)
        return TwinArray(np.ndarray(array.shape, array.dtype, memory, -low, array.strides))

    of_scipy = staticmethod(of_scipy)

    def library(self, index: int) -> contextlib.AbstractContextManager[Any]:
        """The context in which functions of that library run."""
        return contextlib.nullcontext()


@contextlib.contextmanager
def _switching_often() -> Iterator[None]:
    """The simulator has a Python thread for each of CUDA's and polls them all."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


#: Where a kernel asks for shared memory: two threads at once would be given an array each.
_SHARED = re.compile(r"^( *)(\w+ = cuda\.shared\.array\(.*)$", re.M)


def _made(source: Source) -> Any:
    """The text of a kernel as a kernel of the simulator.

    Its threads compute overflow and NaN without a word, as a GPU does: NumPy asks each thread.
    """
    path = f"<simulated {source.name} {abs(hash(source)):x}>"
    parameters = ", ".join(source.parameters)
    text = _SHARED.sub(r"\1with shared_lock:\n\1    \2", source.text)
    text = f"{text}\n\ndef entry({parameters}):\n"
    text += f"    with errstate(all='ignore'):\n        kernel({parameters})\n"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    names = {**NAMES, "errstate": np.errstate, "shared_lock": threading.RLock(), "said": {}}
    # The simulator gives a kernel its indices of threads through the globals of its functions.
    names["exchanged"] = types.FunctionType(_exchanged.__code__, names)
    exec(compile(text, path, "exec"), names)
    return cuda.jit(names["entry"])
