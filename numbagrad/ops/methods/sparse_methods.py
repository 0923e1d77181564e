"""Methods of Tensor that are of sparse layouts: on strided tensors, which all are, each raises.

Those that read a sparse tensor raise torch's error for one that is strided; those that would make
one say that there is none here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...absent import DENSE
from .registry import method

__all__: list[str] = []

#: Layouts that torch expects, by method.
_EXPECTED = {
    "coalesce": "sparse coordinate tensor",
    "indices": "sparse coordinate tensor",
    "values": "sparse tensor",
    "crow_indices": "sparse row compressed tensor",
    "col_indices": "sparse row compressed tensor",
    "ccol_indices": "sparse column compressed tensor",
    "row_indices": "sparse column compressed tensor",
}
_MAKING = "to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr".split()
_WRITING = "resize_as_sparse_ sparse_mask sparse_resize_ sparse_resize_and_clear_".split()


def _raising(name: str, error: type[Exception], text: str) -> Callable[..., Any]:
    def function(self: Any, *arguments: Any, **options: Any) -> NoReturn:
        raise error(text)

    function.__name__ = name
    function.__qualname__ = f"Tensor.{name}"
    function.__doc__ = f"Raises {error.__name__}: {text}."
    return function


for _name, _layout in _EXPECTED.items():
    _text = f"{_name} expected {_layout} layout but got Strided"
    method(_name)(_raising(_name, RuntimeError, _text))
for _name in ("smm", "sspaddmm"):
    _text = "tensor.sspaddmm(...) can only be called on sparse tensors"
    method(_name)(_raising(_name, RuntimeError, _text))
for _name in (*_MAKING, *_WRITING):
    _text = f"Tensor.{_name} is not available in numbagrad: {DENSE}"
    method(_name)(_raising(_name, NotImplementedError, _text))
