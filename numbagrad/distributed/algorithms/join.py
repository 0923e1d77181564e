"""``torch.distributed.algorithms.join``: ranks with different numbers of batches; not there."""

from ...absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__, "give all ranks as many batches, as DistributedSampler does", "Join JoinHook Joinable"
)
