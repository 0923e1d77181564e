"""The thread launcher: a pool of workers that share a range of work with the launching thread.

``parallel_for`` is called by launchers and programs with the address of the pool's control block,
which ``numbagrad.executor.pool`` makes and fills. Workers are native threads that run
``worker_loop``; they never touch Python. Everything here is compiled, and imported only for that.

How a launch works. The launcher takes the pool (one compare-and-swap; a pool that is taken means
that the caller does its work alone), describes the launch, and opens it by writing a new generation
number to OPEN. A worker that sees it adds itself to ACTIVE, looks at OPEN again, and takes chunks
until none are left. The launcher does the same, closes the launch (OPEN = 0) and waits until ACTIVE
is zero. A worker that comes late finds the launch closed and leaves; nobody ever waits for a worker
that is asleep or was descheduled before it took any work.
"""

from __future__ import annotations

from numba import int64

from .atomics import (
    atomic_load,
    atomic_store,
    call_0,
    call_1,
    call_2,
    compare_exchange,
    fetch_add,
    pause,
)
from .intrinsics import call_kernel, load, store, subroutine

# The control block: lines of 16 words (two cache lines, since CPUs fetch lines in pairs), so that
# words written by different threads do not share one. Offsets are in bytes.
_WORD = 8
LINE = 16 * _WORD

# Line 0: what Python writes and launches read.
WORKERS = 0 * _WORD  # workers a launch may use beside the launcher
STARTED = 1 * _WORD  # workers that exist; they are started by the first launch that can use them
SPIN = 2 * _WORD  # how often an idle thread looks again before it sleeps
WORKER_LOOP = 3 * _WORD  # addresses of functions: the compiled worker_loop,
START_THREAD = 4 * _WORD  # and CPython's portable threads and locks, which need no interpreter lock
ALLOCATE_LOCK = 5 * _WORD
ACQUIRE_LOCK = 6 * _WORD
RELEASE_LOCK = 7 * _WORD

# Line 1: who has the pool. Line 2: the launch, written while it is closed.
BUSY = 1 * LINE
OPEN = 2 * LINE  # generation of the launch that can be joined, or 0
GENERATION = OPEN + 1 * _WORD
KERNEL = OPEN + 2 * _WORD
ARGS = OPEN + 3 * _WORD
TOTAL = OPEN + 4 * _WORD
GRAIN = OPEN + 5 * _WORD
PARTICIPANTS = OPEN + 6 * _WORD

# Line 3: threads that may be inside the launch. Lines 4 and 5: sleep of the launcher, of workers.
ACTIVE = 3 * LINE
LAUNCHER_SLEEPS = 4 * LINE
LAUNCHER_LOCK = LAUNCHER_SLEEPS + _WORD
SLEEPERS = 5 * LINE

# From line 6 on, a line for each participant; the launcher is participant 0. A participant first
# takes the chunks of its own share, so that a repeated launch finds its data in the same cache,
# then helps the others with theirs.
PARTICIPANT = 6 * LINE
NEXT_CHUNK = 0 * _WORD
END_CHUNK = 1 * _WORD
SLEEPS = 8 * _WORD  # 1 while the worker waits for its lock (or is about to)
LOCK = 9 * _WORD
POOL = 10 * _WORD
INDEX = 11 * _WORD

#: Participants the control block has room for.
CAPACITY = 1024
BLOCK_BYTES = PARTICIPANT + CAPACITY * LINE


@subroutine
def _read(address):
    return load(address, 0, int64)


@subroutine
def _write(address, value):
    store(address, 0, value, int64)


@subroutine
def _participant(pool, index):
    return pool + PARTICIPANT + index * LINE


def spin(count):
    """Look at a word ``count`` times, as an idle thread does; Python times it once."""
    for _ in range(count):
        pause()


@subroutine
def _new_held_lock(pool):
    lock = call_0(_read(pool + ALLOCATE_LOCK))
    if lock != 0:
        call_2(_read(pool + ACQUIRE_LOCK), lock, 1)
    return lock


@subroutine
def _sleep_until_released(pool, lock):
    call_2(_read(pool + ACQUIRE_LOCK), lock, 1)


@subroutine
def _wake(pool, sleeps, lock):
    """Release ``lock`` if its owner sleeps; whoever clears the word ``sleeps`` releases once."""
    if compare_exchange(sleeps, 1, 0):
        call_1(_read(pool + RELEASE_LOCK), lock)
        return True
    return False


@subroutine
def _start_workers(pool, wanted):
    """Start the workers that are missing; fewer than wanted if the system refuses."""
    if _read(pool + LAUNCHER_LOCK) == 0:
        _write(pool + LAUNCHER_LOCK, _new_held_lock(pool))
        if _read(pool + LAUNCHER_LOCK) == 0:
            atomic_store(pool + WORKERS, 0)
            return
    for index in range(_read(pool + STARTED) + 1, wanted + 1):
        worker = _participant(pool, index)
        _write(worker + POOL, pool)
        _write(worker + INDEX, index)
        _write(worker + SLEEPS, 0)
        lock = _new_held_lock(pool)
        _write(worker + LOCK, lock)
        refused = lock == 0
        if not refused:
            thread = call_2(_read(pool + START_THREAD), _read(pool + WORKER_LOOP), worker)
            refused = (thread & 0xFFFFFFFF) == 0xFFFFFFFF  # (unsigned long) -1, 32 bits on Windows
        if refused:
            atomic_store(pool + WORKERS, index - 1)
            return
        _write(pool + STARTED, index)


@subroutine
def _share(pool, chunks, participants):
    """Give each participant its share of the chunks, as equal as can be."""
    begin = 0
    for index in range(participants):
        end = (index + 1) * chunks // participants
        participant = _participant(pool, index)
        _write(participant + NEXT_CHUNK, begin)
        _write(participant + END_CHUNK, end)
        begin = end


@subroutine
def _take_chunks(pool, first):
    """Run chunks, from the share of participant ``first`` on, until none is left anywhere."""
    kernel, args = _read(pool + KERNEL), _read(pool + ARGS)
    total, grain = _read(pool + TOTAL), _read(pool + GRAIN)
    participants = _read(pool + PARTICIPANTS)
    for turn in range(participants):
        index = first + turn
        if index >= participants:
            index -= participants
        participant = _participant(pool, index)
        end = _read(participant + END_CHUNK)
        while atomic_load(participant + NEXT_CHUNK) < end:
            chunk = fetch_add(participant + NEXT_CHUNK, 1)
            if chunk < end:
                lo = chunk * grain
                call_kernel(kernel, args, lo, min(lo + grain, total))


@subroutine
def _wake_workers(pool, participants):
    if atomic_load(pool + SLEEPERS) == 0:
        return
    for index in range(1, participants):
        worker = _participant(pool, index)
        if atomic_load(worker + SLEEPS) == 1:
            if _wake(pool, worker + SLEEPS, _read(worker + LOCK)):
                fetch_add(pool + SLEEPERS, -1)


@subroutine
def _wait_for_active(pool):
    """Return when no worker is inside the launch; sleep if that takes long."""
    for _ in range(_read(pool + SPIN)):
        if atomic_load(pool + ACTIVE) == 0:
            return
        pause()
    while atomic_load(pool + ACTIVE) != 0:
        atomic_store(pool + LAUNCHER_SLEEPS, 1)
        # Either this load sees that the last worker has left, or that worker sees the word above.
        if atomic_load(pool + ACTIVE) == 0 and compare_exchange(pool + LAUNCHER_SLEEPS, 1, 0):
            return
        _sleep_until_released(pool, _read(pool + LAUNCHER_LOCK))


@subroutine
def parallel_for(pool, kernel, args, total, grain):
    """Run ``kernel(args, lo, hi)`` over ``[0, total)``, in chunks of ``grain`` on several threads.

    ``pool`` is the address of the control block and ``kernel`` that of a uniform kernel entry.
    Returns when all is done. A range of one chunk, a pool without workers and a pool that is in use
    (by another thread, or by a launch this one is nested in) make it a plain call.
    """
    workers = atomic_load(pool + WORKERS)
    grain = max(grain, 1)
    if total <= grain or workers == 0 or not compare_exchange(pool + BUSY, 0, 1):
        if total > 0:
            call_kernel(kernel, args, 0, total)
        return
    if _read(pool + STARTED) < workers:
        _start_workers(pool, workers)
        workers = min(workers, _read(pool + STARTED))
    chunks = (total - 1) // grain + 1
    participants = min(workers + 1, chunks)
    _share(pool, chunks, participants)
    _write(pool + KERNEL, kernel)
    _write(pool + ARGS, args)
    _write(pool + TOTAL, total)
    _write(pool + GRAIN, grain)
    _write(pool + PARTICIPANTS, participants)
    generation = _read(pool + GENERATION) + 1
    _write(pool + GENERATION, generation)
    atomic_store(pool + OPEN, generation)
    _wake_workers(pool, participants)
    _take_chunks(pool, 0)
    atomic_store(pool + OPEN, 0)
    _wait_for_active(pool)
    atomic_store(pool + BUSY, 0)


@subroutine
def _join(pool, index):
    """Take part in the open launch, if there still is one; returns its generation, or 0."""
    fetch_add(pool + ACTIVE, 1)
    # Either this load sees that the launch was closed, or the launcher sees this worker in ACTIVE.
    generation = atomic_load(pool + OPEN)
    if generation != 0 and index < _read(pool + PARTICIPANTS):
        _take_chunks(pool, index)
    if fetch_add(pool + ACTIVE, -1) == 1 and atomic_load(pool + LAUNCHER_SLEEPS) == 1:
        _wake(pool, pool + LAUNCHER_SLEEPS, _read(pool + LAUNCHER_LOCK))
    return generation


@subroutine
def _is_news(generation, seen):
    return generation != 0 and generation != seen


@subroutine
def _spin_for_news(pool, seen):
    """Look for a launch other than ``seen`` for a short while; whether there is one."""
    for _ in range(_read(pool + SPIN)):
        if _is_news(atomic_load(pool + OPEN), seen):
            return True
        pause()
    return False


@subroutine
def _sleep_until_news(pool, worker, seen):
    """Sleep until a launch other than ``seen`` wakes this worker."""
    fetch_add(pool + SLEEPERS, 1)
    atomic_store(worker + SLEEPS, 1)
    # Either this load sees a launch that was just opened, or its launcher sees the two words above.
    if _is_news(atomic_load(pool + OPEN), seen) and compare_exchange(worker + SLEEPS, 1, 0):
        fetch_add(pool + SLEEPERS, -1)
        return
    _sleep_until_released(pool, _read(worker + LOCK))


def worker_loop(worker):
    """What a worker thread runs, for ever; ``worker`` is the address of its participant line."""
    pool = _read(worker + POOL)
    index = _read(worker + INDEX)
    seen = 0
    while True:
        if _spin_for_news(pool, seen):
            seen = _join(pool, index)
        else:
            _sleep_until_news(pool, worker, seen)
