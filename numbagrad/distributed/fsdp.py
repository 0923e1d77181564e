"""``torch.distributed.fsdp``: parameters shared among processes; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no communication between processes",
    """BackwardPrefetch CPUOffload CPUOffloadPolicy DataParallelMeshDims FSDPModule
    FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel
    LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision MixedPrecisionPolicy
    OffloadPolicy OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig
    ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings StateDictType
    UnshardHandle fully_shard register_fsdp_forward_method share_comm_ctx""",
)
