"""``torch.utils.data.dataloader``: the loader, at torch's path."""

from collections.abc import Callable

from ...absent import lacking
from ...data.collate import default_collate, default_convert
from ...data.dataset import IterableDataset
from ...data.loader import DataLoader
from ...data.loader import _Forever as _InfiniteConstantSampler
from ...data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from ...data.worker import get_worker_info
from ._utils.collate import _collate_fn_t as _collate_fn_t

_absent, __getattr__, __dir__ = lacking(
    __name__, "there are no data pipes", "_sharding_worker_init_fn _share_dist_seed"
)


#: A function that is called in a worker with its number, as in a DataLoader.
_worker_init_fn_t = Callable[[int], None]  # noqa: N816 - torch's name


class _DatasetKind:
    """How a loader asks a dataset: by numbers, or for the next element."""

    Map = 0
    Iterable = 1


class _BaseDataLoaderIter:
    """Base of torch's iterators; those of a DataLoader here are generators."""


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """torch's iterator without workers, a name for ``isinstance``."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """torch's iterator with workers, a name for ``isinstance``."""


__all__ = ["BatchSampler", "DataLoader", "IterableDataset", "RandomSampler", "Sampler",
           "SequentialSampler", "_InfiniteConstantSampler",
           "default_collate", "default_convert", "get_worker_info"]  # fmt: skip
