"""``torch.nn.parallel.distributed``: the path of ``DistributedDataParallel``."""

from ...distributed.data_parallel import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
