"""``torch.utils.benchmark``: statements timed as ``timeit`` does, with medians and tables."""

from ...absent import lacking
from .compare import Compare
from .timer import Measurement, Timer

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "use Timer and Compare",
    """CallgrindStats FunctionCount FunctionCounts FuzzedParameter FuzzedSparseTensor FuzzedTensor
    Fuzzer Language ParameterAlias""",
)

__all__ = ["Compare", "Measurement", "Timer"]
