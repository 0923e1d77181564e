"""Kernels compiled by other processes, on cores that are free, while this one goes on.

``library.py`` requests here what a program does without for a while, as launchers that only save
overhead, what a program of ``compile`` needs at once, and what an eager program is expected to need
soon, as the kernels of a backward. A request that no process has begun is taken back by whoever
needs the kernel, and compiled there; one that a process has begun is waited for. Machine code is
the same wherever it is compiled, so which process did it shows in no result. Processes end when
nothing was requested for a while, and with the one that started them.
"""

from __future__ import annotations

import collections
import os
import pathlib
import pickle
import struct
import sys
import threading
from typing import TYPE_CHECKING, Any

from ..threads.cpus import default_num_threads

if TYPE_CHECKING:
    import subprocess  # slow to import, and not needed where everything is there

__all__ = [
    "can_help", "has_core", "has_result", "is_done", "knows", "receive", "request", "result",
    "send",
]  # fmt: skip

#: NUMBAGRAD_BACKGROUND=0 has whoever needs a kernel compile it.
ENABLED = os.environ.get("NUMBAGRAD_BACKGROUND", "1") != "0"
#: Seconds after which a process that has nothing to do ends.
IDLE_SECONDS = 10.0
#: Kernels from which on starting a process, which takes a third of a second, pays at once.
KERNELS_WORTH_A_PROCESS = 4

_LENGTH = struct.Struct("<q")


class _Request:
    """A kernel that is to be compiled, and what became of it."""

    __slots__ = ("key", "kernel", "data", "done")

    def __init__(self, key: str, kernel: Any) -> None:
        self.key, self.kernel = key, kernel
        self.data: bytes | None = None
        self.done = threading.Event()


class _Shared:
    """State shared by the threads that talk to the processes."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.known: dict[str, _Request] = {}
        self.waiting: collections.deque[_Request] = collections.deque()
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.idle = 0
        self.refused = False


_shared = _Shared()


def _cpus() -> int:
    """How many cores this program may use: where it is one, no process takes a share of that."""
    return default_num_threads()


def _most_processes() -> int:
    """How many compile beside the program, which has a core of its own."""
    return _cpus() - 1


def has_core() -> bool:
    """Whether there is a core for another process, and one may be started."""
    return ENABLED and not _shared.refused and _cpus() > 1


def can_help(kernels: int) -> bool:
    """Whether so many kernels are there sooner with the help of other processes."""
    if not has_core():
        return False
    return kernels >= (2 if _shared.processes else KERNELS_WORTH_A_PROCESS)


def request(key: str, kernel: Any, last: bool = False) -> bool:
    """Have a kernel compiled by another process; False if there is none.

    Args:
        key: under which its object file is kept on this CPU.
        kernel: a ``library.Kernel``.
        last: whether it can wait for all others.
    """
    if not has_core():
        return False
    with _shared.changed:
        if key in _shared.known:
            return True
        asked = _shared.known[key] = _Request(key, kernel)
        if last:
            _shared.waiting.appendleft(asked)
        else:
            _shared.waiting.append(asked)
        missing = len(_shared.waiting) - _shared.idle
        if missing > 0 and len(_shared.processes) < _most_processes() and not _start():
            del _shared.known[key]
            _shared.waiting.remove(asked)
            return False
        _shared.changed.notify()
    return True


def knows(key: str) -> bool:
    """Whether a kernel was requested, and nobody has come for it."""
    return key in _shared.known


def is_done(key: str) -> bool:
    """Whether what was requested is over: :func:`result` returns at once."""
    asked = _shared.known.get(key)
    return asked is None or asked.done.is_set()


def has_result(key: str) -> bool:
    """Whether a kernel that was requested has been compiled: :func:`result` returns it at once."""
    asked = _shared.known.get(key)
    return asked is not None and asked.data is not None


def result(key: str) -> bytes | None:
    """The object file of a kernel that was requested, waited for if a process is at it.

    None if it was not requested, or not begun, or failed: then the caller compiles it, and learns
    why.
    """
    with _shared.changed:
        asked = _shared.known.pop(key, None)
        if asked is None:
            return None
        if asked in _shared.waiting:
            _shared.waiting.remove(asked)
            return None
    asked.done.wait()
    return asked.data


# --- the processes --------------------------------------------------------------------------------

#: The code of a process. The package itself is left empty: compiling needs the rooms below
#: operators, which are there in a third of the time.
_CODE = """
import sys, types
sys.path[:] = {path!r}
package = sys.modules["numbagrad"] = types.ModuleType("numbagrad")
package.__path__ = [{folder!r}]
from numbagrad.executor.cache.worker import work
work()
"""
_FOLDER = str(pathlib.Path(__file__).parents[2])


def _start() -> bool:
    """Start a process, and the thread that talks to it; False if that cannot be."""
    import subprocess

    environment = {**os.environ, "NUMBAGRAD_BACKGROUND": "0", "NUMBAGRAD_PROGRESS": "0"}
    command = [sys.executable, "-c", _CODE.format(path=sys.path, folder=_FOLDER)]
    try:
        process = subprocess.Popen(
            command, env=environment, bufsize=0, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError):  # no more processes, or no interpreter: all is compiled here
        _shared.refused = True
        return False
    _shared.processes.add(process)
    threading.Thread(
        target=_talk, args=(_shared, process), daemon=True, name="numbagrad-compiler"
    ).start()
    return True


def _talk(shared: _Shared, process: subprocess.Popen[bytes]) -> None:
    """Give a process one request after another, until there is none for a while."""
    assert process.stdin is not None and process.stdout is not None
    reads, writes = process.stdout.fileno(), process.stdin.fileno()
    while (asked := _next(shared, process)) is not None:
        answer = None
        try:
            send(writes, pickle.dumps((asked.key, asked.kernel)))
            answer = receive(reads)
        except OSError:
            pass  # it has ended, which is no answer
        asked.data = answer or None  # of what failed nothing is sent
        asked.done.set()
        if answer is None:
            break
    with shared.changed:
        shared.processes.discard(process)
    process.stdin.close()
    process.stdout.close()
    process.wait()


def _next(shared: _Shared, process: subprocess.Popen[bytes]) -> _Request | None:
    """The request that came last: who needs them all at once begins with the first."""
    with shared.changed:
        shared.idle += 1
        shared.changed.wait_for(lambda: shared.waiting, IDLE_SECONDS)
        shared.idle -= 1
        if shared.waiting:
            return shared.waiting.pop()
        shared.processes.discard(process)  # before somebody counts on it
        return None


def send(descriptor: int, data: bytes) -> None:
    """Write data with its length."""
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


def receive(descriptor: int) -> bytes | None:
    """The message that was sent; None at the end."""
    head = _read(descriptor, _LENGTH.size)
    return None if head is None else _read(descriptor, *_LENGTH.unpack(head))


def _read(descriptor: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            return None
        data += part
    return data


# --- forks ----------------------------------------------------------------------------------------


def _before_fork() -> None:
    _shared.changed.acquire()


def _after_fork() -> None:
    _shared.changed.release()


def _forget() -> None:
    """A child has none of the threads; its parent alone keeps the processes from ending."""
    global _shared
    former, _shared = _shared, _Shared()
    for process in former.processes:
        process.returncode = 0  # it is no child of this process, and nobody waits for it
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forget)
