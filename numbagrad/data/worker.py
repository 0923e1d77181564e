"""Workers: processes that fetch batches ahead of the training loop.

``loader.py`` starts them and shares the batches out. A worker is sent the number and the indices
of a batch, and sends back the number and the batch, or how it failed.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..executor.threads.pool import set_num_threads
from ..random import manual_seed
from .fetch import Fetch

__all__ = ["get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """A worker as its code sees it: its number, how many there are, its seed and its dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The description of the worker this runs in; None in the main process."""
    return _info


class Task(NamedTuple):
    """A batch to be made."""

    number: int
    indices: Any


class NewPass(NamedTuple):
    """Sent when a worker is used again: streams start anew."""


class Done(NamedTuple):
    """A batch, or why there is none."""

    number: int
    worker: int
    batch: Any = None
    failure: Failure | None = None
    ended: bool = False


class Failure:
    """An exception of a worker, with the text of its traceback."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind = type(error)
        name = self.kind.__name__
        text = "".join(traceback.format_exception(error))
        self.message = f"Caught {name} {where}.\nOriginal {text}"

    def reraise(self) -> None:
        """Raise an exception of the same class with the worker's traceback in its text."""
        try:
            error = self.kind(self.message)
        except TypeError:  # its constructor wants other arguments
            raise RuntimeError(self.message) from None
        raise error


def run(
    info: WorkerInfo,
    make_fetch: Callable[[Any], Fetch],
    init: Callable[[int], Any] | None,
    tasks: Any,
    results: Any,
) -> None:
    """The life of a worker: make batches until None is sent."""
    global _info
    _info = info
    set_num_threads(1)
    seed = info.seed
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(np.random.SeedSequence(seed).generate_state(4))
    where = f"in DataLoader worker process {info.id}"
    broken: Failure | None = None
    fetch: Fetch | None = None
    try:
        if init is not None:
            init(info.id)
    except Exception as error:
        broken = Failure(error, where)
    while (task := tasks.get()) is not None:
        if isinstance(task, NewPass):
            fetch = None
            continue
        try:
            if broken is None:
                fetch = fetch or make_fetch(info.dataset)
                results.put(Done(task.number, info.id, fetch(task.indices)))
            else:
                results.put(Done(task.number, info.id, failure=broken))
        except StopIteration:
            results.put(Done(task.number, info.id, ended=True))
        except Exception as error:
            results.put(Done(task.number, info.id, failure=Failure(error, where)))
