"""A ``libcuda.so.1`` whose functions are Python's: memory of the host, queues, and errors.

It tries ``numbagrad/cuda/driver/device.py``, through the real cuda-bindings, where no GPU is. What
is queued runs as late as CUDA allows: when somebody waits for it. A wait that is missing is
therefore seen. Memory that was given back is overwritten; addresses, sizes, contexts and handles
are checked, and kernels run in Numba's simulator. As a plugin of pytest it stands for the driver of
all tests:

    NUMBA_ENABLE_CUDASIM=1 python -m pytest -p cuda_library tests/cuda/simulated/test_memory.py

CuPy is not among it: ``driver/twin.py`` stands for that, as in the simulator.
"""

from __future__ import annotations

import ctypes
import itertools
import pathlib
import platform
import struct
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from numbagrad import backend
from numbagrad.cuda.driver import simulated
from numbagrad.executor import capture

DEVICES, MEMORY = 2, 1 << 30
_SUCCESS, _INVALID_VALUE, _NO_MEMORY, _INVALID_CONTEXT = 0, 1, 2, 201
_INVALID_HANDLE, _NOT_READY, _UNKNOWN = 400, 600, 999
_TEXTS = {_INVALID_VALUE: b"invalid argument", _NO_MEMORY: b"out of memory",
          _INVALID_CONTEXT: b"invalid device context", _INVALID_HANDLE: b"invalid resource handle",
          _NOT_READY: b"device not ready"}  # fmt: skip
_POISON = 0xA5


# --- the file -------------------------------------------------------------------------------------


def shared_library() -> bytes:
    """An ELF library of a function, ``cuGetProcAddress_v2``, that jumps to where ``slot`` says."""
    machine, start, data, size = {
        "x86_64": (62, 0x300, 0x1000, 0x1100), "aarch64": (183, 0x300, 0x10000, 0x10100),
    }[platform.machine()]  # fmt: skip
    slot = data + 0xF0
    names = b"\0cuGetProcAddress_v2\0slot\0libcuda.so.1\0"
    at = {x: names.index(x + b"\0") for x in (b"cuGetProcAddress_v2", b"slot", b"libcuda.so.1")}
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    segments = b"".join(
        struct.pack("<IIQQQQQQ", kind, flags, where, where, where, length, length, alignment)
        for kind, flags, where, length, alignment in (
            (1, 5, 0, 0x400, data), (1, 6, data, size - data, data), (2, 6, data, 0x60, 8),
        )
    )  # fmt: skip
    image = bytearray(size)
    image[: 64 + len(segments)] = header + segments
    hashes, symbols = 0x120, 0x140
    image[hashes : hashes + 24] = struct.pack("<6I", 1, 3, 1, 0, 2, 0)
    for number, (name, kind, where, length) in enumerate(
        [(b"cuGetProcAddress_v2", 0x12, start, 16), (b"slot", 0x11, slot, 8)], 1
    ):
        record = struct.pack("<IBBHQQ", at[name], kind, 0, 1, where, length)
        image[symbols + 24 * number : symbols + 24 * (number + 1)] = record
    strings = 0x200
    image[strings : strings + len(names)] = names
    if machine == 62:  # jmp [rip + distance]
        code = b"\xff\x25" + struct.pack("<i", slot - start - 6)
    else:  # ldr x16, distance; br x16
        code = struct.pack("<II", 0x58000010 | (slot - start) // 4 << 5, 0xD61F0200)
    image[start : start + len(code)] = code
    entries = ((14, at[b"libcuda.so.1"]), (4, hashes), (5, strings), (6, symbols),
               (10, len(names)), (11, 24))  # fmt: skip
    image[data : data + 16 * len(entries)] = b"".join([struct.pack("<QQ", *x) for x in entries])
    return bytes(image)


_kept: list[Any] = []  # what C has the addresses of


def install() -> Library:
    """Load the library, so that cuda-bindings finds it under its name."""
    library = Library()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "libcuda.so.1")
        path.write_bytes(shared_library())
        loaded = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    function = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int,
        ctypes.c_uint64, ctypes.c_void_p,
    )  # fmt: skip
    find = function(library.find)
    slot = ctypes.c_void_p.in_dll(loaded, "slot")
    slot.value = ctypes.cast(find, ctypes.c_void_p).value
    _kept.extend([library, loaded, find])
    return library


# --- queues ---------------------------------------------------------------------------------------


class Stream:
    """A queue of a device; what is in it runs when somebody waits for it."""

    def __init__(self, device: int):
        self.device = device
        self.queued: list[Callable[[], None]] = []
        self.runs = False

    def drain(self, until: Callable[[], bool] = lambda: False) -> None:
        """Run what is queued, until something has happened."""
        assert not self.runs, "streams wait for each other"
        self.runs = True
        try:
            while self.queued and not until():
                self.queued.pop(0)()
        finally:
            self.runs = False


class Event:
    """A mark in a queue."""

    def __init__(self, device: int, timing: bool):
        self.device, self.timing = device, timing
        self.stream: Stream | None = None
        self.wanted = self.happened = 0
        self.time = 0.0

    def record(self, stream: Stream) -> None:
        """Queue it."""
        self.stream, self.wanted = stream, self.wanted + 1
        mark = self.wanted

        def happen() -> None:
            self.happened, self.time = mark, time.perf_counter()

        stream.queued.append(happen)

    def wait(self, mark: int) -> None:
        """Run its queue as far as needed."""
        if self.stream is not None and self.happened < mark:
            self.stream.drain(lambda: self.happened >= mark)


class Failure(Exception):
    """An error of the driver, by its number."""


class Library:
    """The functions, by CUDA's names without versions, and what they know."""

    def __init__(self) -> None:
        self._thread = threading.local()
        self._lock = threading.RLock()
        self._handles = itertools.count(0x1000, 16)
        self.contexts = {0x100 + k: k for k in range(DEVICES)}
        self.defaults = [Stream(k) for k in range(DEVICES)]
        self.streams: dict[int, Stream] = {}
        self.events: dict[int, Event] = {}
        #: Memory of devices and pinned memory: address to size, device (-1: the host), and cells.
        self.blocks: dict[int, tuple[int, int, Any]] = {}
        self.modules: dict[int, bytes] = {}
        self.functions: dict[int, Any] = {}
        self.sources: dict[bytes, Any] = {}
        self.calls: dict[str, int] = {}
        self.error = b""
        self._made: dict[str, Any] = {}

    def find(self, name: bytes, pointer: Any, version: int, flags: int, status: Any) -> int:
        """cuGetProcAddress: the address of a function, none for what is not here."""
        pointer[0] = None
        own = getattr(self, name.decode(), None)
        if own is not None:
            pointer[0] = ctypes.cast(self._exported(name.decode(), own), ctypes.c_void_p).value
        return _SUCCESS

    def _exported(self, name: str, own: Callable[..., Any]) -> Any:
        if name not in self._made:
            code = own.__func__.__code__  # type: ignore[attr-defined]
            names = code.co_varnames[1 : code.co_argcount]
            kinds = [_KINDS[own.__func__.__annotations__[x]] for x in names]  # type: ignore[attr-defined]

            def call(*given: Any) -> int:
                try:
                    with self._lock:
                        self.calls[name] = self.calls.get(name, 0) + 1
                        return own(*given) or _SUCCESS
                except Failure as failure:
                    return int(failure.args[0])
                except BaseException:
                    self.error = traceback.format_exc().encode()
                    return _UNKNOWN

            self._made[name] = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(call)
        return self._made[name]

    # --- what functions ask ---

    def _device(self) -> int:
        """The device of the context of the thread."""
        device = self.contexts.get(getattr(self._thread, "context", None) or 0)
        if device is None:
            raise Failure(_INVALID_CONTEXT)
        return device

    def _stream(self, handle: int | None) -> Stream:
        if not handle or handle == 1:
            return self.defaults[self._device()]
        if handle == 2:  # the default one of a thread
            own: int = self._thread.__dict__.setdefault("stream", next(self._handles))
            return self.streams.setdefault(own, Stream(self._device()))
        if handle not in self.streams:
            raise Failure(_INVALID_HANDLE)
        self._device()
        return self.streams[handle]

    def _event(self, handle: int | None) -> Event:
        if handle not in self.events:
            raise Failure(_INVALID_HANDLE)
        return self.events[handle or 0]

    def block_of(self, address: int, nbytes: int = 1) -> tuple[int, int]:
        """The address and device of the block that bytes lie in.

        Raises:
            Failure: if they lie in none, or beyond its end.
        """
        for start, (size, device, _) in self.blocks.items():
            if start <= address and address + nbytes <= start + size:
                return start, device
        raise Failure(_INVALID_VALUE)

    def _new_block(self, nbytes: int, device: int) -> int:
        cells = np.full(nbytes + 512, _POISON, np.uint8)
        address = int(-(-cells.ctypes.data // 512) * 512)
        self.blocks[address] = nbytes, device, cells
        return address

    def used(self, device: int) -> int:
        """Bytes that were taken from a device."""
        return sum([size for size, own, _ in self.blocks.values() if own == device])

    def drain(self) -> None:
        """Run all that is queued."""
        for stream in [*self.defaults, *self.streams.values()]:
            stream.drain()

    # --- devices ---

    def cuInit(self, flags: Number) -> int | None: ...

    def cuDriverGetVersion(self, version: Numbers) -> None:
        version[0] = 13000

    def cuGetErrorString(self, code: Number, text: Texts) -> None:
        text[0] = self.error if code == _UNKNOWN else _TEXTS.get(code, b"an error")

    def cuDeviceGetCount(self, count: Numbers) -> None:
        count[0] = DEVICES

    def cuDeviceGet(self, device: Numbers, index: Number) -> None:
        if not 0 <= index < DEVICES:
            raise Failure(101)
        device[0] = index

    def cuDeviceGetAttribute(self, value: Numbers, kind: Number, device: Number) -> None:
        value[0] = {75: 9, 76: 0, 16: 1}[kind]  # compute capability; multiprocessors

    def cuDeviceGetName(self, name: Address, size: Number, device: Number) -> None:
        text = b"a GPU of Python"
        ctypes.memmove(name, text + b"\0", len(text) + 1)

    def cuDeviceTotalMem(self, size: Sizes, device: Number) -> None:
        size[0] = MEMORY

    def cuDeviceCanAccessPeer(self, answer: Numbers, device: Number, other: Number) -> None:
        answer[0] = int(device != other)

    def cuDevicePrimaryCtxRetain(self, context: Addresses, device: Number) -> None:
        context[0] = 0x100 + device

    def cuCtxSetCurrent(self, context: Address) -> None:
        if context and context not in self.contexts:
            raise Failure(_INVALID_CONTEXT)
        self._thread.context = context

    def cuCtxGetCurrent(self, context: Addresses) -> None:
        context[0] = getattr(self._thread, "context", None)

    def cuCtxSynchronize(self) -> None:
        device = self._device()
        for stream in [self.defaults[device], *self.streams.values()]:
            if stream.device == device:
                stream.drain()

    # --- streams and events ---

    def cuStreamCreateWithPriority(
        self, stream: Addresses, flags: Number, priority: Number
    ) -> None:
        handle = next(self._handles)
        self.streams[handle] = Stream(self._device())
        stream[0] = handle

    def cuStreamSynchronize(self, stream: Address) -> None:
        self._stream(stream).drain()

    def cuStreamQuery(self, stream: Address) -> int:
        return _NOT_READY if self._stream(stream).queued else _SUCCESS

    def cuStreamWaitEvent(self, stream: Address, event: Address, flags: Number) -> None:
        found = self._event(event)
        mark = found.wanted
        self._stream(stream).queued.append(lambda: found.wait(mark))

    def cuEventCreate(self, event: Addresses, flags: Number) -> None:
        handle = next(self._handles)
        self.events[handle] = Event(self._device(), not flags & 2)
        event[0] = handle

    def cuEventDestroy(self, event: Address) -> None:
        self._event(event)
        del self.events[event]

    def cuEventRecord(self, event: Address, stream: Address) -> None:
        found, queue = self._event(event), self._stream(stream)
        if found.device != queue.device:
            raise Failure(_INVALID_HANDLE)
        found.record(queue)

    def cuEventSynchronize(self, event: Address) -> None:
        self._device()
        found = self._event(event)
        found.wait(found.wanted)

    def cuEventQuery(self, event: Address) -> int:
        self._device()
        found = self._event(event)
        return _SUCCESS if found.happened >= found.wanted else _NOT_READY

    def cuEventElapsedTime(self, time: Floats, first: Address, second: Address) -> None:
        self._device()
        a, b = self._event(first), self._event(second)
        if not (a.timing and b.timing and a.wanted and b.wanted):
            raise Failure(_INVALID_HANDLE)
        if a.happened < a.wanted or b.happened < b.wanted:
            raise Failure(_NOT_READY)
        time[0] = (b.time - a.time) * 1000

    # --- memory ---

    def cuDeviceGetDefaultMemPool(self, pool: Addresses, device: Number) -> None:
        pool[0] = 0x200 + device

    def cuMemPoolSetAttribute(self, pool: Address, kind: Number, value: Sizes) -> None:
        assert kind == 4 and value[0] == 2**64 - 1, (kind, value[0])

    def cuMemPoolGetAttribute(self, pool: Address, kind: Number, value: Sizes) -> None:
        assert kind == 5, kind
        value[0] = self.used(pool - 0x200)

    def cuMemPoolTrimTo(self, pool: Address, size: Size) -> None:
        assert pool - 0x200 in range(DEVICES)

    def cuMemGetInfo(self, free: Sizes, total: Sizes) -> None:
        free[0], total[0] = MEMORY - self.used(self._device()), MEMORY

    def cuMemAllocAsync(self, address: Sizes, size: Size, stream: Address) -> None:
        device = self._stream(stream).device
        if not size:
            raise Failure(_INVALID_VALUE)
        if self.used(device) + size > MEMORY:
            raise Failure(_NO_MEMORY)
        address[0] = self._new_block(size, device)

    def cuMemFreeAsync(self, address: Size, stream: Address) -> None:
        size, device, cells = self.blocks[address]
        queue = self._stream(stream)
        assert device == queue.device

        def free() -> None:
            cells[:] = _POISON
            del self.blocks[address]

        queue.queued.append(free)

    def cuMemAllocHost(self, address: Addresses, size: Size) -> None:
        self._device()
        address[0] = self._new_block(size, -1)

    def cuPointerGetAttribute(self, value: Numbers, kind: Number, address: Size) -> None:
        assert kind == 9, kind
        value[0] = self.block_of(address)[1]

    def _copy(self, queue: Stream, target: int, source: int, nbytes: int) -> None:
        def copy() -> None:
            for address in (target, source):
                if not self._is_of_host(address):
                    self.block_of(address, nbytes)
            ctypes.memmove(target, source, nbytes)

        queue.queued.append(copy)

    def _is_of_host(self, address: int) -> bool:
        """Whether an address is of no memory from here, which CUDA cannot tell from the host's."""
        try:
            self.block_of(address)
        except Failure:
            return True
        return False

    def _on(self, address: int, nbytes: int, device: int) -> None:
        if self.block_of(address, nbytes)[1] != device:
            raise Failure(_INVALID_VALUE)

    def cuMemcpyHtoDAsync(
        self, target: Size, source: Address, nbytes: Size, stream: Address
    ) -> None:
        queue = self._stream(stream)
        self._on(target, nbytes, queue.device)
        # Memory that is not pinned is read later as well: CUDA does so where GPUs reach all memory.
        self._copy(queue, target, source, nbytes)

    def cuMemcpyDtoHAsync(
        self, target: Address, source: Size, nbytes: Size, stream: Address
    ) -> None:
        queue = self._stream(stream)
        self._on(source, nbytes, queue.device)
        self._copy(queue, target, source, nbytes)

    def cuMemcpyPeerAsync(
        self, target: Size, there: Address, source: Size, here: Address, nbytes: Size,
        stream: Address,
    ) -> None:  # fmt: skip
        self._on(target, nbytes, self.contexts[there])
        self._on(source, nbytes, self.contexts[here])
        self._copy(self._stream(stream), target, source, nbytes)

    # --- kernels ---

    def cuModuleLoadData(self, module: Addresses, image: Address) -> None:
        self._device()
        handle = next(self._handles)
        self.modules[handle] = ctypes.string_at(image, 32)
        module[0] = handle

    def cuModuleGetFunction(self, function: Addresses, module: Address, name: Text) -> None:
        assert name == b"entry"
        handle = next(self._handles)
        self.functions[handle] = self._device(), self.sources[self.modules[module]]
        function[0] = handle

    def cuLaunchKernel(
        self, function: Address, x: Count, y: Count, z: Count, threads: Count, ty: Count,
        tz: Count, shared: Count, stream: Address, parameters: Address, extra: Words,
    ) -> None:  # fmt: skip
        device, (source, kernel) = self.functions[function]
        queue = self._stream(stream)
        assert (y, z, ty, tz, shared, parameters) == (1, 1, 1, 1, 0, None)
        assert device == queue.device and 0 < x < 1 << 31 and threads == source.threads
        assert (extra[0], extra[2], extra[4]) == (1, 2, None), "the list of packed arguments"
        size = ctypes.cast(extra[3], ctypes.POINTER(ctypes.c_size_t))[0]
        assert size == 8 * len(source.parameters), (size, source.parameters)
        given = np.frombuffer(ctypes.string_at(extra[1], size), np.int64)  # which CUDA copies

        def run() -> None:
            with simulated._switching_often(), capture.unheard():
                kernel[x, threads](*given)

        queue.queued.append(run)


Number = Numbers = Count = Size = Sizes = Floats = Address = Addresses = Text = Texts = Words = Any
_KINDS: dict[Any, Any] = {
    "Number": ctypes.c_int, "Numbers": ctypes.POINTER(ctypes.c_int), "Count": ctypes.c_uint,
    "Size": ctypes.c_size_t, "Sizes": ctypes.POINTER(ctypes.c_size_t),
    "Floats": ctypes.POINTER(ctypes.c_float), "Address": ctypes.c_void_p,
    "Addresses": ctypes.POINTER(ctypes.c_void_p), "Text": ctypes.c_char_p,
    "Texts": ctypes.POINTER(ctypes.c_char_p), "Words": ctypes.POINTER(ctypes.c_void_p),
}  # fmt: skip


# --- a driver over it -----------------------------------------------------------------------------


def device(library: Library) -> Any:
    """The driver of ``device.py`` with kernels of the simulator, and what stands for CuPy there."""
    compiling = types.ModuleType("numbagrad.cuda.driver.compiling")

    def compile_to_cubin(source: Any, architecture: tuple[int, int]) -> tuple[bytes, str]:
        assert architecture == (9, 0)
        code = f"{len(library.sources):032}".encode()
        library.sources[code] = source, simulated._made(source)
        return code, "entry"

    compiling.compile_to_cubin = compile_to_cubin  # type: ignore[attr-defined]
    sys.modules[compiling.__name__] = compiling
    from numbagrad.cuda.driver.device import Device

    small = simulated.Simulated

    class Host(Device):
        """Small numbers, for kernels that run as Python; CuPy's functions on what is done."""

        threads, lanes, segment, blocks = small.threads, small.lanes, small.segment, small.blocks
        piece, large_product, attention_side = small.piece, small.large_product, 2
        product_shape, attention_block = small.product_shape, small.attention_block

        def as_cupy(self, array: Any) -> Any:
            """An array of what stands for CuPy, behind all that is queued."""
            library.drain()
            return small.as_cupy(self, array)  # type: ignore[arg-type]

        of_scipy = staticmethod(small.of_scipy)

        def library(self, index: int) -> Any:
            """The context of CuPy's functions; there are none."""
            self.bind(index)
            return small.library(self, index)  # type: ignore[arg-type]

        def run_function(self, function: Any, arrays: Any, index: int = 0) -> None:
            """A user's function, by the simulator."""
            self._lock = threading.RLock()
            small.run_function(self, function, arrays, index)  # type: ignore[arg-type]

    return Host()


def pytest_configure(config: Any) -> None:
    """Have it stand for the driver of all tests."""
    from numbagrad.cuda import driver

    backend.files.add(__file__)  # traces of compiled functions do not watch it, as they do not C
    driver._chosen.append(device(install()))
