"""``torch.storage``: memory of tensors as an object; ``Tensor.untyped_storage`` hands it out."""

from .absent import lacking
from .untyped_storage import UntypedStorage

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "tensors own typed memory; use Tensor.untyped_storage() for its address and size",
    "TypedStorage",
)

__all__ = ["UntypedStorage"]
