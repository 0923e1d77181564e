"""``torch.distributed.optim``: optimizers of several processes; not there."""

from ..absent import lacking

__all__, __getattr__, __dir__ = lacking(
    __name__,
    "there is no communication between processes",
    """DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer as_functional_optim""",
)
