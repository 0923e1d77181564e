"""Fetchers: what turns the indices of a batch into the batch, in this process or in a worker.

``loader.py`` and ``worker.py`` make one for each pass over a dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .collate import default_collate
from .dataset import IterableDataset, samples_of

__all__ = ["Fetch", "fetcher"]

#: Takes the indices of a batch, or one index, and returns the data; raises StopIteration where a
#: stream has ended.
Fetch = Callable[[Any], Any]


def fetcher(dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> Fetch:
    """How batches of a dataset are made. ``batched`` says that indices come in lists."""
    if isinstance(dataset, IterableDataset):
        return _StreamFetcher(iter(dataset), batched, collate, drop_last)
    if not batched:
        return lambda index: collate(dataset[index])
    if collate is default_collate and hasattr(dataset, "collated"):
        return dataset.collated
    return lambda indices: collate(samples_of(dataset, indices))


class _StreamFetcher:
    """Batches of what an iterator yields."""

    def __init__(
        self, stream: Iterator[Any], batched: bool, collate: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.stream = stream
        self.batched = batched
        self.collate = collate
        self.drop_last = drop_last

    def __call__(self, positions: Any) -> Any:
        if not self.batched:
            return self.collate(next(self.stream))
        samples = [sample for _, sample in zip(positions, self.stream, strict=False)]
        if not samples or (self.drop_last and len(samples) < len(positions)):
            raise StopIteration
        return self.collate(samples)
