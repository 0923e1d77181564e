"""Tensors as ``multiprocessing`` sends them to other processes: shared memory by its name.

Importing the file is what says so to the pickler of ``multiprocessing``.
"""

from __future__ import annotations

# While a thread of a queue imports this, a fork would give the child a lock that nobody releases.
import multiprocessing.resource_sharer  # noqa: F401

from ..absent import lacking
from ..nn import Parameter
from ..ops.conversion.sharing import reduced_for_process as reduce_tensor
from ..ops.conversion.sharing import send_shared
from ..tensor import Tensor

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "memory is shared as the descriptor of a file; use Tensor.share_memory_()",
    """
    SharedCache StorageWeakRef fd_id rebuild_cuda_tensor rebuild_storage_fd
    rebuild_storage_filename rebuild_tensor reduce_event reduce_storage shared_cache
    storage_from_cache
    """,
)

__all__ = ["init_reductions", "reduce_tensor"]


def init_reductions() -> None:
    """Let ``multiprocessing`` share the memory of tensors and parameters."""
    for kind in (Tensor, Parameter):
        send_shared(kind)


init_reductions()
