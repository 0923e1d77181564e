"""Methods of Tensor that are of sparse layouts, on strided tensors.

Those that read a sparse tensor raise torch's error for one that is strided; those that make one
are functions of ``sparse/``, which is imported when a program first asks for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NoReturn

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
_ABSENT = "to_sparse_bsc to_sparse_bsr to_sparse_csc".split()
_WRITING = "resize_as_sparse_ sparse_resize_ sparse_resize_and_clear_".split()


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


def _of_sparse_room(name: str) -> Callable[..., Any]:
    """The function of ``sparse/conversion.py`` that makes a sparse tensor of a dense one."""

    def function(self: Any, *arguments: Any, **options: Any) -> Any:
        room = importlib.import_module("numbagrad.sparse.conversion")
        return getattr(room, name)(self, *arguments, **options)

    function.__name__ = name
    function.__qualname__ = f"Tensor.{name}"
    function.__doc__ = f"See ``{name}`` of ``sparse/conversion.py``."
    return function


for _name in ("smm", "sspaddmm"):
    _text = "tensor.sspaddmm(...) can only be called on sparse tensors"
    method(_name)(_raising(_name, RuntimeError, _text))
for _name in ("to_sparse", "to_sparse_csr", "sparse_mask"):
    method(_name)(_of_sparse_room(_name))


@method()
def to_sparse_coo(self: Any) -> Any:
    """``to_sparse()``, with all dimensions sparse."""
    return self.to_sparse()


for _name in (*_ABSENT, *_WRITING):
    _text = f"Tensor.{_name} is not available in numbagrad: sparse tensors are of COO and CSR"
    method(_name)(_raising(_name, NotImplementedError, _text))
