"""The slots of a Tensor, and the way to what transformations make of one.

What ``copies.py``, ``export.py`` and ``leaves.py`` do to tensors needs no more of them than this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..autograd import tensor_interface as interface
from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks import watching
from ..autograd.node import Node

if TYPE_CHECKING:
    from .tensor import Tensor


class TransformedReading(Protocol):
    """Answers of the room of transformations for a Tensor under one (``transforms/reading.py``)."""

    def detached(self, tensor: Tensor) -> Tensor:
        """A Tensor of the same memory and samples without a history."""

    def values_of(self, tensor: Tensor) -> Tensor:
        """The Tensor without tangents; RuntimeError if it stands for many values."""

    def memory_for_numpy(self, tensor: Tensor) -> Tensor:
        """The same, for an ndarray that shares its memory."""

    def element_of(self, tensor: Tensor) -> Tensor:
        """The same, for ``item()``."""

    def truth_of(self, tensor: Tensor) -> Tensor:
        """The same, for branches."""

    def text_of(self, tensor: Tensor) -> str:
        """Its text."""


def under_transformation() -> TransformedReading:
    """The reader of Tensors under a transformation."""
    reading: TransformedReading = interface.transformed_reading
    return reading


class Constant:
    """An attribute that has one value for all tensors, and takes no other."""

    __slots__ = ("name", "value")

    def __init__(self, value: bool) -> None:
        self.value = value

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Any, owner: Any = None) -> bool:
        return self.value

    def __set__(self, tensor: Any, value: Any) -> None:
        raise AttributeError(f"attribute '{self.name}' of 'Tensor' objects is not writable")

    def __delete__(self, tensor: Any) -> None:
        raise AttributeError(f"attribute '{self.name}' of 'Tensor' objects is not deletable")


class TensorState:
    """The slots every tensor has; everything else has a default on the class.

    None has a name that torch has for an attribute: users may assign to those.
    """

    __slots__ = (
        "_array", "_requires_grad", "_producer", "_output_nr", "_version_cell", "_accumulated",
        "_viewed",
    )  # fmt: skip

    _array: np.ndarray[Any, Any]
    _requires_grad: bool
    _producer: Node | None
    _output_nr: int
    _version_cell: list[int] | None
    _accumulated: Tensor | None
    _viewed: Tensor | None

    is_ipu = Constant(False)
    is_maia = Constant(False)
    is_mkldnn = Constant(False)
    is_mps = Constant(False)
    is_mtia = Constant(False)
    is_nested = Constant(False)
    is_quantized = Constant(False)
    is_sparse = Constant(False)
    is_sparse_csr = Constant(False)
    is_vulkan = Constant(False)
    is_xla = Constant(False)
    is_xpu = Constant(False)

    # torch's names of what a tensor keeps: assignments are checked or refused, as by torch. The
    # slots have names of their own, since compiled launchers read those and trust them.

    @property
    def _grad_fn(self: Any) -> Node | None:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self: Any) -> None:
        raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def _base(self: Any) -> Tensor | None:
        return self._viewed

    @property
    def _grad(self: Any) -> Tensor | None:
        return self._accumulated

    @_grad.setter
    def _grad(self: Any, value: Tensor | None) -> None:
        self.grad = value

    @_grad.deleter
    def _grad(self: Any) -> None:
        self._accumulated = None


def new_version_cell() -> list[int] | None:
    """The version cell of new memory: none, or in inference mode that of inference tensors."""
    if watching.inference_threads and grad_mode.inference:
        return watching.INFERENCE_CELL
    return None


def strides_of_nothing(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of new memory without elements: as if the sizes of 0 were 1. NumPy has none."""
    strides = [1]
    for size in shape[:0:-1]:
        strides.append(strides[-1] * max(size, 1))
    return tuple(strides[::-1][: len(shape)]) if shape else ()
