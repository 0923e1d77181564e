"""``torch.nn.parallel``: one module on several devices; here there is one device."""

from ...absent import lacking
from ..data_parallel import DataParallel
from .data_parallel import data_parallel
from .distributed import DistributedDataParallel

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "tensors are on one device, the CPU",
    "gather parallel_apply replicate scatter",
)

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
