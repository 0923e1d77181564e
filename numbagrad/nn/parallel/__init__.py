"""``torch.nn.parallel``: one module in several processes; in each there is one device."""

from ...absent import lacking
from ..data_parallel import DataParallel
from .data_parallel import data_parallel

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "tensors are on one device, the CPU",
    "gather parallel_apply replicate scatter",
    {"DistributedDataParallel": ".distributed", "distributed": ".distributed"},
)

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]  # noqa: F822 - lazy
