# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.distributed``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..absent import lacking
from .collectives import __all__ as _collectives
from .objects import __all__ as _objects
from .point_to_point import __all__ as _messages
from .rearranging import __all__ as _rearranging
from numbagrad.distributed import algorithms as algorithms
from numbagrad.distributed import fsdp as fsdp
from numbagrad.distributed import optim as optim
from numbagrad.distributed import rpc as rpc
from numbagrad.distributed.backend import Backend as Backend
from numbagrad.distributed.collectives import all_gather as all_gather
from numbagrad.distributed.collectives import all_gather_into_tensor as all_gather_into_tensor
from numbagrad.distributed.collectives import all_reduce as all_reduce
from numbagrad.distributed.collectives import barrier as barrier
from numbagrad.distributed.collectives import broadcast as broadcast
from numbagrad.distributed.collectives import gather as gather
from numbagrad.distributed.collectives import reduce as reduce
from numbagrad.distributed.collectives import reduce_scatter as reduce_scatter
from numbagrad.distributed.collectives import reduce_scatter_tensor as reduce_scatter_tensor
from numbagrad.distributed.collectives import scatter as scatter
from numbagrad.distributed.objects import all_gather_object as all_gather_object
from numbagrad.distributed.objects import broadcast_object_list as broadcast_object_list
from numbagrad.distributed.objects import gather_object as gather_object
from numbagrad.distributed.objects import monitored_barrier as monitored_barrier
from numbagrad.distributed.objects import recv_object_list as recv_object_list
from numbagrad.distributed.objects import scatter_object_list as scatter_object_list
from numbagrad.distributed.objects import send_object_list as send_object_list
from numbagrad.distributed.point_to_point import P2POp as P2POp
from numbagrad.distributed.point_to_point import batch_isend_irecv as batch_isend_irecv
from numbagrad.distributed.point_to_point import irecv as irecv
from numbagrad.distributed.point_to_point import isend as isend
from numbagrad.distributed.point_to_point import recv as recv
from numbagrad.distributed.point_to_point import send as send
from numbagrad.distributed.process_group import GroupMember as GroupMember
from numbagrad.distributed.process_group import ProcessGroup as ProcessGroup
from numbagrad.distributed.process_group import destroy_process_group as destroy_process_group
from numbagrad.distributed.process_group import get_backend as get_backend
from numbagrad.distributed.process_group import get_global_rank as get_global_rank
from numbagrad.distributed.process_group import get_group_rank as get_group_rank
from numbagrad.distributed.process_group import get_pg_count as get_pg_count
from numbagrad.distributed.process_group import get_process_group_ranks as get_process_group_ranks
from numbagrad.distributed.process_group import get_rank as get_rank
from numbagrad.distributed.process_group import get_world_size as get_world_size
from numbagrad.distributed.process_group import group as group
from numbagrad.distributed.process_group import init_process_group as init_process_group
from numbagrad.distributed.process_group import is_initialized as is_initialized
from numbagrad.distributed.process_group import new_group as new_group
from numbagrad.distributed.process_group import new_subgroups as new_subgroups
from numbagrad.distributed.process_group import split_group as split_group
from numbagrad.distributed.rearranging import all_gather_coalesced as all_gather_coalesced
from numbagrad.distributed.rearranging import all_reduce_coalesced as all_reduce_coalesced
from numbagrad.distributed.rearranging import all_to_all as all_to_all
from numbagrad.distributed.rearranging import all_to_all_single as all_to_all_single
from numbagrad.distributed.reduce_op import ReduceOp as ReduceOp
from numbagrad.distributed.reducer import GradBucket as GradBucket
from numbagrad.distributed.work import Work as Work
import importlib.util
import os

class DeviceMesh:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class DistBackendError:
    def __init__(self, *arguments: Any, **keywords: Any) -> None: ...
class DistError:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class DistNetworkError:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class DistStoreError:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class FileStore:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class HashStore:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class PrefixStore:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Store:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class TCPStore:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class distributed_c10d:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class get_default_backend_for_device:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class init_device_mesh:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
reduce_op = ReduceOp
def is_available() -> bool:
    ...
def is_mpi_available() -> bool:
    ...
def is_nccl_available() -> bool:
    ...
is_gloo_available = is_ucc_available = is_xccl_available = is_nccl_available
def is_backend_available(backend: str) -> bool:
    ...
def is_torchelastic_launched() -> bool:
    ...
def supports_complex(reduceOp: ReduceOp) -> bool:
    ...
def get_node_local_rank(fallback_rank: int | None=...) -> int:
    ...
