"""Observers of nodes while these are made: hooks of saved tensors, anomaly detection.

Most programs have nobody who does. What makes nodes asks one number, ``count``; compiled code finds
its bit in the word of ``awake.py``, and leaves nodes to Python while it is set. The watchers are
``saved_hooks.py``, ``creation_hooks.py``, ``writes/view_replay.py`` and ``anomaly_mode.py``.
Inference mode is counted here for the same reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ... import awake
from ...executor import capture

__all__ = [
    "INFERENCE_CELL", "change", "change_inference", "made", "seen_here", "watcher",
]  # fmt: skip

#: How many watch: over all threads, since compiled code asks no thread.
count = 0
#: How many threads are in inference mode.
inference_threads = 0

#: The version cell of every inference tensor: they share it, because none counts its writes.
INFERENCE_CELL: list[Any] = [0]

#: Called as ``look(tensor)`` before a tensor is written in place while somebody watches.
write_watchers: list[Callable[[Any], None]] = []
_switches: list[Callable[[], object]] = []

_lock = threading.RLock()
_watchers: list[Callable[[Any], None]] = []


def change(by: int) -> None:
    """Count those who watch: one more or one less."""
    global count
    with _lock:
        before = count
        count = before + by
        try:
            awake.note(awake.WATCHERS, count != 0)
        except BaseException:
            count = before  # one that is too high costs time, one too low would hide nodes
            raise


def change_inference(by: int) -> None:
    """Count the threads in inference mode: one more or one less."""
    global inference_threads
    with _lock:
        inference_threads += by
        awake.note(awake.INFERENCE, inference_threads != 0)


def watcher(
    function: Callable[[Any], None],
    first: bool = False,
    switch: Callable[[], object] | None = None,
) -> Callable[[Any], None]:
    """Have ``function(node)`` called for each node that is made while somebody watches.

    It has to ask itself whether it is switched on, and for this thread. One that shall see a node
    whatever the others do with it, or raise, comes ``first``. One to whom one node of a compiled
    function is not as good as those of the function itself has a ``switch``, which says whether it
    is on in this thread.
    """
    _watchers.insert(0 if first else len(_watchers), function)
    if switch is not None:
        _switches.append(switch)
    return function


def seen_here() -> bool:
    """Whether somebody has to see each node that an operator makes in this thread."""
    return count != 0 and any([switch() for switch in _switches])


def made(node: Any) -> None:
    """Show a new node, with all that it saves, to the watchers. Call it while ``count`` is set.

    Nodes that are made while a composite operator is traced are no part of anybody's graph.
    """
    if not capture.computes():
        return
    for look in _watchers:
        look(node)
