"""``torch.masked``: reductions and normalisations of the elements that a mask lets through.

The functions are in ``functions.py``. Tensors that carry a mask of their own (``MaskedTensor``) are
not there.
"""

from ..absent import lacking as _lacking
from .functions import (
    _output_mask,  # noqa: F401 - asked for by torch's tests
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

_ABSENT, __getattr__, _absent_names = _lacking(
    __name__,
    "use where and masked_fill, or a function of numbagrad.masked with its mask",
    "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor",
)
__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var", *_ABSENT,
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*globals(), *_absent_names()})
