"""The control block of the pool of threads: ``threads.py`` works with it, Python makes it.

It consists of lines of two cache lines, since CPUs fetch those in pairs, so that words which
different threads write do not share one. This file must not import Numba.
"""

from __future__ import annotations

from ..codegen.record import Record, Records, Shared, Word

LINE = 128  # bytes

#: Participants the control block has room for.
CAPACITY = 1024


class Participant(Record):
    """A line of a thread that takes part in launches.

    It first takes the chunks of its own share, so that a repeated launch finds its data in the same
    cache, then helps the others with theirs.
    """

    next_chunk = Shared(aligned=LINE)
    end_chunk = Word()
    sleeps = Shared(aligned=LINE // 2)  # 1 while the worker waits for its lock (or is about to)
    lock = Word()
    pool = Word()
    index = Word()


class ThreadPool(Record):
    """The control block."""

    # What Python writes and launches read.
    workers = Shared(aligned=LINE)  # workers a launch may use beside the launcher
    started = Word()  # workers that exist; the first launch that can use them starts them
    spin = Word()  # how often an idle thread looks again before it sleeps
    # Addresses of functions: one that starts the workers that are missing, and CPython's portable
    # locks, which need no interpreter lock.
    start_workers = Word()
    acquire_lock = Word()
    release_lock = Word()
    share_out = Word()  # the compiled function, or 0 until launches are to share work:
    before_single_thread = (
        Word()
    )  # until then these are called before and after launches that could have
    after_single_thread = Word()  # shared their work
    # Who has the pool.
    busy = Shared(aligned=LINE)
    # The launch, written while it is closed.
    open = Shared(aligned=LINE)  # generation of the launch that can be joined, or 0
    generation = Word()
    kernel = Word()
    args = Word()
    total = Word()
    grain = Word()
    participants = Word()
    # Threads that may be inside the launch.
    active = Shared(aligned=LINE)
    # Sleep of the launcher, and of workers.
    launcher_sleeps = Shared(aligned=LINE)
    launcher_lock = Word()
    sleepers = Shared(aligned=LINE)
    lines = Records(Participant, CAPACITY)  # the launcher is participant 0
