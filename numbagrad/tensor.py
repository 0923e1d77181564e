"""The Tensor: an ndarray with autograd state, torch's type and torch's attributes.

Everything that computes is defined in ``ops/``, which installs its functions as methods here; this
file holds the state, what describes it, and the ways in and out to Python and NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import printing
from .autograd import engine, hooks, tensor_interface
from .autograd.node import Node
from .device import device as Device
from .dtype import dtype as DType
from .dtype import from_numpy as dtype_of
from .size import Size

_CPU = Device("cpu")


class TensorState:
    """The slots every tensor has; everything else has a default on the class."""

    __slots__ = ("_array", "_requires_grad", "_grad_fn", "_output_nr", "_version_cell")

    _array: np.ndarray[Any, Any]
    _requires_grad: bool
    _grad_fn: Node | None
    _output_nr: int
    _version_cell: list[int] | None


_new = object.__new__


def new_tensor(
    array: np.ndarray[Any, Any],
    requires_grad: bool = False,
    grad_fn: Node | None = None,
    output_nr: int = 0,
) -> Tensor:
    """Wrap an ndarray; nothing is copied or checked."""
    tensor = _new(Tensor)
    tensor._array = array
    tensor._requires_grad = requires_grad
    tensor._grad_fn = grad_fn
    tensor._output_nr = output_nr
    tensor._version_cell = None
    return tensor


class Tensor(TensorState):
    """An n-dimensional array of one dtype that can record how it was computed."""

    _grad: Tensor | None = None
    _hooks: Any = None
    _retains_grad = False
    _base: Tensor | None = None
    _post_accumulate_grad_hooks: Any = None

    # --- what it is ---------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return dtype_of(self._array.dtype)

    @property
    def device(self) -> Device:
        """Where the memory is: always the CPU."""
        return _CPU

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    def dim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self.shape[self._dimension(dim)]

    def _dimension(self, dim: int) -> int:
        """A dimension counted from 0; raises torch's IndexError if there is none such."""
        rank = max(self._array.ndim, 1)
        if not -rank <= dim < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
                f"{dim})"
            )
        return dim % rank

    def stride(self, dim: int | None = None) -> Any:
        """Steps in elements from one index to the next, of every dimension or of one."""
        size = self._array.itemsize
        strides = tuple([s // size for s in self._array.strides])
        return strides if dim is None else strides[self._dimension(dim)]

    def numel(self) -> int:
        """Number of elements."""
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element."""
        return self._array.itemsize

    itemsize = property(element_size)
    nbytes = property(lambda self: self._array.nbytes)

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._array.ctypes.data

    def is_contiguous(self) -> bool:
        """Whether the elements lie in memory in the order of their indices, without gaps."""
        return self._array.flags.c_contiguous

    def is_floating_point(self) -> bool:
        """Whether the dtype is a float."""
        return self._array.dtype.kind == "f"

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self._array.dtype.kind in "if"

    # --- autograd -----------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not value and self._grad_fn is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if value and self._array.dtype.kind != "f":
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients"
            )
        self._requires_grad = bool(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` in place and return the tensor."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor, or None for a leaf."""
        return self._grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor was made by the user rather than by a recorded operation."""
        return self._grad_fn is None

    @property
    def output_nr(self) -> int:
        """Which output of ``grad_fn`` this tensor is."""
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by ``backward``, or None."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._grad = None
            return
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"assigned grad has data of a different size: expected {list(self._array.shape)}, "
                f"got {list(value._array.shape)}"
            )
        if value._array.dtype != self._array.dtype:
            raise RuntimeError("assigned grad has data of a different type")
        self._grad = value

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient."""
        return self._retains_grad

    @property
    def _version(self) -> int:
        """How often the memory was written in place."""
        return 0 if self._version_cell is None else self._version_cell[0]

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradients of this tensor to the ``grad`` of the leaves it was computed from.

        Raises:
            RuntimeError: if the tensor does not require grad, if it has more than one element and no
                ``gradient`` is given, or if the graph was freed by an earlier backward.
        """
        engine.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad)`` when the gradient of this tensor is known; it may return another."""
        return hooks.register_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(tensor)`` after the gradient of this leaf was accumulated."""
        return hooks.register_post_accumulate_grad_hook(self, hook)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in ``grad``."""
        hooks.retain_grad(self)

    def detach(self) -> Tensor:
        """A tensor of the same memory that is not part of the graph."""
        return tensor_interface.alias(self)

    def detach_(self) -> Tensor:
        """Take this tensor out of the graph."""
        self._grad_fn = None
        self._requires_grad = False
        self._output_nr = 0
        return self

    @property
    def data(self) -> Tensor:
        """The same memory without history; writes to it are not seen by autograd."""
        return new_tensor(self._array)

    @data.setter
    def data(self, value: Tensor) -> None:
        self._array = value._array

    # --- out to Python and NumPy --------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The ndarray of the same memory."""
        if self._requires_grad and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def item(self) -> Any:
        """The value of a tensor of one element as a Python number."""
        if self._array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
            )
        return self._array.item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        return self._array.tolist()

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise RuntimeError(
                "Boolean value of Tensor with "
                + ("no values" if self._array.size == 0 else "more than one value")
                + " is ambiguous"
            )
        return bool(self._array.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._array.dtype.kind == "f" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        grad_fn = self._grad_fn
        return printing.tensor_text(
            self._array,
            self.dtype,
            requires_grad=self._requires_grad,
            grad_fn_name=None if grad_fn is None else grad_fn.name(),
        )

    def __format__(self, specification: str) -> str:
        if self._array.ndim == 0:
            return printing.format_scalar(self._array, specification)
        return object.__format__(self, specification)
