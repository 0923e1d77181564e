"""``torch.distributed.algorithms``: hooks of ``DistributedDataParallel``."""

from ...absent import lacking
from . import ddp_comm_hooks

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "give all ranks as many batches, as DistributedSampler does",
    "Join JoinHook Joinable model_averaging",
    {"join": ".join"},
)

__all__ = ["ddp_comm_hooks", *_absent]
