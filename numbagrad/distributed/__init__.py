"""``torch.distributed``: training in several processes, which exchange tensors through MPI.

A program starts as several processes by ``mpiexec -n 4 python script.py``, or by ``python -m
numbagrad.distributed.run --nproc-per-node 4 script.py``; each calls ``init_process_group`` and
then the collectives of this module. By itself a process is a group of one, which needs no MPI.

``collectives.py`` says what is exchanged, ``exchange.py`` checks that ranks agree and holds it in
compiled programs, ``communicator.py`` and ``mpi.py`` do it. ``nn.parallel.DistributedDataParallel``
is in ``data_parallel.py`` and ``reducer.py``.
"""

from __future__ import annotations

import importlib.util
import os

from ..absent import lacking
from .collectives import *  # noqa: F403
from .collectives import __all__ as _collectives
from .objects import *  # noqa: F403
from .objects import __all__ as _objects
from .point_to_point import *  # noqa: F403
from .point_to_point import __all__ as _messages
from .process_group import (
    GroupMember,
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    split_group,
)
from .rearranging import *  # noqa: F403
from .rearranging import __all__ as _rearranging
from .reduce_op import ReduceOp
from .work import Work

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "processes exchange tensors through MPI, as one program in each; see docs/distributed.md",
    """DeviceMesh DistError DistNetworkError DistStoreError FileStore HashStore
    PrefixStore Store TCPStore get_default_backend_for_device init_device_mesh distributed_c10d""",
    {
        "DistBackendError": "builtins:RuntimeError",
        "GradBucket": ".reducer",
        "Backend": ".backend",
        "algorithms": ".algorithms",
        "device_mesh": ".device_mesh",
        "fsdp": ".fsdp",
        "nn": ".nn",
        "optim": ".optim",
        "rpc": ".rpc",
        "run": ".run",
        "tensor": ".tensor",
    },
)

#: The first name that torch had for ``ReduceOp``.
reduce_op = ReduceOp

__all__ = [
    "GroupMember", "ProcessGroup", "ReduceOp", "Work", "destroy_process_group", "get_backend",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
    "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
    "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "new_group", "new_subgroups", "reduce_op", "split_group",
    "supports_complex", *_collectives, *_messages, *_objects, *_rearranging, *_absent,
]  # fmt: skip


def is_available() -> bool:
    """Whether there are process groups: always, of one process without MPI."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed, and with it groups of several processes."""
    return importlib.util.find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Whether there is NCCL: never."""
    return False


is_gloo_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether processes can exchange tensors in a given way: by "mpi", with mpi4py."""
    return backend.lower() == "mpi" and is_mpi_available()


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun``, or ``numbagrad.distributed.run``, started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def supports_complex(reduceOp: ReduceOp) -> bool:  # noqa: N803 - torch's name
    """Whether complex tensors have a reduction."""
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on this machine, as the environment says it.

    Raises:
        RuntimeError: if neither the environment nor the argument says it.
    """
    for name in ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"):
        if name in os.environ:
            return int(os.environ[name])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
        "and want the code to run locally instead."
    )
