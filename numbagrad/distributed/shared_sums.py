"""Sums over the ranks of one machine, in memory that all of them see; no message is sent.

Each rank puts its array into a part of that memory. When all have, each rank adds up one slice of
all arrays, each times a factor of its rank, in the order of the ranks, and writes the sum over that
slice of every array, so that everybody gets the same bits, and no memory is touched that was not
read; when all have done that, the sums are whole. How far they are they say in the same memory.
When a sum is over, its array belongs to its rank until that gives the next: gradients can be views
of it. ``mpi.py`` makes the sums of a ``Reducer``.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import logging
import math
import mmap
import os
import pathlib
import platform
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import half_precision as half
from ..executor.hand_written import HandWrittenKernel
from .communicator import Array, Request, Requests, Sum
from .launcher import check_launcher

__all__ = ["IS_POSSIBLE", "SharedSum", "SharedSums", "make_file", "map_file", "size_of"]

#: Where files are memory.
FOLDER = pathlib.Path("/dev/shm")
#: Other ranks have to see what one writes in the order in which it writes, as x86-64 has it without
#: a fence. NUMBAGRAD_MPI_SHARED_MEMORY=0 leaves the sums to MPI.
IS_POSSIBLE = (
    platform.machine() in ("x86_64", "AMD64")
    and os.environ.get("NUMBAGRAD_MPI_SHARED_MEMORY", "1") != "0"
)
#: Bytes of a huge page. Gradients of large models are more than the processor's tables of small
#: pages hold, in the memory of several ranks even more so.
_HUGE_PAGE = 1 << 21
_COLLAPSE = 25  # MADV_COLLAPSE of Linux 6.1: have memory lie in huge pages, whatever files do else
_MAP_SHARED_FIXED = 0x11
#: Bytes of half precision that are added up at a time: they stay in the cache of a core.
_CHUNK_BYTES = 1 << 17
#: Elements of a sum that are worth a thread of their own.
_GRAIN = 1 << 18
#: The kernels that add up, and how many numbers of theirs an element is.
_SUMS = {
    np.dtype(name): (
        HandWrittenKernel("kernels.reduction.shared_sum", f"sum_for_all_{real}"), count
    )
    for name, real, count in (
        ("float32", "float32", 1), ("float64", "float64", 1),
        ("complex64", "float32", 2), ("complex128", "float64", 2),
    )
}  # fmt: skip
#: Seconds in which a rank that waits keeps its core, where each rank can have one, and after them
#: those in which it gives up its core again and again, before it sleeps.
_SPIN_SECONDS, _YIELD_SECONDS = 1e-3, 2e-3

# What a rank has done of a sum. What it says is how many it has done, times _STAGES, plus this.
_GIVEN, _ADDED = 1, 2
_STAGES = 2


def make_file(size: int) -> str | None:
    """A file of so many bytes in memory, or None where there is no room for it."""
    path = FOLDER / f"numbagrad-{os.getpid()}-{time.monotonic_ns()}"
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except OSError:  # no such folder, or one that cannot be written: MPI sums instead
        return None
    has_room = _reserve(descriptor, size)
    os.close(descriptor)
    if has_room:
        return str(path)
    path.unlink()
    return None


def _reserve(descriptor: int, size: int) -> bool:
    """Give a file its memory, so that no write finds none; False where there is too little."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        logging.getLogger("numbagrad").warning(
            "%s has no room for %d bytes in which ranks would add up gradients (%s), so MPI adds "
            "them up, which takes longer; containers have an option for its size (--shm-size)",
            FOLDER, size, error.strerror,
        )  # fmt: skip
        return False
    return True


def map_file(path: str) -> Any:
    """The memory of a file, in huge pages if it is large and the system has them.

    None if the file cannot be opened, as on another machine.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        if size < _HUGE_PAGE:
            return mmap.mmap(descriptor, 0)
        return _mapped_at_huge_page(descriptor, size)
    finally:
        os.close(descriptor)


def _mapped_at_huge_page(descriptor: int, size: int) -> memoryview:
    """The memory of a file at an address that huge pages can have.

    ``mmap`` of Python has no say in the address, so the file takes the place of a part of other
    memory, and is unmapped with that.
    """
    room = mmap.mmap(-1, size + _HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    address = -(-start // _HUGE_PAGE) * _HUGE_PAGE
    process = _process()
    access = mmap.PROT_READ | mmap.PROT_WRITE
    if process.mmap(address, size, access, _MAP_SHARED_FIXED, descriptor, 0) != address:
        error = ctypes.get_errno()
        raise OSError(error, f"mmap of {size} bytes that ranks share: {os.strerror(error)}")
    process.madvise(
        address, size // _HUGE_PAGE * _HUGE_PAGE, _COLLAPSE
    )  # where that fails pages are small
    return memoryview(room)[address - start : address - start + size]


@functools.lru_cache(maxsize=1)
def _process() -> ctypes.CDLL:
    process = ctypes.CDLL(None, use_errno=True)
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    process.mmap.argtypes = [address, size, number, number, number, ctypes.c_long]
    process.mmap.restype = ctypes.c_void_p
    process.madvise.argtypes = [address, size, number]
    return process


Forms = Sequence[tuple[int, "np.dtype[Any]"]]


def size_of(forms: Forms, ranks: int) -> int:
    """Bytes that sums of such numbers of elements and dtypes take, for so many ranks.

    If huge pages are worth it, these are full.
    """
    arrays = sum([_padded(count * kind.itemsize) for count, kind in forms])
    size = (_padded(16 * len(forms)) + arrays) * ranks
    return size if size < _HUGE_PAGE else -(-size // _HUGE_PAGE) * _HUGE_PAGE


def _padded(size: int) -> int:
    return max(mmap.PAGESIZE, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)


class SharedSums:
    """The sums of one group of ranks, and the memory that they lie in.

    Args:
        memory: of ``size_of(forms, size)`` bytes, at first 0.
        rank: of this process among ``size``.
        forms: number of elements and dtype of each sum, the same on all ranks.
    """

    def __init__(self, memory: Any, rank: int, size: int, forms: Forms) -> None:
        at, page, rows = 0, _padded(16 * len(forms)), range(size)
        said = [np.frombuffer(memory, np.int64, len(forms), k * page) for k in rows]
        behind = 8 * len(forms)
        factors = [np.frombuffer(memory, np.float64, len(forms), k * page + behind) for k in rows]
        at += page * size
        self._states: list[_State] = []
        for position, (count, kind) in enumerate(forms):
            step = _padded(count * kind.itemsize)
            arrays = [np.frombuffer(memory, kind, count, at + k * step) for k in range(size)]
            numbers, scales = (
                [each[position : position + 1] for each in both] for both in (said, factors)
            )
            self._states.append(_State(self, rank, numbers, scales, arrays))
            at += step * size
        self.sums = [SharedSum(each) for each in self._states]

    def advance(self) -> None:
        """Do what can be done for all sums that are under way."""
        for each in self._states:
            each.advance()

    def free(self) -> None:
        """Forget the memory."""
        for each in self.sums:
            del _STATES[each.number]
        self.sums, self._states = [], []


class _State(Request):
    """One sum, again and again: how far this rank is, and where the arrays lie.

    Args:
        said: how far each rank says that it is, an array of one number for each.
        factors: what each rank multiplies its array by, likewise.
        arrays: what each rank gives, and then the sum.
    """

    def __init__(
        self,
        sums: SharedSums,
        rank: int,
        said: Sequence[Array],
        factors: Sequence[Array],
        arrays: Sequence[Array],
    ) -> None:
        self._all = sums
        self._said, self._mine = said, said[rank]
        self._factors, self._my_factor = factors, factors[rank]
        self._arrays, self.array = arrays, arrays[rank]
        count, share = len(self.array), math.ceil(len(self.array) / len(said))
        self._slice = rank * share, min((rank + 1) * share, count)
        self._addresses = self._addresses_of_slices()
        self._count = -1  # as memory of zeros says
        self._stage = _ADDED

    def _addresses_of_slices(self) -> Array | None:
        """Where the slice of this rank begins in each array; None for half precision."""
        if self.array.dtype not in _SUMS:
            return None
        first = self._slice[0] * self.array.itemsize
        return np.array([each.ctypes.data + first for each in self._arrays], np.int64)

    def _are_all_at(self, stage: int) -> bool:
        value = self._count * _STAGES + stage
        return all([said[0] >= value for said in self._said])

    def _say(self, stage: int) -> None:
        self._mine[0] = self._count * _STAGES + stage
        self._stage = stage

    def start(self, factor: float) -> None:
        """Give what lies in ``array``, times a factor."""
        self.wait()  # is over, unless a backward raised
        self._count += 1
        self._my_factor[0] = factor
        self._say(_GIVEN)
        self._all.advance()

    def advance(self) -> None:
        """Do what can be done now."""
        if self._stage == _GIVEN and self._are_all_at(_GIVEN):
            self._add()
            self._say(_ADDED)

    def _add(self) -> None:
        """Add up the slice of this rank, for all."""
        first, last = self._slice
        factors = np.concatenate(self._factors)
        if self._addresses is not None:
            kernel, count = _SUMS[self.array.dtype]
            kernel.launch(
                (last - first) * count, _GRAIN, self._addresses, factors, len(self._arrays)
            )
            return
        step = max(1, _CHUNK_BYTES // self.array.itemsize)
        for at in range(first, last, step):
            parts = [each[at : min(at + step, last)] for each in self._arrays]
            _add_halves(parts, factors)

    def done(self) -> bool:
        self._all.advance()
        return self._stage == _ADDED and self._are_all_at(_ADDED)

    def wait(self) -> None:
        if self.done():
            return
        spins = _SPIN_SECONDS if len(self._said) <= (os.cpu_count() or 1) else 0.0
        begun = time.monotonic()
        while not self.done():
            waited = time.monotonic() - begun
            if waited < spins:
                continue
            if waited < spins + _YIELD_SECONDS:
                os.sched_yield()
            else:
                check_launcher()
                time.sleep(20e-6)


def _add_halves(arrays: Sequence[Array], factors: Array) -> None:
    """Write the sum of arrays of two-byte floats into each of them; it is rounded once."""
    values = np.zeros(len(arrays[0]), np.float32)
    for each, factor in zip(arrays, factors.astype(np.float32), strict=True):
        values += factor * half.readable(each)
    rounded = half.converted(values, arrays[0].dtype)
    for each in arrays:
        each[...] = rounded


#: States by number, as with the communicators of ``mpi.py``: ``compile`` watches what a step can
#: reach, and these count.
_STATES: dict[int, _State] = {}
_next_number = itertools.count().__next__


class SharedSum(Sum):
    """A sum of ``SharedSums``, for a ``Reducer``."""

    def __init__(self, state: _State) -> None:
        self.number = _next_number()
        _STATES[self.number] = state

    @property
    def memory(self) -> Array:
        return _STATES[self.number].array

    def start(self, array: Array, factor: float) -> Requests:
        state = _STATES[self.number]
        state.start(factor)
        return (state,)
