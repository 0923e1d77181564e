"""``DistributedSampler``: the part of a dataset that one of several processes trains on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import GenericAlias
from typing import Any

from ...data.sampler import Sampler
from ...ops.creation.random import randperm
from ...random import Generator

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th sample, in an order that all processes know.

    Args:
        dataset: what is sampled; only its length is asked for.
        num_replicas: how many processes there are; without it, those of the default process group.
        rank: which of them this is; without it, the rank in that group.
        shuffle: whether the order is drawn, from ``seed`` and the epoch.
        seed: the same in all processes.
        drop_last: whether samples are left out to make parts equal; else some come twice.

    Raises:
        ValueError: for a rank that is none of the replicas; without ``num_replicas`` or ``rank``
            where there is no process group.
    """

    #: Annotations name its elements, as `DistributedSampler[int]`; nothing asks for them.
    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from ... import distributed

            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        count = len(dataset)
        if drop_last and count % num_replicas:
            self.num_samples = math.ceil((count - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def _order(self) -> list[int]:
        count = len(self.dataset)
        if not self.shuffle:
            return list(range(count))
        generator = Generator()
        generator.manual_seed(self.seed + self.epoch)
        return randperm(count, generator=generator).tolist()

    def __iter__(self) -> Iterator[int]:
        order = self._order()
        missing = self.total_size - len(order)
        if self.drop_last:
            order = order[: self.total_size]
        elif missing > 0:
            order += (order * math.ceil(missing / len(order)))[:missing]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch it is, so that the order changes."""
        self.epoch = epoch
