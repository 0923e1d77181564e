"""``torch.utils.data``: the names of ``numbagrad/data``, by torch's files as well."""

from ...absent import lacking
from ...data import *
from ...data import __all__ as _present
from .distributed import DistributedSampler

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "pipes of data were given up by torch; use a Dataset and a DataLoader",
    """DFIterDataPipe DataChunk argument_validation guaranteed_datapipes_determinism
    non_deterministic runtime_validation runtime_validation_disabled""",
    {
        "_utils": "._utils",
        "dataloader": ".dataloader",
        "dataset": ".dataset",
        "sampler": ".sampler",
    },
)

__all__ = [*_present, "DistributedSampler"]
