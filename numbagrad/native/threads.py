"""The thread launcher: a pool of workers that share a range of work with the launching thread.

``parallel_for`` is called by launchers and programs with the address of the pool's control block,
which ``numbagrad.executor.threads.pool`` makes and fills. Workers are native threads that run
``worker_loop``; they never touch Python. Everything here is compiled, and imported only for that.
A launcher holds no more than ``parallel_for``: ``share_out``, the rest of a launch, is compiled by
itself, when a launch first has work to share.

How a launch works. The launcher takes the pool (one compare-and-swap; a pool that is taken means
that the caller does its work alone), describes the launch, and opens it by writing a new generation
number to ``open``. A worker that sees it adds itself to ``active``, looks at ``open`` again, and
takes chunks until none are left. The launcher does the same, closes the launch (``open`` = 0) and
waits until ``active`` is zero. A worker that comes late finds the launch closed and leaves; nobody
ever waits for a worker that is asleep or was descheduled before it took any work.
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
)
from ..codegen.intrinsics import call_kernel, int64, store, subroutine
from .thread_layout import Participant, ThreadPool


def spin(count):
    """Pause ``count`` times, as an idle thread does; Python times it once."""
    for _ in range(count):
        pause()


@subroutine
def _wake(pool, sleeps, lock):
    """Release a lock if its owner sleeps; whoever clears the word ``sleeps`` releases once."""
    if compare_exchange(sleeps, 1, 0):
        call_1(pool.release_lock, lock)
        return True
    return False


@subroutine
def _wake_workers(pool, participants):
    for index in range(1, participants):
        worker = pool.lines[index]
        if atomic_load(worker.sleeps) == 1 and _wake(pool, worker.sleeps, worker.lock):
            fetch_add(pool.sleepers, -1)


@subroutine
def _share(pool, chunks, participants):
    """Give each participant its share of the chunks, as equal as can be."""
    begin = 0
    for index in range(participants):
        end = (index + 1) * chunks // participants
        store(pool.lines[index].next_chunk, 0, begin, int64)
        pool.lines[index].end_chunk = end
        begin = end


@subroutine
def _take_chunks(pool, index):
    """Run chunks, from the share of participant ``index`` on, until none is left anywhere."""
    kernel, args = pool.kernel, pool.args
    total, grain = pool.total, pool.grain
    participants = pool.participants
    for _ in range(participants):
        participant = pool.lines[index]
        end = participant.end_chunk
        while atomic_load(participant.next_chunk) < end:
            chunk = fetch_add(participant.next_chunk, 1)
            if chunk < end:
                lo = chunk * grain
                call_kernel(kernel, args, lo, min(lo + grain, total))
        index += 1
        if index == participants:
            index = 0


@subroutine
def _wait_for_active(pool):
    """Return when no worker is inside the launch; sleep if that takes long."""
    for _ in range(pool.spin):
        if atomic_load(pool.active) == 0:
            return
        pause()
    while atomic_load(pool.active) != 0:
        atomic_store(pool.launcher_sleeps, 1)
        # Either this load sees that the last worker has left, or that worker sees the word above.
        if atomic_load(pool.active) == 0 and compare_exchange(pool.launcher_sleeps, 1, 0):
            return
        call_2(pool.acquire_lock, pool.launcher_lock, 1)


@subroutine
def parallel_for(address, kernel, args, total, grain):
    """Run ``kernel(args, lo, hi)`` over ``[0, total)``, in chunks of ``grain`` on several threads.

    ``address`` is that of the control block and ``kernel`` that of a uniform kernel entry.
    Returns when all is done. A range of one chunk, a pool without workers and a pool that is in use
    (by another thread, or by a launch this one is nested in) make it a plain call.
    """
    pool = ThreadPool(address)
    if total > grain and atomic_load(pool.workers) != 0:
        if pool.share_out == 0:
            call_0(pool.before_single_thread)
        share = pool.share_out
        if share != 0:
            call_5(share, pool, kernel, args, total, grain)
        else:
            call_kernel(kernel, args, 0, total)
            call_0(pool.after_single_thread)
    elif total > 0:
        call_kernel(kernel, args, 0, total)


def share_out(address, kernel, args, total, grain):
    """``parallel_for`` over a range of several chunks with a pool that has workers."""
    pool = ThreadPool(address)
    if not compare_exchange(pool.busy, 0, 1):
        call_kernel(kernel, args, 0, total)
        return
    workers = atomic_load(pool.workers)
    grain = max(grain, 1)
    if pool.started < workers:
        call_0(pool.start_workers)
        workers = min(workers, pool.started)
    chunks = (total - 1) // grain + 1
    participants = min(workers + 1, chunks)
    _share(pool, chunks, participants)
    pool.kernel = kernel
    pool.args = args
    pool.total = total
    pool.grain = grain
    pool.participants = participants
    generation = pool.generation + 1
    pool.generation = generation
    atomic_store(pool.open, generation)
    if atomic_load(pool.sleepers) != 0:
        _wake_workers(pool, participants)
    _take_chunks(pool, 0)
    atomic_store(pool.open, 0)
    _wait_for_active(pool)
    atomic_store(pool.busy, 0)


@subroutine
def _join(pool, index):
    """Take part in the open launch, if there still is one; returns its generation, or 0."""
    fetch_add(pool.active, 1)
    # Either this load sees that the launch was closed, or its launcher sees this worker in the
    # count above.
    generation = atomic_load(pool.open)
    if generation != 0 and index < pool.participants:
        _take_chunks(pool, index)
    if fetch_add(pool.active, -1) == 1 and atomic_load(pool.launcher_sleeps) == 1:
        _wake(pool, pool.launcher_sleeps, pool.launcher_lock)
    return generation


@subroutine
def _spin_for_news(pool, seen):
    """Look for a launch other than ``seen`` for a short while; whether there is one."""
    for _ in range(pool.spin):
        generation = atomic_load(pool.open)
        if generation != 0 and generation != seen:
            return True
        pause()
    return False


@subroutine
def _sleep_until_news(pool, worker, seen):
    """Sleep until a launch other than ``seen`` wakes this worker."""
    fetch_add(pool.sleepers, 1)
    atomic_store(worker.sleeps, 1)
    # Either this load sees a launch that was just opened, or its launcher sees the two words above.
    generation = atomic_load(pool.open)
    if generation != 0 and generation != seen and compare_exchange(worker.sleeps, 1, 0):
        fetch_add(pool.sleepers, -1)
        return
    call_2(pool.acquire_lock, worker.lock, 1)


def worker_loop(address):
    """The endless loop of a worker thread; ``address`` is that of its line."""
    worker = Participant(address)
    pool, index = ThreadPool(worker.pool), worker.index
    seen = 0
    while True:
        if _spin_for_news(pool, seen):
            seen = _join(pool, index)
        else:
            _sleep_until_news(pool, worker, seen)
