# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.utils.data``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.data.collate import default_collate as default_collate
from numbagrad.data.collate import default_convert as default_convert
from numbagrad.data.dataset import ChainDataset as ChainDataset
from numbagrad.data.dataset import ConcatDataset as ConcatDataset
from numbagrad.data.dataset import Dataset as Dataset
from numbagrad.data.dataset import IterableDataset as IterableDataset
from numbagrad.data.dataset import StackDataset as StackDataset
from numbagrad.data.dataset import Subset as Subset
from numbagrad.data.dataset import TensorDataset as TensorDataset
from numbagrad.data.dataset import random_split as random_split
from numbagrad.data.loader import DataLoader as DataLoader
from numbagrad.data.pipes import IterDataPipe as IterDataPipe
from numbagrad.data.pipes import MapDataPipe as MapDataPipe
from numbagrad.data.pipes import functional_datapipe as functional_datapipe
from numbagrad.data.sampler import BatchSampler as BatchSampler
from numbagrad.data.sampler import RandomSampler as RandomSampler
from numbagrad.data.sampler import Sampler as Sampler
from numbagrad.data.sampler import SequentialSampler as SequentialSampler
from numbagrad.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from numbagrad.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from numbagrad.data.worker import get_worker_info as get_worker_info
from numbagrad.utils.data.distributed import DistributedSampler as DistributedSampler

class DFIterDataPipe:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class DataChunk:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class argument_validation:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class guaranteed_datapipes_determinism:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class non_deterministic:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class runtime_validation:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class runtime_validation_disabled:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
