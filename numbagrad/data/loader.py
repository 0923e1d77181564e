"""DataLoader: batches of a dataset, in the order of a sampler, made here or by worker processes.

What users iterate over in training. Indices come from ``sampler.py``, batches from ``fetch.py``.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
import multiprocessing
import queue
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import GenericAlias
from typing import Any

from ..cuda import is_available
from ..random import Generator
from ..tensor import Tensor
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import fetcher
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed
from .worker import Done, NewPass, Task, WorkerInfo, run

__all__ = ["DataLoader"]

#: Attributes that may not change once a loader is made.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")

#: Seconds between looks whether the workers are alive.
_PATIENCE = 5.0


class _Forever:
    """The sampler of a stream, whose samples have no index."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_sampling(
    stream: bool, shuffle: Any, sampler: Any, batch_sampler: Any, batch_size: Any, drop_last: bool
) -> None:
    if stream:
        options = {"sampler": sampler, "batch_sampler": batch_sampler}
        if shuffle:
            options = {"shuffle": shuffle}
        for name, value in options.items():
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                    f"{name}={value}"
                )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                "drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _pinned(batch: Any) -> Any:
    """A batch with its tensors, which may be nested, in memory that is locked for GPUs."""
    if isinstance(batch, Tensor):
        return batch.pin_memory()
    if isinstance(batch, dict):
        return {key: _pinned(value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[_pinned(x) for x in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([_pinned(x) for x in batch])
    return batch.pin_memory() if hasattr(batch, "pin_memory") else batch


class DataLoader:
    """Batches of a dataset; each ``iter`` is a pass over it.

    Args:
        dataset: samples by index, or an :class:`IterableDataset`.
        batch_size: samples in a batch; None gives single samples.
        shuffle: whether each pass has a new random order, torch's from the same seed.
        sampler: an order of indices; or ``batch_sampler``, one of lists of them.
        num_workers: processes that make batches ahead; 0 makes them when they are asked for.
        collate_fn: makes a batch of a list of samples.
        drop_last: whether a last batch that is shorter is left out.
        timeout: seconds to wait for a batch of a worker; 0 means for ever.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: how workers start: a name, or a context of multiprocessing.
        generator: where random orders and the seeds of the workers come from.
        prefetch_factor: batches in the making for each worker, 2 unless given.
        persistent_workers: whether workers live on after a pass.
        pin_memory: whether tensors of batches are copied to memory that is locked for GPUs.
        pin_memory_device, in_order: taken for the sake of programs that name them;
            memory is not pinned, and batches come in order always.
    """

    #: Annotations name its elements, as `DataLoader[int]`; nothing asks for them.
    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        stream = isinstance(dataset, IterableDataset)
        _check_sampling(stream, shuffle, sampler, batch_sampler, batch_size, drop_last)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        order: Any = sampler
        if order is None:
            if stream:
                order = _Forever()
            elif shuffle:
                order = RandomSampler(dataset, generator=generator)
            else:
                order = SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(order, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = order
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._stream = stream
        self._promised: int | None = None
        self._workers: _Workers | None = None
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("_made"):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    #: torch's names of how a dataset is asked, which loaders of other libraries build upon.
    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _make_fetch(self) -> Callable[[Any], Any]:
        """How a dataset, here or in a worker, is read."""
        return functools.partial(
            fetcher,
            batched=self._auto_collation,
            collate=self.collate_fn,
            drop_last=self.drop_last,
        )

    def __iter__(self) -> Iterator[Any]:
        pins = self.pin_memory and is_available()
        if self.pin_memory and not pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                stacklevel=2,
            )
        # As in torch: drawn for every pass, but for one of workers that were started before.
        seed = drawn_seed(self.generator) if self._workers is None else 0
        batches = self._with_workers(seed) if self.num_workers else self._without_workers()
        if pins:
            batches = map(_pinned, batches)
        return self._counted(batches) if self._stream else batches

    def _without_workers(self) -> Iterator[Any]:
        fetch = self._make_fetch()(self.dataset)
        for indices in self._index_sampler:
            try:
                batch = fetch(indices)
            except StopIteration:
                return
            yield batch

    def _with_workers(self, seed: int) -> Iterator[Any]:
        workers = self._workers
        if workers is None:
            workers = _Workers(self, seed)
            if self.persistent_workers:
                self._workers = workers
        else:
            workers.start_pass()
        try:
            yield from workers.batches(self._index_sampler, self.timeout)
        finally:
            if workers is not self._workers:
                workers.stop()

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Warn where a stream yields more than its length promised."""
        for count, batch in enumerate(batches, 1):
            if self._promised is not None and count > self._promised:
                warnings.warn(
                    f"Length of IterableDataset {self.dataset} was reported to be {self._promised}"
                    f"(when accessing len(dataloader)), but {count} samples have been fetched. ",
                    stacklevel=2,
                )
            yield batch

    def __len__(self) -> int:
        if not self._stream:
            return len(self._index_sampler)
        length = self._promised = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


class _Workers:
    """The worker processes of a loader, and the batches that are in the making."""

    def __init__(self, loader: DataLoader, seed: int) -> None:
        self.processes: list[Any] = []
        self.tasks: list[Any] = []
        context = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        self.results = context.Queue()
        self.outstanding = 0
        self.ahead = loader.num_workers * max(loader.prefetch_factor or 0, 1)
        for number in range(loader.num_workers):
            info = WorkerInfo(number, loader.num_workers, seed + number, loader.dataset)
            tasks = context.Queue()
            process = context.Process(
                target=run,
                args=(info, loader._make_fetch(), loader.worker_init_fn, tasks, self.results),
                daemon=True,
            )
            process.start()
            self.tasks.append(tasks)
            self.processes.append(process)

    def start_pass(self) -> None:
        """Forget what is left of a pass that was broken off, and let streams start anew."""
        while self.outstanding:
            self._receive(0)
        for tasks in self.tasks:
            tasks.put(NewPass())

    def _receive(self, timeout: float) -> Done:
        """The next result of any worker."""
        waited = 0.0
        while True:
            patience = min(_PATIENCE, timeout - waited) if timeout else _PATIENCE
            try:
                done = self.results.get(timeout=patience)
            except queue.Empty:
                waited += patience
                self._check_alive()
                if timeout and waited >= timeout:
                    raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
            else:
                self.outstanding -= 1
                return done

    def _check_alive(self) -> None:
        dead = [str(process.pid) for process in self.processes if not process.is_alive()]
        if dead:
            raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(dead)}) exited unexpectedly")

    def batches(self, index_sampler: Iterable[Any], timeout: float) -> Iterator[Any]:
        """All batches of a pass, in order, a few of them ahead in the making."""
        numbered = enumerate(index_sampler)
        free = collections.deque(range(len(self.tasks)))
        expected: collections.deque[int] = collections.deque()
        ready: dict[int, Done] = {}
        while True:
            while free and len(expected) < self.ahead:
                task = next(numbered, None)
                if task is None:
                    break
                worker = free[0]
                free.rotate(-1)
                self.tasks[worker].put(Task(*task))
                self.outstanding += 1
                expected.append(task[0])
            if not expected:
                return
            number = expected.popleft()
            while number not in ready:
                done = self._receive(timeout)
                ready[done.number] = done
            done = ready.pop(number)
            if done.failure is not None:
                done.failure.reraise()
            if not done.ended:
                yield done.batch
            elif done.worker in free:
                free.remove(done.worker)

    def stop(self) -> None:
        """End the processes."""
        for tasks, process in zip(self.tasks, self.processes, strict=True):
            if self.outstanding:  # it may be waiting for somebody to take its batches
                process.terminate()
            else:
                tasks.put(None)
        for process in self.processes:
            process.join()
        for channel in (*self.tasks, self.results):
            channel.close()
            channel.cancel_join_thread()
        self.processes = []

    def __del__(self) -> None:
        if self.processes:
            self.stop()
