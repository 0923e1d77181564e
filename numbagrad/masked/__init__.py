"""``torch.masked``: reductions and normalisations of the elements that a mask lets through.

The functions are in ``functions.py``. Tensors that carry a mask of their own (``MaskedTensor``) are
not there.
"""

from ..absent import lacking as _lacking
from .functions import *  # noqa: F403
from .functions import __all__ as _functions
from .functions import _output_mask  # noqa: F401 - asked for by torch's tests

_ABSENT, __getattr__, _absent_names = _lacking(
    __name__,
    "use where and masked_fill, or a function of numbagrad.masked with its mask",
    "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor",
)
__all__ = [*_functions, *_ABSENT]


def __dir__() -> list[str]:
    return sorted({*globals(), *_absent_names()})
