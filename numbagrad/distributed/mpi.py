"""Ranks that are processes of an MPI job, through mpi4py; imported when a group is made of them.

MPI does only what the present call drives it to do. So that messages move while this process
computes, a thread asks MPI for progress every so often as long as an exchange is under way
(``NUMBAGRAD_MPI_PROGRESS`` is the time between in microseconds; 0 does without the thread).
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from .. import half_precision as half
from ..dtype import bfloat16
from . import shared_sums
from .communicator import Array, Communicator, Request, Requests, Sum
from .reduce_op import ReduceOp

__all__ = ["RanksOfMPI", "abort", "local_position", "ranks_of_job"]

_OPERATIONS = {
    ReduceOp.SUM: MPI.SUM, ReduceOp.AVG: MPI.SUM, ReduceOp.PRODUCT: MPI.PROD,
    ReduceOp.MIN: MPI.MIN, ReduceOp.MAX: MPI.MAX, ReduceOp.BAND: MPI.BAND,
    ReduceOp.BOR: MPI.BOR, ReduceOp.BXOR: MPI.BXOR,
}  # fmt: skip
_OF_BOOL = {
    ReduceOp.SUM: MPI.LOR, ReduceOp.MAX: MPI.LOR, ReduceOp.BOR: MPI.LOR,
    ReduceOp.PRODUCT: MPI.LAND, ReduceOp.MIN: MPI.LAND, ReduceOp.BAND: MPI.LAND,
    ReduceOp.BXOR: MPI.LXOR,
}  # fmt: skip
_ON_HALVES: dict[ReduceOp, Callable[[Array, Array], Array]] = {
    ReduceOp.SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MIN: np.minimum, ReduceOp.MAX: np.maximum,
}  # fmt: skip


@functools.cache
def _operation(op: ReduceOp, kind: np.dtype[Any]) -> MPI.Op:
    """MPI's operation for elements of a dtype; it knows no floats of two bytes."""
    if kind == np.bool_:
        return _OF_BOOL[op]
    if kind != np.float16 and kind != bfloat16.numpy:
        return _OPERATIONS[op]
    join = _ON_HALVES[op]

    def joined(one: Any, other: Any, datatype: Any) -> None:
        a, b = (half.readable(np.frombuffer(buffer, kind)) for buffer in (one, other))
        with np.errstate(all="ignore"):
            values = join(a.astype(np.float32), b.astype(np.float32))
        np.frombuffer(other, kind)[:] = half.converted(values, kind)

    return MPI.Op.Create(joined, commute=True)


def _plain(array: Array) -> Array:
    """An array as MPI takes it: elements of two bytes that it does not know as integers."""
    if array.dtype == np.float16 or array.dtype == bfloat16.numpy:
        return array.view(np.int16)
    return array


class _Progress:
    """A thread that has MPI go on while exchanges are under way."""

    def __init__(self) -> None:
        self._pause = float(os.environ.get("NUMBAGRAD_MPI_PROGRESS", "200")) / 1e6
        self._many_threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        self._under_way = 0
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._own: Any = None

    def begins(self) -> None:
        """Note that an exchange was started."""
        if not self._pause or not self._many_threads:
            return
        if self._thread is None:
            self._own = MPI.COMM_SELF.Dup()
            self._thread = threading.Thread(target=self._drive, name="MPI progress", daemon=True)
            self._thread.start()
        with self._change:
            self._under_way += 1
            self._change.notify()

    def ends(self) -> None:
        """Note that an exchange is over."""
        if self._thread is not None:
            with self._change:
                self._under_way -= 1

    def _drive(self) -> None:
        while True:
            with self._change:
                while not self._under_way:
                    self._change.wait()
            if MPI.Is_finalized():
                return
            self._own.Iprobe()
            time.sleep(self._pause)


_progress = _Progress()


class _MPIRequest(Request):
    """A request of MPI, and the arrays that it needs until it is over."""

    def __init__(self, request: Any, keep: Any, received: bool = False) -> None:
        self._request = request
        self._keep = keep
        self._status = MPI.Status() if received else None
        self._is_over = False
        _progress.begins()

    def done(self) -> bool:
        if not self._is_over and self._request.Test(self._status):
            self._end()
        return self._is_over

    def wait(self) -> None:
        if not self._is_over:
            self._request.Wait(self._status)
            self._end()

    def _end(self) -> None:
        self._is_over = True
        self._keep = None
        _progress.ends()

    def source(self) -> int:
        return -1 if self._status is None else int(self._status.source)


#: The communicators of MPI by number. ``compile`` watches the objects that a step can reach, and
#: has no way to watch these; which of them an object stands for never changes.
_COMMUNICATORS: dict[int, Any] = {}
#: By the same numbers, the sums that go with a communicator.
_SHARED: dict[int, list[shared_sums.SharedSums]] = {}
_next_number = itertools.count().__next__


def _shared_sums(
    comm: Any, forms: Sequence[tuple[int, np.dtype[Any]]]
) -> shared_sums.SharedSums | None:
    """Sums in the memory of one machine; None if ranks are on several, or it has no room."""
    local = comm.Split_type(MPI.COMM_TYPE_SHARED)
    is_one_machine = local.size == comm.size
    local.Free()
    if not comm.allreduce(is_one_machine and shared_sums.IS_POSSIBLE, MPI.LAND):
        return None
    size = shared_sums.size_of(forms, comm.size)
    path = shared_sums.make_file(size) if comm.rank == 0 else None
    memory = None if path is None else shared_sums.map_file(path)  # the first moves its pages
    path = comm.bcast(path, 0)
    if path is not None and comm.rank:
        memory = shared_sums.map_file(path)
    is_everywhere = comm.allreduce(memory is not None, MPI.LAND)
    if path is not None and comm.rank == 0:
        os.unlink(path)  # the memory stays while somebody has it mapped
    return shared_sums.SharedSums(memory, comm.rank, comm.size, forms) if is_everywhere else None


class RanksOfMPI(Communicator):
    """The ranks of an MPI communicator."""

    def __init__(self, comm: Any) -> None:
        self._number = _next_number()
        _COMMUNICATORS[self._number] = comm
        self.rank = comm.rank
        self.size = comm.size

    @property
    def _comm(self) -> Any:
        return _COMMUNICATORS[self._number]

    def _start(self, name: str, blocking: bool, *arguments: Any) -> Requests:
        if blocking:
            getattr(self._comm, name)(*arguments)
            return ()
        return (_MPIRequest(getattr(self._comm, f"I{name.lower()}")(*arguments), arguments),)

    def all_reduce(self, array: Array, op: ReduceOp, blocking: bool) -> Requests:
        operation = _operation(op, array.dtype)
        return self._start("Allreduce", blocking, MPI.IN_PLACE, _plain(array), operation)

    def sums(self, forms: Sequence[tuple[int, np.dtype[Any]]]) -> Sequence[Sum]:
        shared = _shared_sums(self._comm, forms)
        if shared is None:
            return super().sums(forms)
        _SHARED.setdefault(self._number, []).append(shared)
        return shared.sums

    def reduce(self, array: Array, op: ReduceOp, root: int, blocking: bool) -> Requests:
        operation, array = _operation(op, array.dtype), _plain(array)
        if self.rank == root:
            return self._start("Reduce", blocking, MPI.IN_PLACE, array, operation, root)
        return self._start("Reduce", blocking, array, None, operation, root)

    def reduce_scatter(self, array: Array, made: Array, op: ReduceOp, blocking: bool) -> Requests:
        operation = _operation(op, array.dtype)
        return self._start("Reduce_scatter_block", blocking, _plain(array), _plain(made), operation)

    def broadcast(self, array: Array, root: int, blocking: bool) -> Requests:
        return self._start("Bcast", blocking, _plain(array), root)

    def all_gather(self, array: Array, made: Array, blocking: bool) -> Requests:
        return self._start("Allgather", blocking, _plain(array), _plain(made))

    def gather(self, array: Array, made: Array | None, root: int, blocking: bool) -> Requests:
        received = None if made is None else _plain(made)
        return self._start("Gather", blocking, _plain(array), received, root)

    def scatter(self, array: Array | None, made: Array, root: int, blocking: bool) -> Requests:
        sent = None if array is None else _plain(array)
        return self._start("Scatter", blocking, sent, _plain(made), root)

    def all_to_all(
        self, array: Array, sent: Sequence[int], made: Array, received: Sequence[int],
        blocking: bool,
    ) -> Requests:  # fmt: skip
        return self._start(
            "Alltoallv", blocking, [_plain(array), list(sent)], [_plain(made), list(received)]
        )

    def send(self, array: Array, to: int, tag: int) -> Request:
        array = _plain(array)
        return _MPIRequest(self._comm.Isend(array, to, tag), array)

    def receive(self, array: Array, source: int, tag: int) -> Request:
        array = _plain(array)
        source = MPI.ANY_SOURCE if source < 0 else source
        return _MPIRequest(self._comm.Irecv(array, source, tag), array, received=True)

    def barrier(self, blocking: bool) -> Requests:
        return self._start("Barrier", blocking)

    def agree(self, word: int) -> bool:
        words, most = np.array([word, -word]), np.empty(2, np.int64)
        self._comm.Allreduce(words, most, MPI.MAX)
        return bool(most[0] == -most[1])

    def objects(self, value: Any) -> list[Any]:
        return self._comm.allgather(value)

    def gathered(self, value: Any, root: int) -> list[Any]:
        return self._comm.gather(value, root) or []

    def object_of(self, value: Any, root: int) -> Any:
        return self._comm.bcast(value, root)

    def part(self, ranks: Sequence[int] | None) -> Communicator | None:
        if ranks is None:
            return RanksOfMPI(self._comm.Dup())
        inside = self.rank in ranks
        color = 0 if inside else MPI.UNDEFINED
        made = self._comm.Split(color, list(ranks).index(self.rank) if inside else 0)
        return RanksOfMPI(made) if inside else None

    def free(self) -> None:
        comm = _COMMUNICATORS.pop(self._number)
        for shared in _SHARED.pop(self._number, ()):
            shared.free()
        if not MPI.Is_finalized():
            comm.Free()


def ranks_of_job() -> RanksOfMPI:
    """All processes of the job, with messages of their own."""
    return RanksOfMPI(MPI.COMM_WORLD.Dup())


@functools.cache
def local_position() -> tuple[int, int]:
    """The number of this process among those of its machine, and how many these are."""
    local = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
    position = local.rank, local.size
    local.Free()
    return position


def abort(code: int) -> None:
    """End all processes of the job."""
    MPI.COMM_WORLD.Abort(code)
