"""Processes that run one function: ``spawn``, and what it raises when one of them fails."""

from __future__ import annotations

import multiprocessing as _python
import multiprocessing.connection as _connection
import os
import signal as _signal
import sys
import tempfile as _tempfile
import traceback as _traceback
from typing import Any

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
           "SpawnContext", "spawn", "start_processes"]  # fmt: skip


class ProcessException(Exception):
    """A process failed: which one, and its process id."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid


class ProcessRaisedException(ProcessException):
    """A function in a process raised; the text has its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended with a status, or by a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name


def _run(fn: Any, index: int, args: tuple[Any, ...], report: str) -> None:
    """The body of a process: the function, and its traceback into a file if it fails."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        # Ctrl-C reaches the parent too, whose traceback is enough. The process ends by the signal
        # itself, so that one which was interrupted alone does not count as one that has succeeded.
        sys.stdout.flush()
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        _signal.raise_signal(_signal.SIGINT)
    except Exception:
        with open(report, "w", encoding="utf-8") as file:
            file.write(_traceback.format_exc())
        raise SystemExit(1) from None


def _report(folder: Any, index: int) -> str:
    """Where a process writes why it failed."""
    return os.path.join(folder.name, str(index))


class ProcessContext:
    """Processes that run one function.

    Attributes:
        processes: them.
    """

    def __init__(self, processes: list[Any], folder: Any) -> None:
        self.processes = processes
        self._folder = folder

    def pids(self) -> list[int]:
        """Their ids."""
        return [each.pid for each in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for one to end, or for the time; whether all have ended well.

        Raises:
            ProcessRaisedException: if the function raised; the other processes are ended.
            ProcessExitedException: if a process ended in another way than by returning.
        """
        running = {each.sentinel: each for each in self.processes if each.exitcode is None}
        if running:  # to wait for none of them would be to wait for ever
            _connection.wait(list(running), timeout=timeout)
        for index, process in enumerate(self.processes):
            if process.exitcode not in (None, 0):
                self._end(grace_period)
                self._raise(index, process)
        return all(process.exitcode == 0 for process in self.processes)

    def _end(self, grace_period: float | None) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join(grace_period)
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, index: int, process: Any) -> None:
        path = _report(self._folder, index)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = f"\n\n-- Process {index} terminated with the following error:\n{file.read()}"
            raise ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = _signal.Signals(-code).name
            raise ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, name
            )
        raise ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, process.pid, code
        )


SpawnContext = ProcessContext


def start_processes(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
    numa_options: Any = None,
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in ``nprocs`` processes, and wait for them, or return their context."""
    context: Any = _python.get_context(start_method)
    processes = []
    folder = _tempfile.TemporaryDirectory(prefix="numbagrad-processes-")
    for index in range(nprocs):
        given = fn, index, args, _report(folder, index)
        process = context.Process(target=_run, args=given, daemon=daemon)
        process.start()
        processes.append(process)
    made = ProcessContext(processes, folder)
    if not join:
        return made
    while not made.join():
        pass
    return None


def spawn(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """``start_processes``, with new interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
