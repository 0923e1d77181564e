"""The process that started this rank, and would end it with the job."""

from __future__ import annotations

import os

__all__ = ["check_launcher"]

_LAUNCHER = os.getppid()


def check_launcher() -> None:
    """Raise if the process that started this rank is gone: nobody ends the job then.

    A wait asks again and again, as ranks of a job whose launcher was killed would wait for each
    other for ever.

    Raises:
        RuntimeError: if this process has another parent than at its start.
    """
    if os.getppid() != _LAUNCHER:
        raise RuntimeError(
            f"the process that started this rank ({_LAUNCHER}) has ended, and with it the job: "
            "what other ranks would give cannot be waited for"
        )
