# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.utils.data.dataloader``."""

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
from numbagrad.data.dataset import IterableDataset as IterableDataset
from numbagrad.data.loader import DataLoader as DataLoader
from numbagrad.data.loader import _Forever as __InfiniteConstantSampler
from numbagrad.data.sampler import BatchSampler as BatchSampler
from numbagrad.data.sampler import RandomSampler as RandomSampler
from numbagrad.data.sampler import Sampler as Sampler
from numbagrad.data.sampler import SequentialSampler as SequentialSampler
from numbagrad.data.worker import get_worker_info as get_worker_info

_InfiniteConstantSampler = __InfiniteConstantSampler
