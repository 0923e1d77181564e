"""A process that fails ends the job: the others would wait for its messages for ever."""

from __future__ import annotations

import sys
from types import TracebackType

__all__ = ["end_job", "end_job_on_error"]

_installed = False


def end_job(rank: int, code: int = 1) -> None:
    """End all processes of the MPI job."""
    from . import mpi

    sys.stderr.write(f"rank {rank} failed: the job ends\n")
    sys.stderr.flush()
    sys.stdout.flush()
    mpi.abort(code)


def end_job_on_error(rank: int) -> None:
    """From now on an exception that nobody catches is printed, and ends the job."""
    global _installed
    if _installed:
        return
    _installed = True
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        sys.stderr.write(f"rank {rank}: ")
        try:
            before(kind, error, where)
        finally:
            end_job(rank)

    sys.excepthook = hook
