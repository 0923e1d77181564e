"""``torch.distributed``: training in several processes; not there, and says so.

``is_available()`` is False: programs that ask go on alone.
"""

from __future__ import annotations

import os
from typing import Any

from ..absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "there is no communication between processes; ask torch.distributed.is_available() first",
    """Backend DeviceMesh DistBackendError DistError DistNetworkError DistStoreError FileStore
    GradBucket GroupMember HashStore P2POp PrefixStore ProcessGroup ReduceOp Store TCPStore Work
    all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_reduce
    all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv broadcast
    broadcast_object_list destroy_process_group gather gather_object get_backend
    get_default_backend_for_device get_global_rank get_group_rank get_process_group_ranks
    init_device_mesh init_process_group irecv isend monitored_barrier new_group new_subgroups
    recv recv_object_list reduce reduce_op reduce_scatter reduce_scatter_tensor scatter
    scatter_object_list send send_object_list split_group supports_complex
    distributed_c10d tensor""",
    {
        "algorithms": ".algorithms",
        "fsdp": ".fsdp",
        "optim": ".optim",
        "rpc": ".rpc",
    },
)

_NO_GROUP = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


class _World:
    """The group of all processes: there is none."""

    WORLD = None


group = _World


def is_available() -> bool:
    """Whether processes can communicate: never."""
    return False


def is_initialized() -> bool:
    """Whether a group of processes was made: never."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether processes can communicate in a given way: never."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_available
is_xccl_available = is_available


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_rank(group: Any = None) -> int:
    """The number of this process in a group; raises, as there is none."""
    raise ValueError(_NO_GROUP)


def get_world_size(group: Any = None) -> int:
    """How many processes a group has; raises, as there is none."""
    raise ValueError(_NO_GROUP)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on this machine, as the environment says it."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
        "and want the code to run locally instead."
    )
