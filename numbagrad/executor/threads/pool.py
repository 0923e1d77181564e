"""The worker threads of the process: how many, where their control block lies, and forks.

Launchers pass ``pool_address()`` to ``native/threads.py``, whose compiled functions start and run
the workers; ``get_num_threads`` and ``set_num_threads`` are part of the public namespace. Nothing
is compiled, loaded or started before the first call of ``pool_address``.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable

import numpy as np

from ...codegen.record import size_of
from ...native import interpreter
from ...native.thread_layout import CAPACITY, LINE, Participant, ThreadPool
from ..cache import library
from .cpus import available_cpus, default_num_threads
from .numpy_threads import set_threads_of_numpy

#: How long an idle thread keeps looking for work before it sleeps. Waking one costs the launcher
#: some 10 microseconds, so this covers the usual gaps between the launches of a training loop; an
#: idle process uses no CPU.
SPIN_MICROSECONDS = 200

#: Sharing of work is compiled when launches with work to share took so long on one thread. Until
#: then that costs less than compiling. What is on disk is used from the first launch on.
SECONDS_WORTH_COMPILING = 0.25


_lock = threading.RLock()
_num_threads = default_num_threads()
_block: ThreadPool | None = None
_address = 0
_spin_count = 0


def get_num_threads() -> int:
    """Number of threads that share the work of one kernel, the calling one included."""
    return _num_threads


def set_num_threads(num_threads: int) -> None:
    """Set the number of threads for all launches that begin after this call.

    The same holds for NumPy's calls of OpenBLAS, those of the program's own included.

    Raises ``TypeError`` if it is not an int and ``RuntimeError`` if it is not positive.
    """
    global _num_threads
    if isinstance(num_threads, bool) or not isinstance(num_threads, int):
        raise TypeError(
            f"set_num_threads expects an int, but got {type(num_threads).__name__}; pass 1 to run "
            "every kernel on the calling thread"
        )
    if not 0 < num_threads < 1 << 31:
        raise RuntimeError(
            f"set_num_threads expects a positive integer of 32 bits, but got {num_threads}"
        )
    with _lock:
        _num_threads = min(num_threads, CAPACITY)
        if _block is not None:
            _apply_num_threads(_block)
        set_threads_of_numpy(_num_threads)


def pool_address() -> int:
    """Address of the control block, the same for the life of the process (and in its forks)."""
    return _address or _make_pool()


def _apply_num_threads(block: ThreadPool) -> None:
    # Threads that share a CPU must not spin: they would keep the one that works from running.
    block.spin = _spin_count if _num_threads <= available_cpus() else 1
    block.workers = _num_threads - 1


def _make_pool() -> int:
    global _block, _address
    with _lock:
        if _address:
            return _address
        block = ThreadPool(_aligned_words(size_of(ThreadPool), LINE))
        start_workers = interpreter.callback(functools.partial(_start_workers, block))
        block.start_workers = interpreter.address_of(start_workers)
        before_single_thread = interpreter.callback(functools.partial(_before_single_thread, block))
        after_single_thread = interpreter.callback(_after_single_thread)
        block.before_single_thread = interpreter.address_of(before_single_thread)
        block.after_single_thread = interpreter.address_of(after_single_thread)
        block.acquire_lock = interpreter.acquire_lock()
        block.release_lock = interpreter.release_lock()
        _apply_num_threads(block)
        # Threads look at these until the process is gone, so they must outlive the interpreter's
        # clean-up of this module: the references taken here are never given back.
        for kept in (block.words.base, start_workers, before_single_thread, after_single_thread):
            interpreter.keep_for_ever(kept)
        _block = block
        _address = block.address
        return _address


def _aligned_words(words: int, alignment: int) -> np.ndarray:
    """Zeroed int64 words at an aligned address; the memory belongs to the ``base`` of the array."""
    memory = np.zeros(words * 8 + alignment, dtype=np.uint8)
    offset = -memory.ctypes.data % alignment
    return memory[offset : offset + words * 8].view(np.int64)


#: How long launches ran on one thread though others could have helped; below zero until the disk
#: cache was asked for what shares work.
_seconds_single_threaded = -1.0
_sharing = False


#: The event that launchers wait for until threads share work.
_waiting: list[Callable[[], None]] = []

_SHARE_OUT = library.HandWritten(
    "native.threads", "share_out", f"void({', '.join(['int64'] * 5)})", code="calls"
)
_WORKER_LOOP = library.HandWritten("native.threads", "worker_loop", "void(int64)", code="calls")
_SPIN = library.HandWritten("native.threads", "spin", "void(int64)", code="calls")

#: Functions that launches need to share work; with those given to :func:`when_sharing`.
_needed = [_SHARE_OUT, _WORKER_LOOP, _SPIN]


def when_sharing(prepare: Callable[[], None], kernel: library.HandWritten) -> None:
    """Call ``prepare()``, which uses ``kernel``, when launches first share work; now if they do."""
    if _sharing:
        prepare()
    else:
        _waiting.append(prepare)
        _needed.append(kernel)


#: When a thread began a launch on its own, by its number.
_began: dict[int, float] = {}


def _before_single_thread(block: ThreadPool) -> None:
    """Load what shares work if it is there; launchers call this until it is.

    It is compiled, by another process, when it has become worth that.

    If it raises, which ctypes reports, the launch runs on one thread.
    """
    global _seconds_single_threaded, _sharing
    compiling = _seconds_single_threaded >= SECONDS_WORTH_COMPILING and library.ready(_needed)
    address = 0
    if compiling or _seconds_single_threaded < 0:
        _seconds_single_threaded = max(_seconds_single_threaded, 0.0)
        address = library.hand_written(*_SHARE_OUT, compiling=compiling)
    _sharing = address != 0
    while _sharing and _waiting:
        _waiting[-1]()
        _waiting.pop()
    if address:
        block.share_out = address
    else:
        _began[threading.get_ident()] = time.perf_counter()


def _after_single_thread() -> None:
    """Add to the time that launches ran on one thread though others could have helped."""
    global _seconds_single_threaded
    began = _began.pop(threading.get_ident(), None)
    if began is not None:
        _seconds_single_threaded += time.perf_counter() - began


def _start_workers(block: ThreadPool) -> None:
    """Start the workers that are missing, fewer if the system refuses. Called by a launch.

    What they run is compiled or loaded now: a process without large work never needs it. They are
    native threads rather than ``threading`` ones, for they never run Python code and must not take
    part in the interpreter's shutdown.
    """
    global _spin_count
    worker_loop = library.hand_written(*_WORKER_LOOP)
    if _spin_count == 0:
        _spin_count = _measure_spin()
        _apply_num_threads(block)
    if block.launcher_lock == 0:
        block.launcher_lock = interpreter.new_held_lock()
    for index in range(block.started + 1, block.workers + 1):
        worker = Participant(block.lines[index])
        worker.words[:] = 0
        worker.lock = interpreter.new_held_lock()
        worker.pool, worker.index = block.address, index
        complete = block.launcher_lock != 0 and worker.lock != 0
        block.started = index  # first: nobody waits for a worker, but there must not be two
        if not complete or not interpreter.start_thread(worker_loop, worker.address):
            block.workers = block.started = index - 1
            return


def _measure_spin() -> int:
    """How many times a thread can look for work in ``SPIN_MICROSECONDS``."""
    address = library.hand_written(*_SPIN)
    spin = interpreter.function_at(address)
    count = 500
    shortest = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        spin(count)
        shortest = min(shortest, time.perf_counter() - start)
    return max(int(count * SPIN_MICROSECONDS * 1e-6 / shortest), 1)


def _forget_workers() -> None:
    """In a forked child: no worker exists, and a launch another thread was in is not ours.

    Locks are left behind as well: they may have been copied in any state.
    """
    global _lock
    _lock = threading.RLock()
    if _block is not None:
        _block.started = 0
        _block.words[ThreadPool.busy.position :] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
