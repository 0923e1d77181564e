"""``torch.sparse``: functions of tensors most of whose elements are zeros and have no memory.

``sparse_coo_tensor``, ``Tensor.to_sparse`` and ``sparse_csr_tensor`` make such; a gradient of
``embedding(sparse=True)`` is one. ``docs/design.md`` has a section about them.
"""

from __future__ import annotations

from typing import Any

from ..absent import lacking
from . import members  # noqa: F401 - fills the class and the tables
from .conversion import sparse_coo_tensor, sparse_csr_tensor
from .products import addmm, mm
from .reductions import log_softmax, softmax, sum

__all__ = [
    "addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "sparse_coo_tensor",
    "sparse_csr_tensor", "sum",
]  # fmt: skip

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "sparse tensors are of the layouts COO and CSR",
    """SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT
    SparseSemiStructuredTensorCUTLASS as_sparse_gradcheck solve to_sparse_semi_structured""",
)


class check_sparse_tensor_invariants:
    """A context, or a decorator, under which torch checks indices; they always are here."""

    def __init__(self, enable: bool = True) -> None:
        self._enable = enable

    @staticmethod
    def is_enabled() -> bool:
        """True: no tensor is made with indices that were not checked."""
        return True

    @staticmethod
    def enable() -> None:
        """Nothing: checks are on."""

    @staticmethod
    def disable() -> None:
        """Nothing: checks stay on."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None

    def __call__(self, function: Any) -> Any:
        return function


def _of_type(name: str, dtype: str) -> Any:
    """The function that was the class of sparse tensors of a dtype."""

    def make(*arguments: Any, **options: Any) -> Any:
        import numbagrad

        kind = getattr(numbagrad, dtype)
        if not arguments or isinstance(arguments[0], int):
            return sparse_coo_tensor(tuple(arguments), dtype=kind)
        return sparse_coo_tensor(*arguments, dtype=kind, **options)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"``sparse_coo_tensor`` of {dtype}: indices, values and a size, or sizes."
    return make


for _name, _dtype in {
    "BFloat16Tensor": "bfloat16", "ByteTensor": "uint8", "CharTensor": "int8",
    "DoubleTensor": "float64", "FloatTensor": "float32", "HalfTensor": "float16",
    "IntTensor": "int32", "LongTensor": "int64", "ShortTensor": "int16",
}.items():  # fmt: skip
    globals()[_name] = _of_type(_name, _dtype)
    __all__.append(_name)
__all__ += _absent
