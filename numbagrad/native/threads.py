"""The thread launcher: a pool of workers that share a range of work with the launching thread.

``parallel_for`` is called by launchers and programs with the address of the pool's control block,
which ``numbagrad.executor.pool`` makes and fills. Workers are native threads that run
``worker_loop``; they never touch Python. Everything here is compiled, and imported only for that.
A launcher holds no more than ``parallel_for``: ``share_out``, the rest of a launch, is compiled by
itself, when a launch first has work to share.

How a launch works. The launcher takes the pool (one compare-and-swap; a pool that is taken means
that the caller does its work alone), describes the launch, and opens it by writing a new generation
number to OPEN. A worker that sees it adds itself to ACTIVE, looks at OPEN again, and takes chunks
until none are left. The launcher does the same, closes the launch (OPEN = 0) and waits until ACTIVE
is zero. A worker that comes late finds the launch closed and leaves; nobody ever waits for a worker
that is asleep or was descheduled before it took any work.
"""

from __future__ import annotations

from ..codegen.atomics import (
    atomic_load,
    atomic_store,
    call_0,
    call_1,
    call_2,
    call_5,
    compare_exchange,
    fetch_add,
    pause,
    read_word,
    write_word,
)
from ..codegen.intrinsics import call_kernel, subroutine

# The control block: lines of 16 words (two cache lines, since CPUs fetch lines in pairs), so that
# words written by different threads do not share one. Offsets are in bytes.
_WORD = 8
LINE = 16 * _WORD

# Line 0: what Python writes and launches read.
WORKERS = 0 * _WORD  # workers a launch may use beside the launcher
STARTED = 1 * _WORD  # workers that exist; they are started by the first launch that can use them
SPIN = 2 * _WORD  # how often an idle thread looks again before it sleeps
START_WORKERS = 3 * _WORD  # addresses of functions: one that starts the workers that are missing,
ACQUIRE_LOCK = 4 * _WORD  # and CPython's portable locks, which need no interpreter lock
RELEASE_LOCK = 5 * _WORD
SHARE_OUT = 6 * _WORD  # address of the compiled function, or 0 until launches are to share work
BEFORE_ALONE = 7 * _WORD  # addresses of functions: until then they are called before and after
AFTER_ALONE = 8 * _WORD  # launches that could have shared their work

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


def spin(count):
    """Pause ``count`` times, as an idle thread does; Python times it once."""
    for _ in range(count):
        pause()


@subroutine
def _wake(pool, owner, sleeps, lock):
    """Release a lock if its owner sleeps; whoever clears the word ``sleeps`` releases once."""
    if compare_exchange(owner + sleeps, 1, 0):
        call_1(read_word(pool, RELEASE_LOCK), read_word(owner, lock))
        return True
    return False


@subroutine
def _wake_workers(pool, participants):
    for index in range(1, participants):
        worker = pool + PARTICIPANT + index * LINE
        if atomic_load(worker + SLEEPS) == 1 and _wake(pool, worker, SLEEPS, LOCK):
            fetch_add(pool + SLEEPERS, -1)


@subroutine
def _share(pool, chunks, participants):
    """Give each participant its share of the chunks, as equal as can be."""
    begin = 0
    for index in range(participants):
        end = (index + 1) * chunks // participants
        participant = pool + PARTICIPANT + index * LINE
        write_word(participant, NEXT_CHUNK, begin)
        write_word(participant, END_CHUNK, end)
        begin = end


@subroutine
def _take_chunks(pool, index):
    """Run chunks, from the share of participant ``index`` on, until none is left anywhere."""
    kernel, args = read_word(pool, KERNEL), read_word(pool, ARGS)
    total, grain = read_word(pool, TOTAL), read_word(pool, GRAIN)
    participants = read_word(pool, PARTICIPANTS)
    for _ in range(participants):
        participant = pool + PARTICIPANT + index * LINE
        end = read_word(participant, END_CHUNK)
        while atomic_load(participant + NEXT_CHUNK) < end:
            chunk = fetch_add(participant + NEXT_CHUNK, 1)
            if chunk < end:
                lo = chunk * grain
                call_kernel(kernel, args, lo, min(lo + grain, total))
        index += 1
        if index == participants:
            index = 0


@subroutine
def _wait_for_active(pool):
    """Return when no worker is inside the launch; sleep if that takes long."""
    for _ in range(read_word(pool, SPIN)):
        if atomic_load(pool + ACTIVE) == 0:
            return
        pause()
    while atomic_load(pool + ACTIVE) != 0:
        atomic_store(pool + LAUNCHER_SLEEPS, 1)
        # Either this load sees that the last worker has left, or that worker sees the word above.
        if atomic_load(pool + ACTIVE) == 0 and compare_exchange(pool + LAUNCHER_SLEEPS, 1, 0):
            return
        call_2(read_word(pool, ACQUIRE_LOCK), read_word(pool, LAUNCHER_LOCK), 1)


@subroutine
def parallel_for(pool, kernel, args, total, grain):
    """Run ``kernel(args, lo, hi)`` over ``[0, total)``, in chunks of ``grain`` on several threads.

    ``pool`` is the address of the control block and ``kernel`` that of a uniform kernel entry.
    Returns when all is done. A range of one chunk, a pool without workers and a pool that is in use
    (by another thread, or by a launch this one is nested in) make it a plain call.
    """
    if total > grain and atomic_load(pool + WORKERS) != 0:
        if read_word(pool, SHARE_OUT) == 0:
            call_0(read_word(pool, BEFORE_ALONE))
        share = read_word(pool, SHARE_OUT)
        if share != 0:
            call_5(share, pool, kernel, args, total, grain)
        else:
            call_kernel(kernel, args, 0, total)
            call_0(read_word(pool, AFTER_ALONE))
    elif total > 0:
        call_kernel(kernel, args, 0, total)


def share_out(pool, kernel, args, total, grain):
    """What ``parallel_for`` does with a range of several chunks and a pool that has workers."""
    if not compare_exchange(pool + BUSY, 0, 1):
        call_kernel(kernel, args, 0, total)
        return
    workers = atomic_load(pool + WORKERS)
    grain = max(grain, 1)
    if read_word(pool, STARTED) < workers:
        call_0(read_word(pool, START_WORKERS))
        workers = min(workers, read_word(pool, STARTED))
    chunks = (total - 1) // grain + 1
    participants = min(workers + 1, chunks)
    _share(pool, chunks, participants)
    write_word(pool, KERNEL, kernel)
    write_word(pool, ARGS, args)
    write_word(pool, TOTAL, total)
    write_word(pool, GRAIN, grain)
    write_word(pool, PARTICIPANTS, participants)
    generation = read_word(pool, GENERATION) + 1
    write_word(pool, GENERATION, generation)
    atomic_store(pool + OPEN, generation)
    if atomic_load(pool + SLEEPERS) != 0:
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
    if generation != 0 and index < read_word(pool, PARTICIPANTS):
        _take_chunks(pool, index)
    if fetch_add(pool + ACTIVE, -1) == 1 and atomic_load(pool + LAUNCHER_SLEEPS) == 1:
        _wake(pool, pool, LAUNCHER_SLEEPS, LAUNCHER_LOCK)
    return generation


@subroutine
def _spin_for_news(pool, seen):
    """Look for a launch other than ``seen`` for a short while; whether there is one."""
    for _ in range(read_word(pool, SPIN)):
        generation = atomic_load(pool + OPEN)
        if generation != 0 and generation != seen:
            return True
        pause()
    return False


@subroutine
def _sleep_until_news(pool, worker, seen):
    """Sleep until a launch other than ``seen`` wakes this worker."""
    fetch_add(pool + SLEEPERS, 1)
    atomic_store(worker + SLEEPS, 1)
    # Either this load sees a launch that was just opened, or its launcher sees the two words above.
    generation = atomic_load(pool + OPEN)
    if generation != 0 and generation != seen and compare_exchange(worker + SLEEPS, 1, 0):
        fetch_add(pool + SLEEPERS, -1)
        return
    call_2(read_word(pool, ACQUIRE_LOCK), read_word(worker, LOCK), 1)


def worker_loop(worker):
    """What a worker thread runs, for ever; ``worker`` is the address of its participant line."""
    pool, index = read_word(worker, POOL), read_word(worker, INDEX)
    seen = 0
    while True:
        if _spin_for_news(pool, seen):
            seen = _join(pool, index)
        else:
            _sleep_until_news(pool, worker, seen)
