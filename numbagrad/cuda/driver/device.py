"""GPUs by CUDA's driver: memory from its stream-ordered pools, launches with packed arguments.

Everything is queued on the current stream of the thread and device; ``download`` waits for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from cuda.bindings import driver as cu

from ...executor import capture
from ...interrupts import uninterrupted
from ..kernels.attention import block_for
from ..kernels.matmul import Shape, shape_for
from .calls import checked, count_devices, is_done
from .memory import PinnedMemory, exhausted
from .source import Source

_NO_MEMORY = cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY

# CUDA's marks in the list by which a launch finds its packed arguments.
_BUFFER_POINTER, _BUFFER_SIZE = 1, 2


class DeviceProperties(NamedTuple):
    """The result of ``torch.cuda.get_device_properties`` for a GPU."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def _library_contexts(index: int, stream: int) -> tuple[Any, ...]:
    """CuPy's contexts of a device, a stream, the driver's pool, and errors of matrices."""
    import cupy
    import cupyx

    return (
        cupy.cuda.Device(index),
        _stream_of_library(index, stream),
        cupy.cuda.using_allocator(_pool_of_library().malloc),
        cupyx.errstate(linalg="raise"),
    )


@functools.cache
def _stream_of_library(index: int, stream: int) -> Any:
    """A stream as CuPy's, kept for good: it gives memory back in the order of streams that live."""
    import cupy

    return cupy.cuda.Stream.from_external(_Stream(stream))


@functools.cache
def _pool_of_library() -> Any:
    """The driver's pools as CuPy's."""
    import cupy

    return cupy.cuda.MemoryAsyncPool("current")


class Block:
    """Memory of a GPU, given back to the pool in the order of its stream when nobody holds it."""

    __slots__ = ("address", "nbytes", "device", "stream", "_others", "_driver", "__weakref__")

    def __init__(self, driver: Device, address: int, nbytes: int, device: int, stream: int):
        self.address, self.nbytes, self.device = address, nbytes, device
        self.stream, self._driver = stream, driver
        #: Other streams that use it, which are waited for before it is given back.
        self._others: tuple[int, ...] = ()
        driver.note(device, nbytes)

    def used_on(self, stream: int) -> None:
        """Note another stream whose work so far, and until the end of this block, uses it."""
        if stream not in (self.stream, *self._others):
            self._others += (stream,)

    def __del__(self) -> None:
        if self.address:
            where = self.device, self.stream
            self._driver.free(self.address, self.nbytes, *where, self._others)


def _device(index: int) -> Any:
    """A device as the driver names it."""
    return checked(cu.cuDeviceGet(index))


class _Stream(NamedTuple):
    """A stream as other libraries take it."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class _Current(threading.local):
    """The device and the streams of a thread."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, int] = {}


class Device:
    """The driver of all GPUs of this process."""

    is_simulated = False
    #: Threads of a block, and of a warp; elements that a thread of a reduction takes at least
    #: before the work is cut into segments.
    threads, lanes, segment = 256, 32, 16
    #: Elements of a piece of an optimizer's step; multiplications that are worth a call of cuBLAS.
    piece, large_product = 4096, 1 << 24

    def __init__(self) -> None:
        self.device_count = count_devices()
        self._current = _Current()
        self._contexts: dict[int, Any] = {}
        self._functions: dict[tuple[Source, int], Any] = {}
        self._modules: list[Any] = []
        self._of_users: dict[Any, Any] = {}
        self._lock = threading.RLock()
        self._allocated = [0] * self.device_count
        self._peak = [0] * self.device_count
        self.launches = self.waits = 0
        #: Streams that nobody has, by device and priority; and what those that were made are.
        self._idle_streams: dict[tuple[int, int], list[int]] = {}
        self._made_streams: dict[int, tuple[int, int]] = {}
        #: Memory of the host that copies under way read or write, each with an event behind it.
        self._in_use: list[tuple[int, Any]] = []
        #: Pinned memory that nobody has, by its size: to lock and unlock memory takes long.
        self._idle_pinned: dict[int, list[int]] = {}

    # --- devices and streams ---

    @property
    def current(self) -> int:
        """The device of new arrays in this thread."""
        return self._current.device

    @current.setter
    def current(self, index: int) -> None:
        self._current.device = index
        self.bind(index)  # other libraries use the device of the context

    def bind(self, index: int) -> None:
        """Make the primary context of a device that of this thread, whichever others chose."""
        checked(cu.cuCtxSetCurrent(self._context(index)))

    def _context(self, index: int) -> Any:
        """The primary context of a device."""
        found = self._contexts.get(index)
        if found is None:
            with self._lock:
                if index not in self._contexts:
                    self._contexts[index] = checked(cu.cuDevicePrimaryCtxRetain(_device(index)))
                    self._keep_memory(index)
                found = self._contexts[index]
        return found

    def stream(self, index: int | None = None) -> int:
        """The handle of the current stream of a device; 0 is the default one."""
        return self._current.streams.get(self.current if index is None else index, 0)

    def set_stream(self, index: int, handle: int) -> None:
        """Choose the stream of a device for this thread."""
        self._current.streams[index] = handle

    def new_stream(self, index: int, priority: int = 0) -> int:
        """The handle of a new stream that does not wait for the default one."""
        self.bind(index)
        with self._lock:
            if idle := self._idle_streams.get((index, priority)):
                return idle.pop()
            flags = cu.CUstream_flags.CU_STREAM_NON_BLOCKING
            handle = int(checked(cu.cuStreamCreateWithPriority(flags, priority)))
            self._made_streams[handle] = index, priority
        return handle

    def destroy_stream(self, handle: int) -> None:
        """Keep a stream for the next that is asked for: memory is still given back in its order."""
        with self._lock:
            self._idle_streams.setdefault(self._made_streams[handle], []).append(handle)

    def wait_for_stream(self, handle: int, index: int) -> None:
        """Wait for all that was queued on a stream of a device."""
        self.bind(index)
        self.waits += 1
        checked(cu.cuStreamSynchronize(cu.CUstream(handle)))

    def is_stream_done(self, handle: int, index: int) -> bool:
        """Whether all that was queued on a stream of a device is done."""
        self.bind(index)
        return is_done(cu.cuStreamQuery(cu.CUstream(handle)))

    def new_event(self, timing: bool, index: int) -> int:
        """The handle of a new event, which streams of one device can record."""
        flags = cu.CUevent_flags
        chosen = flags.CU_EVENT_DEFAULT if timing else flags.CU_EVENT_DISABLE_TIMING
        self.bind(index)
        return int(checked(cu.cuEventCreate(chosen)))

    def destroy_event(self, handle: int) -> None:
        """Give an event back."""
        cu.cuEventDestroy(cu.CUevent(handle))

    def record_event(self, event: int, stream: int, index: int) -> None:
        """Have an event happen when all that is queued on a stream of its device so far is done."""
        self.bind(index)
        checked(cu.cuEventRecord(cu.CUevent(event), cu.CUstream(stream)))

    def wait_for_event(self, event: int) -> None:
        """Have this thread wait for an event."""
        self.bind(self.current)  # a thread that has done nothing else has no context
        self.waits += 1
        checked(cu.cuEventSynchronize(cu.CUevent(event)))

    def queue_behind_event(self, event: int, stream: int, index: int) -> None:
        """Have what is queued on a stream of a device from here wait for an event."""
        self.bind(index)
        checked(cu.cuStreamWaitEvent(cu.CUstream(stream), cu.CUevent(event), 0))

    def queue_behind(
        self, stream: int, source: int, index: int, waiting: int | None = None
    ) -> None:
        """Have a stream of device ``index``, or its current one, wait for one of ``source``."""
        event = self.new_event(False, source)
        self.record_event(event, stream, source)
        self.queue_behind_event(event, self.stream(index) if waiting is None else waiting, index)
        self.destroy_event(event)

    def is_event_done(self, event: int) -> bool:
        """Whether an event has happened."""
        self.bind(self.current)
        return is_done(cu.cuEventQuery(cu.CUevent(event)))

    def milliseconds_between(self, first: int, second: int) -> float:
        """The time between two events that have happened."""
        self.bind(self.current)
        return float(checked(cu.cuEventElapsedTime(cu.CUevent(first), cu.CUevent(second))))

    def synchronise(self, index: int | None = None) -> None:
        """Wait for all that was queued on a device."""
        self.bind(self.current if index is None else index)
        self.waits += 1
        checked(cu.cuCtxSynchronize())

    @functools.cache  # noqa: B019 - there is one driver
    def properties(self, index: int) -> DeviceProperties:
        """The properties of a GPU."""
        device = _device(index)
        kinds = cu.CUdevice_attribute
        major, minor, processors = [
            int(checked(cu.cuDeviceGetAttribute(x, device)))
            for x in (
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            )
        ]
        name = checked(cu.cuDeviceGetName(256, device)).split(b"\0")[0].decode()
        memory = int(checked(cu.cuDeviceTotalMem(device)))
        return DeviceProperties(name, major, minor, memory, processors)

    @property
    def blocks(self) -> int:
        """Blocks that a launch has at most: several for each processor."""
        return 16 * self.properties(self.current).multi_processor_count

    def reaches(self, index: int, other: int) -> bool:
        """Whether a device can read the memory of another."""
        return bool(checked(cu.cuDeviceCanAccessPeer(_device(index), _device(other))))

    # --- memory ---

    def _pool(self, index: int) -> Any:
        return checked(cu.cuDeviceGetDefaultMemPool(_device(index)))

    def _keep_memory(self, index: int) -> None:
        """Have the pool of a device keep what is given back, until ``empty_cache``."""
        threshold = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        checked(cu.cuMemPoolSetAttribute(self._pool(index), threshold, cu.cuuint64_t(2**64 - 1)))

    def note(self, index: int, nbytes: int) -> None:
        """Count memory that was taken or given back."""
        with self._lock:
            self._allocated[index] += nbytes
            self._peak[index] = max(self._peak[index], self._allocated[index])

    def allocate(self, nbytes: int, index: int = 0) -> Block:
        """A new block of memory of a device.

        Raises:
            OutOfMemoryError: if there is not enough, also after unused memory was given back.
        """
        self.bind(index)
        stream = self.stream(index)
        size = max(nbytes, 1)
        code, address = cu.cuMemAllocAsync(size, cu.CUstream(stream))
        if code == _NO_MEMORY:
            self.empty_cache(index)
            code, address = cu.cuMemAllocAsync(size, cu.CUstream(stream))
        if code == _NO_MEMORY:
            total = self.properties(index).total_memory
            raise exhausted(nbytes, index, total, self._allocated[index], self.reserved(index))
        return Block(self, int(checked((code, address))), nbytes, index, stream)

    def free(
        self, address: int, nbytes: int, index: int, stream: int, others: Sequence[int] = ()
    ) -> None:
        """Give memory back in the order of a stream, behind all that others have queued so far.

        Whichever thread calls. The collector may do so in the middle of work on another device,
        whose context stays. At the end of a process CUDA may be gone, and what the calls say is of
        no use.
        """
        self.note(index, -nbytes)
        _, before = cu.cuCtxGetCurrent()
        cu.cuCtxSetCurrent(self._contexts[index])  # the default stream is that of the context
        for other in others:
            _, event = cu.cuEventCreate(cu.CUevent_flags.CU_EVENT_DISABLE_TIMING)
            cu.cuEventRecord(event, cu.CUstream(other))
            cu.cuStreamWaitEvent(cu.CUstream(stream), event, 0)
            cu.cuEventDestroy(event)
        cu.cuMemFreeAsync(cu.CUdeviceptr(address), cu.CUstream(stream))
        cu.cuCtxSetCurrent(before)

    def allocated(self, index: int) -> int:
        """Bytes in use."""
        return self._allocated[index]

    def peak(self, index: int) -> int:
        """The most bytes in use since ``reset_peak``."""
        return self._peak[index]

    def reset_peak(self, index: int) -> None:
        """Count the most bytes from here."""
        self._peak[index] = self._allocated[index]

    def reserved(self, index: int) -> int:
        """Bytes that the pool has of the device, in use or not."""
        self.bind(index)
        kind = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
        return int(checked(cu.cuMemPoolGetAttribute(self._pool(index), kind)))

    def free_and_total(self, index: int) -> tuple[int, int]:
        """Bytes of the device that nobody has, and all of them."""
        self.bind(index)
        free, total = checked(cu.cuMemGetInfo())
        return int(free), int(total)

    def empty_cache(self, index: int | None = None) -> None:
        """Give unused memory of the pool back to the device."""
        index = self.current if index is None else index
        self.synchronise(index)
        checked(cu.cuMemPoolTrimTo(self._pool(index), 0))

    def upload(self, address: int, source: int, nbytes: int, index: int = 0) -> None:
        """Copy bytes of the host to a device, behind all that is queued on its stream; and wait."""
        self.upload_later(address, source, nbytes, None, index)
        if nbytes:
            self.wait_for_stream(self.stream(index), index)

    def upload_later(
        self, address: int, source: int, nbytes: int, owner: Any, index: int = 0
    ) -> None:
        """Queue a copy of bytes of the host, and hold on to their owner until it is done."""
        if nbytes:
            self.bind(index)
            stream = cu.CUstream(self.stream(index))
            checked(cu.cuMemcpyHtoDAsync(cu.CUdeviceptr(address), source, nbytes, stream))
            self._hold(owner, index)

    def download(self, target: int, address: int, nbytes: int, index: int = 0) -> None:
        """Copy bytes of a device to the host, behind all that is queued on its stream; and wait."""
        self.download_later(target, address, nbytes, None, index)
        if nbytes:
            self.wait_for_stream(self.stream(index), index)

    def download_later(
        self, target: int, address: int, nbytes: int, owner: Any, index: int = 0
    ) -> None:
        """Queue a copy to pinned bytes, and hold on to their owner until it is done."""
        if nbytes:
            self.bind(index)
            stream = cu.CUstream(self.stream(index))
            checked(cu.cuMemcpyDtoHAsync(target, cu.CUdeviceptr(address), nbytes, stream))
            self._hold(owner, index)

    def _hold(self, owner: Any, index: int) -> None:
        """Keep an object until all that is queued so far on the stream of a device is done."""
        if owner is None:
            return
        event = self.new_event(False, index)
        self.record_event(event, self.stream(index), index)
        with self._lock:
            waiting = []
            for each in self._in_use:
                if self.is_event_done(each[0]):
                    self.destroy_event(each[0])
                else:
                    waiting.append(each)
            self._in_use = [*waiting, (event, owner)]

    def move(self, target: int, address: int, nbytes: int, index: int, there: int) -> None:
        """Queue a copy to another device, between what is queued on the streams of both.

        It is on the stream of the source. Neither device has to reach the other's memory.
        """
        if nbytes:
            self.queue_behind(self.stream(there), there, index)  # memory may be in use until then
            self.bind(index)
            to, of = cu.CUdeviceptr(target), cu.CUdeviceptr(address)
            stream, contexts = cu.CUstream(self.stream(index)), self._contexts
            checked(cu.cuMemcpyPeerAsync(to, contexts[there], of, contexts[index], nbytes, stream))
            self.queue_behind(self.stream(index), index, there)

    def allocate_pinned(self, nbytes: int) -> PinnedMemory:
        """Memory of the host that is locked, for copies to and from devices; kept for the next.

        Copies hold on to it (``_hold``), so that nothing is under way when it is given back.
        """
        size = 1 << max(nbytes - 1, 511).bit_length()
        with self._lock:
            idle = self._idle_pinned.setdefault(size, [])
            address = idle.pop() if idle else 0
        if not address:
            self.bind(self.current)
            address = int(checked(cu.cuMemAllocHost(size)))
        return PinnedMemory(address, nbytes, lambda: idle.append(address))

    @functools.cached_property
    def _failed(self) -> Any:
        """A word of pinned memory, which all devices write at its address."""
        word = np.asarray(self.allocate_pinned(8)).view(np.int64)
        word[0] = 0
        return word

    @property
    def failure_address(self) -> int:
        """Where kernels note that values were bad (``cuda/asserts.py``)."""
        return int(self._failed.ctypes.data)

    def take_failure(self) -> int:
        """The failure that kernels noted, 0 for none; forgotten then. Synchronise before it."""
        word = int(self._failed[0])
        self._failed[0] = 0
        return word

    def device_of(self, address: int) -> int:
        """The number of the device that has an address."""
        self.bind(self.current)
        kind = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(checked(cu.cuPointerGetAttribute(kind, cu.CUdeviceptr(address))))

    # --- kernels ---

    def product_shape(self, dtype: str, rows: int, columns: int, count: int) -> Shape:
        """How a matrix product is cut."""
        processors = self.properties(self.current).multi_processor_count
        return shape_for(dtype, rows, columns, count, processors)

    attention_side = 16

    def attention_block(self, itemsize: int, width: int, wide: int) -> int:
        """How many queries and keys a tile of attention has."""
        return block_for(itemsize, width, wide)

    def _function(self, source: Source, index: int) -> Any:
        """The kernel of a text in the context of a device."""
        # A trace hears no calls of the compiler, and an interrupt waits until it is done.
        with self._lock, capture.unheard(), uninterrupted():
            return self._loaded(source, index)

    def _loaded(self, source: Source, index: int) -> Any:
        from .compiling import compile_to_cubin

        properties = self.properties(index)
        code, name = compile_to_cubin(source, (properties.major, properties.minor))
        module = checked(cu.cuModuleLoadData(code))
        self._modules.append(module)
        found = checked(cu.cuModuleGetFunction(module, name.encode()))
        self._functions[source, index] = found
        return found

    def run_function(self, function: Any, arrays: Sequence[Any], index: int = 0) -> None:
        """A user's function of arrays as a CUDA function of one thread, by Numba's dispatcher."""
        from numba import cuda

        self.bind(index)
        plain = getattr(function, "py_func", function)
        with self._lock, capture.unheard():
            compiled = self._of_users.get(plain)
            if compiled is None:
                compiled = self._of_users[plain] = cuda.jit(plain)
        compiled[1, 1, cuda.external_stream(self.stream(index))](*arrays)
        self.launches += 1

    def launch(
        self, source: Source, blocks: int, launch_args: Sequence[int], index: int = 0
    ) -> None:
        """Queue a kernel in so many blocks on the current stream of a device."""
        self.bind(index)
        function = self._functions.get((source, index)) or self._function(source, index)
        packed = (ctypes.c_int64 * len(launch_args))(*launch_args)
        size = ctypes.c_size_t(ctypes.sizeof(packed))
        extra = (ctypes.c_void_p * 5)(
            _BUFFER_POINTER, ctypes.addressof(packed), _BUFFER_SIZE, ctypes.addressof(size), None
        )
        stream = cu.CUstream(self.stream(index))
        checked(
            cu.cuLaunchKernel(
                function, blocks, 1, 1, source.threads, 1, 1, 0, stream, 0, ctypes.addressof(extra)
            )
        )
        self.launches += 1

    # --- CuPy, for what has no kernel here ---

    def as_cupy(self, array: Any) -> Any:
        """The same memory as an array of CuPy."""
        import cupy

        memory = cupy.cuda.UnownedMemory(
            array.block.address, array.block.nbytes, array.block, array.block.device
        )
        offset = array.address - array.block.address
        pointer = cupy.cuda.MemoryPointer(memory, offset)
        return cupy.ndarray(array.shape, array.dtype, pointer, array.strides)

    def of_scipy(self, module: str, name: str) -> Any:
        """A function of ``scipy.<module>`` for arrays of CuPy."""
        return getattr(importlib.import_module(f"cupyx.scipy.{module}"), name)

    @contextlib.contextmanager
    def library(self, index: int) -> Iterator[None]:
        """CuPy on a device, its current stream and its pool; matrices without a result raise."""
        with contextlib.ExitStack() as stack:
            for context in _library_contexts(index, self.stream(index)):
                stack.enter_context(context)
            yield
