"""``torch.nn.parallel.distributed``: one module in several processes; not there."""

from ...absent import absent

__all__ = ["DistributedDataParallel"]

DistributedDataParallel = absent(
    "torch.nn.parallel.DistributedDataParallel",
    "there is no communication between processes; train in one, without the wrapper",
)
