"""``Work``: an exchange that was started, which the caller waits for, or asks if it is over."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

from ..futures import Future
from .communicator import Requests
from .launcher import check_launcher

__all__ = ["Work", "WorkFuture"]


def seconds(timeout: Any) -> float | None:
    """A time limit in seconds; None for one that is not there."""
    if timeout is None:
        return None
    return timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)


class Work:
    """An exchange under way, or over.

    Args:
        name: of the function, for messages.
        requests: what has to be over.
        finish: called once then, by the thread that sees it.
        outcome: the tensors that the exchange writes.
        limit: seconds that ``wait`` waits at most, if it is not told.
    """

    def __init__(
        self,
        name: str,
        requests: Requests = (),
        finish: Callable[[], None] | None = None,
        outcome: Any = None,
        limit: float | None = None,
    ) -> None:
        self._name = name
        self._requests = requests
        self._finish = finish
        self._outcome = outcome
        self._limit = limit
        self._future: WorkFuture | None = None
        self._is_over = False
        self._error: BaseException | None = None

    def wait(self, timeout: Any = None) -> bool:
        """Return True when the exchange is over.

        Args:
            timeout: a ``timedelta``, or seconds; without one that of the group counts.

        Raises:
            RuntimeError: after that time; or if the process that started this rank is gone.
        """
        limit = seconds(timeout)
        limit = self._limit if limit is None or limit <= 0 else limit
        if self._is_over:
            if self._error is not None:
                raise self._error
            return True
        if limit is None:
            for request in self._requests:
                request.wait()
        else:
            self._wait_at_most(limit)
        self._end()
        return True

    def _wait_at_most(self, limit: float) -> None:
        end = time.monotonic() + limit
        while not all([request.done() for request in self._requests]):
            if time.monotonic() > end:
                raise RuntimeError(
                    f"{self._name}() is not over after {limit:g} seconds: another rank has not "
                    "called it, or is slower than the timeout allows"
                )
            check_launcher()
            time.sleep(20e-6)

    def is_completed(self) -> bool:
        """Whether it is over; asking drives it on."""
        if not self._is_over and all([request.done() for request in self._requests]):
            self._end()
        return self._is_over

    def is_success(self) -> bool:
        """Whether it is over, without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """The error that it ended with, if any."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors that were written; it waits for them."""
        self.wait()
        return list(self._outcome) if isinstance(self._outcome, (list, tuple)) else [self._outcome]

    def source_rank(self) -> int:
        """The rank, within the group, whose message was received."""
        self.wait()
        return max([request.source() for request in self._requests], default=-1)

    def get_future(self) -> WorkFuture:
        """A future of the list of tensors that the exchange writes."""
        if self._future is None:
            self._future = WorkFuture(self)
            if self._is_over:
                self._future.set_result(self.result())
        return self._future

    def _end(self) -> None:
        self._is_over = True
        finish, self._finish = self._finish, None
        try:
            if finish is not None:
                finish()
        except BaseException as error:
            self._error = error
            raise
        if self._future is not None and not Future.done(self._future):
            self._future.set_result(self.result())


class WorkFuture(Future[Any]):
    """The outcome of an exchange, or what callbacks make of it.

    MPI knows no callbacks: those of ``then`` run in the thread that waits for the future, or that
    asks whether it is done.
    """

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def done(self) -> bool:
        """Whether the exchange is over, and with it what follows from it."""
        self._work.is_completed()
        return super().done()

    def wait(self) -> Any:
        """The value, when the exchange is over."""
        self._work.wait()
        return super().wait()

    def then(self, callback: Callable[[Any], Any]) -> WorkFuture:
        """A future of ``callback(self)``."""
        made = WorkFuture(self._work)

        def follow(_: Any) -> None:
            try:
                Future.set_result(made, callback(self))
            except Exception as error:
                made.set_exception(error)

        self._future.add_done_callback(follow)
        return made

    def set_result(self, result: Any) -> None:
        """Give it a value; only once."""
        if self._future.done():
            raise RuntimeError("Future can only be marked completed once.")
        self._future.set_result(result)
