"""The class of sparse Tensors: which members of a Tensor they have, and which raise.

``members.py`` has what they do; whatever else a program finds on a Tensor raises
torch's error, so that nothing takes the array of one for dense memory.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..autograd.node import has_no_history
from ..executor import capture
from ..layout import layout, sparse_coo, sparse_csr
from ..tensor import Tensor
from ..tensor.leaves import assign_data
from ..tensor.sparse_array import SparseArray, could_not_run
from ..tensor.state import new_version_cell
from ..torch_function import disabled_torch_function, plain_types

__all__ = ["SparseTensor", "sparse_tensor"]

_new = object.__new__

#: Members that are the same for all Tensors, whatever holds their elements.
_SHARED = frozenset(
    """
    __class__ __deepcopy__ __dir__ __dlpack_device__ __doc__ __format__ __hash__ __init__
    __init_subclass__ __module__ __new__ __setstate__ __subclasshook__ __torch_function__
    H T backward cpu data dim dtype device element_size get_device grad grad_dtype grad_fn
    has_names is_complex is_conj is_cpu is_cuda is_floating_point is_inference is_leaf is_neg
    is_same_size is_signed is_tensor itemsize mH mT name names ndim ndimension nelement numel
    output_nr register_hook register_post_accumulate_grad_hook requires_grad requires_grad_
    retain_grad retains_grad shape size volatile
    """.split()
)


class SparseTensor(Tensor):
    """A Tensor in the layout ``sparse_coo`` or ``sparse_csr``: ``_array`` is a ``SparseArray``."""

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]
    _array: Any

    is_sparse = property(lambda self: self._array.places.compressed is None)
    is_sparse_csr = property(lambda self: self._array.places.compressed is not None)

    @property
    def layout(self) -> layout:
        """``sparse_coo`` or ``sparse_csr``."""
        return sparse_coo if self.is_sparse else sparse_csr

    @property
    def device(self) -> Any:
        """The CPU: there are no others on other devices."""
        from ..device import CPU

        return CPU

    is_cpu, is_cuda = True, False

    def detach(self) -> Tensor:
        """A sparse Tensor with the same values that is not part of the graph."""
        made = sparse_tensor(self._array)
        made._version_cell = self._version_cell
        return made

    data = property(detach, assign_data)

    def __len__(self) -> int:
        return int(self._array.shape[0])

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not has_no_history(self):
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment. Copy tensor.detach() instead."
            )
        if id(self) not in memo:
            made = sparse_tensor(self._array.duplicate())
            made._requires_grad = self._requires_grad
            made._accumulated = copy.deepcopy(self._accumulated, memo)
            memo[id(self)] = made
        return memo[id(self)]

    def __copy__(self) -> Any:
        made = sparse_tensor(self._array)
        made._requires_grad = self._requires_grad
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        capture.refuse("a pickle of a tensor")
        return unpickled, (self._array, self._requires_grad)

    def __repr__(self) -> str:
        capture.refuse("the text of a tensor")
        from .text import text_of

        return text_of(self)

    __hash__ = Tensor.__hash__


plain_types.add(SparseTensor)


def sparse_tensor(array: SparseArray) -> SparseTensor:
    """Wrap an array; nothing is copied or checked."""
    made = _new(SparseTensor)
    made._array = array
    made._requires_grad = False
    made._producer = None
    made._output_nr = 0
    made._version_cell = new_version_cell()
    made._accumulated = None
    made._viewed = None
    return made


def unpickled(array: SparseArray, requires_grad: bool) -> SparseTensor:
    """A sparse Tensor from a pickle."""
    made = sparse_tensor(array)
    made._requires_grad = requires_grad
    return made


def install(members: dict[str, Callable[..., Any]]) -> None:
    """Give the class its members, and have all others of a Tensor raise torch's error."""
    for name, function in members.items():
        setattr(SparseTensor, name, function)
    for name, value in vars(Tensor).items():
        if name in vars(SparseTensor) or name in _SHARED:
            continue
        if name.startswith("_") and not name.startswith("__"):
            continue
        if isinstance(value, property):
            setattr(SparseTensor, name, property(_raising(name)))
        elif callable(value):
            setattr(SparseTensor, name, _raising(name))


def _raising(name: str) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        raise could_not_run(self._array, name)

    method.__name__ = name
    return method
