"""The interface below the collectives: ranks that exchange contiguous arrays.

``SingleProcess`` is a group of one, which needs no MPI; ``mpi.py`` has the other. Methods that
exchange arrays start and return requests, or with ``blocking`` return when they are done, with
no request. Ranks are those of the group.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np

from .reduce_op import ReduceOp

__all__ = ["SingleProcess", "Communicator", "Request", "Requests", "Sum"]

Array = np.ndarray[Any, Any]


class Request(abc.ABC):
    """An exchange that is under way."""

    @abc.abstractmethod
    def done(self) -> bool:
        """Whether it is over; asking drives it on."""

    @abc.abstractmethod
    def wait(self) -> None:
        """Return when it is over."""

    def source(self) -> int:
        """The rank whose message was received; -1 for all else."""
        return -1


Requests = Sequence[Request]


class Sum:
    """The sum over ranks of arrays of one size and dtype, at each step of a training.

    Args:
        communicator: what it goes through.
    """

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator

    @property
    def memory(self) -> Array | None:
        """Where to put what is given, and where the sum will be, if that spares copies."""
        return None

    def start(self, array: Array, factor: float) -> Requests:
        """Make of an array the sum over all ranks: of ``memory``, where there is one.

        There this rank's array is multiplied by a factor as it is added; elsewhere that is 1.
        """
        assert factor == 1.0
        return self._communicator.all_reduce(array, ReduceOp.SUM, False)


class Communicator(abc.ABC):
    """Ranks that exchange arrays, all of them C-contiguous and of equal size on all ranks."""

    rank: int
    size: int

    @abc.abstractmethod
    def all_reduce(self, array: Array, op: ReduceOp, blocking: bool) -> Requests:
        """Join the arrays of all ranks in place; ``AVG`` adds, and the caller divides."""

    def sums(self, forms: Sequence[tuple[int, np.dtype[Any]]]) -> Sequence[Sum]:
        """Sums of so many elements of a dtype each; all ranks call it."""
        return [Sum(self)] * len(forms)

    @abc.abstractmethod
    def reduce(self, array: Array, op: ReduceOp, root: int, blocking: bool) -> Requests:
        """Join the arrays in that of the root."""

    @abc.abstractmethod
    def reduce_scatter(self, array: Array, made: Array, op: ReduceOp, blocking: bool) -> Requests:
        """Join arrays of ``size`` equal parts; each rank gets its part."""

    @abc.abstractmethod
    def broadcast(self, array: Array, root: int, blocking: bool) -> Requests:
        """Write the array of the root into all others."""

    @abc.abstractmethod
    def all_gather(self, array: Array, made: Array, blocking: bool) -> Requests:
        """Write the arrays of all ranks one after another into ``made``."""

    @abc.abstractmethod
    def gather(self, array: Array, made: Array | None, root: int, blocking: bool) -> Requests:
        """``all_gather`` into ``made`` of the root alone."""

    @abc.abstractmethod
    def scatter(self, array: Array | None, made: Array, root: int, blocking: bool) -> Requests:
        """Each rank gets its part of the array of the root."""

    @abc.abstractmethod
    def all_to_all(
        self, array: Array, sent: Sequence[int], made: Array, received: Sequence[int],
        blocking: bool,
    ) -> Requests:  # fmt: skip
        """Send ``sent[k]`` elements to rank k, and receive ``received[k]`` from it."""

    @abc.abstractmethod
    def send(self, array: Array, to: int, tag: int) -> Request:
        """Send an array to a rank."""

    @abc.abstractmethod
    def receive(self, array: Array, source: int, tag: int) -> Request:
        """Receive an array from a rank, or from any if ``source`` is -1."""

    @abc.abstractmethod
    def barrier(self, blocking: bool) -> Requests:
        """Wait for all ranks."""

    @abc.abstractmethod
    def agree(self, word: int) -> bool:
        """Whether all ranks gave the same number, of less than 63 bits."""

    @abc.abstractmethod
    def objects(self, value: Any) -> list[Any]:
        """The object of each rank; by pickling."""

    @abc.abstractmethod
    def gathered(self, value: Any, root: int) -> list[Any]:
        """``objects`` on the root; an empty list elsewhere."""

    @abc.abstractmethod
    def object_of(self, value: Any, root: int) -> Any:
        """The object of the root; by pickling."""

    @abc.abstractmethod
    def part(self, ranks: Sequence[int] | None) -> Communicator | None:
        """A communicator of some ranks in that order, None where this rank is not among them.

        All ranks call it; None for ``ranks`` makes a communicator of the same ranks.
        """

    @abc.abstractmethod
    def free(self) -> None:
        """Give back what MPI holds for it."""


class _Message(Request):
    """A message of a process to itself: over when sent and received."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.is_over = False

    def done(self) -> bool:
        return self.is_over

    def wait(self) -> None:
        if not self.is_over:
            raise RuntimeError(
                "a message of this process to itself that waits for ever: nothing was sent with "
                "its tag"
            )

    def source(self) -> int:
        return 0


class SingleProcess(Communicator):
    """A process by itself."""

    rank = 0
    size = 1

    def __init__(self) -> None:
        self._sent: dict[int, list[_Message]] = {}
        self._wanted: dict[int, list[_Message]] = {}

    def all_reduce(self, array: Array, op: ReduceOp, blocking: bool) -> Requests:
        return ()

    def reduce(self, array: Array, op: ReduceOp, root: int, blocking: bool) -> Requests:
        return ()

    def reduce_scatter(self, array: Array, made: Array, op: ReduceOp, blocking: bool) -> Requests:
        return self.all_gather(array, made, blocking)

    def broadcast(self, array: Array, root: int, blocking: bool) -> Requests:
        return ()

    def all_gather(self, array: Array, made: Array, blocking: bool) -> Requests:
        made.reshape(-1)[:] = array.reshape(-1)
        return ()

    def gather(self, array: Array, made: Array | None, root: int, blocking: bool) -> Requests:
        assert made is not None
        return self.all_gather(array, made, blocking)

    def scatter(self, array: Array | None, made: Array, root: int, blocking: bool) -> Requests:
        assert array is not None
        return self.all_gather(array, made, blocking)

    def all_to_all(
        self, array: Array, sent: Sequence[int], made: Array, received: Sequence[int],
        blocking: bool,
    ) -> Requests:  # fmt: skip
        return self.all_gather(array, made, blocking)

    def send(self, array: Array, to: int, tag: int) -> Request:
        message = self._meet(_Message(array.copy()), self._sent, self._wanted, tag, True)
        message.is_over = True  # the copy waits for who wants it
        return message

    def receive(self, array: Array, source: int, tag: int) -> Request:
        return self._meet(_Message(array), self._wanted, self._sent, tag, False)

    @staticmethod
    def _meet(message: _Message, own: Any, other: Any, tag: int, sends: bool) -> _Message:
        if not other.get(tag):
            own.setdefault(tag, []).append(message)
            return message
        found = other[tag].pop(0)
        source, target = (message, found) if sends else (found, message)
        target.array.reshape(-1)[:] = source.array.reshape(-1)[: target.array.size]
        message.is_over = found.is_over = True
        return message

    def barrier(self, blocking: bool) -> Requests:
        return ()

    def agree(self, word: int) -> bool:
        return True

    def objects(self, value: Any) -> list[Any]:
        return [value]

    def gathered(self, value: Any, root: int) -> list[Any]:
        return [value]

    def object_of(self, value: Any, root: int) -> Any:
        return value

    def part(self, ranks: Sequence[int] | None) -> Communicator | None:
        return SingleProcess() if ranks is None or 0 in ranks else None

    def free(self) -> None:
        pass
