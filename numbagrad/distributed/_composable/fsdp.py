"""``torch.distributed._composable.fsdp``: parameters that ranks hold in parts; not there."""

from ...absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "every process holds whole tensors; see docs/distributed.md",
    "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy fully_shard",
)
