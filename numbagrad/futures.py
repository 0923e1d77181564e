"""``torch.futures``: values that another thread makes."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value that is not there yet.

    Args:
        devices: where its tensors lie; only the CPU.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether it has a value, or an error."""
        return self._future.done()

    def wait(self) -> T:
        """Wait for the value, and return it, or raise the error."""
        return self._future.result()

    def value(self) -> T:
        """The value, which has to be there."""
        if not self.done():
            raise RuntimeError("Future is not completed; call wait() first")
        return self._future.result()

    def set_result(self, result: T) -> None:
        """Give it a value; only once."""
        if self.done():
            raise RuntimeError("Future can only be marked completed once.")
        self._future.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Give it an error."""
        assert isinstance(result, Exception), f"{result} is of type {type(result)}, not Exception."
        self._future.set_exception(result)

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        """Call a function with this when it is done; errors of it are printed by Python."""
        self._future.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Any], Any]) -> Future[Any]:
        """A future of what ``callback(self)`` returns when this is done."""
        made: Future[Any] = Future()

        def follow(_: Any) -> None:
            try:
                made.set_result(callback(self))
            except Exception as error:
                made.set_exception(error)

        self._future.add_done_callback(follow)
        return made


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of futures, done when all of them are."""
    made: Future[list[Future[Any]]] = Future()
    if not futures:
        made.set_result([])

    def look(_: Any) -> None:
        if all(each.done() for each in futures) and not made.done():
            made.set_result(futures)

    for each in futures:
        each.add_done_callback(look)
    return made


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of all of them."""
    return [each.wait() for each in futures]
