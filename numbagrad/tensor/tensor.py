"""The Tensor: an ndarray with autograd state, torch's type and torch's attributes.

Everything that computes is defined in ``ops/``, which installs its functions as methods here; this
file holds the state, what describes it, and the ways in and out to Python and NumPy.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import half_precision as half
from .. import printing
from ..autograd import tensor_interface
from ..autograd.engine import grad_dtype
from ..autograd.engine import interface as engine_interface
from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks import tensor_hooks as hooks
from ..autograd.hooks import watching
from ..autograd.node import UNRECORDED, Node, has_no_history, visible
from ..autograd.writes.inplace import check_not_stale
from ..backend import address_of, device_of, foreign, home_of
from ..device import CPU
from ..device import device as Device
from ..dispatch import layers
from ..dispatch.asking import public_members
from ..dtype import FROM_TYPE_NUM
from ..dtype import dtype as DType
from ..executor import capture
from ..layout import contiguous_format, layout, strided
from ..size import Size
from ..torch_function import disabled_torch_function, load_overrides, plain_types
from ..untyped_storage import UntypedStorage
from . import copies, export, leaves
from .state import TensorState, strides_of_nothing, under_transformation

if TYPE_CHECKING:
    # What ``ops/`` installs; ``tools/write_stubs.py`` writes the file.
    from ..tensor_methods import InstalledMethods
else:
    InstalledMethods = object


_ndarray = np.ndarray
_new = object.__new__
_new_size = tuple.__new__


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
    tensor._producer = grad_fn
    tensor._output_nr = output_nr
    tensor._version_cell = None
    if watching.inference_threads and grad_mode.inference:
        tensor._version_cell = watching.INFERENCE_CELL
    tensor._accumulated = None
    tensor._viewed = None
    return tensor


def getter(name: str) -> Any:
    """The function that reads a property of Tensor."""
    return vars(Tensor)[name].fget


@public_members
class Tensor(TensorState, InstalledMethods):
    """An n-dimensional array of one dtype that can record how it was computed."""

    _hooks: Any = None
    _retains_grad = False
    _view_origin: str | None = None  # of views that may not be written: autograd/writes/
    #: How often the memory of a view that was not recorded had been written when it was made.
    _unrecorded_at: int | None = None
    #: The operator of a view, what that viewed, its other arguments and which result it is, if
    #: views are tracked.
    _made_by: tuple[Any, Tensor, tuple[Any, ...], int | None] | None = None
    _post_accumulate_grad_hooks: Any = None
    _grad_dtype: Any = grad_dtype.OWN
    _accumulator: Any = None  # a weak reference to the node that stands for this leaf
    _uses: tuple[int, int] | None = None  # of a leaf: the nodes for which that stands, or all
    _detached_at = -1  # nodes with a smaller number were made before it was detached in place
    #: The array whose memory a tensor detached from a view is a view of.
    _memory: np.ndarray[Any, Any] | None = None
    #: In 2017 ``loss.data[0]`` was the number: ``data`` without dimensions takes this index.
    _is_data = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__torch_function__ is not disabled_torch_function:
            # From now on public functions ask the classes of their arguments.
            load_overrides().install()

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """A public function on instances of a subclass: its results are such too."""
        return load_overrides().default_torch_function(cls, func, types, args, kwargs)

    # --- what it is ---------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
        if layers.everywhere and layers.asks(read := getter("shape")):
            return layers.descend(read, (self,), {})
        return _new_size(Size, self._array.shape)

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        if layers.everywhere and layers.asks(read := getter("dtype")):
            return layers.descend(read, (self,), {})
        return FROM_TYPE_NUM[self._array.dtype.num]

    @property
    def device(self) -> Device:
        """Where the memory is."""
        if layers.everywhere and layers.asks(read := getter("device")):
            return layers.descend(read, (self,), {})
        return CPU if self._array.__class__ is _ndarray else device_of(self._array)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        if layers.everywhere and layers.asks(read := getter("ndim")):
            return layers.descend(read, (self,), {})
        return self._array.ndim

    def dim(self) -> int:
        """Number of dimensions."""
        if layers.everywhere and layers.asks(Tensor.dim):
            return layers.descend(Tensor.dim, (self,), {})
        return self._array.ndim

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        if layers.everywhere and layers.asks(Tensor.size):
            return layers.ask(Tensor.size, [self, dim])
        shape = self._array.shape
        return _new_size(Size, shape) if dim is None else shape[self._dimension(dim)]

    def _dimension(self, dim: int) -> int:
        """A dimension counted from 0; raises torch's IndexError if there is none such."""
        rank = max(self._array.ndim, 1)
        if dim.__class__ is bool:
            raise TypeError("argument 'dim' must be int, the number of a dimension, not bool")
        if not -rank <= dim < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but "
                f"got {dim})"
            )
        return dim % rank

    def stride(self, dim: int | None = None) -> Any:
        """Steps in elements from one index to the next, of every dimension or of one."""
        array = self._array
        size = array.itemsize
        strides = tuple([s // size for s in array.strides])
        if array.size == 0 and not any(strides):
            strides = strides_of_nothing(array.shape)
        return strides if dim is None else strides[self._dimension(dim)]

    def numel(self) -> int:
        """Number of elements."""
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element."""
        return self._array.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.nbytes

    def data_ptr(self) -> int:
        """Address of the first element, or 0 if there is none."""
        capture.refuse("the address of a tensor")
        where = foreign(self._array)
        has_none = not self._array.size or not (where is None or where.has_elements)
        return 0 if has_none else address_of(self._array)

    def untyped_storage(self) -> UntypedStorage:
        """The block of memory that this tensor is a view of."""
        return UntypedStorage(self._array)

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Whether the elements lie without gaps in the order of their indices, or of a format."""
        if memory_format.order is None:
            return self._array.flags.c_contiguous
        array, order = self._array, memory_format.order
        return array.ndim == len(order) and array.transpose(order).flags.c_contiguous

    @property
    def layout(self) -> layout:
        """How the elements are held: always ``strided``."""
        return strided

    @property
    def is_cpu(self) -> bool:
        """Whether the memory is that of the CPU."""
        array = self._array
        return array.__class__ is np.ndarray or home_of(array) is None

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are in the memory of a GPU of CUDA."""
        where = home_of(self._array)
        return where is not None and where.device_type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether there are no elements, but a form alone."""
        where = home_of(self._array)
        return where is not None and where.device_type == "meta"

    def get_device(self) -> int:
        """The index of the device that holds the elements: -1 for the CPU, and without elements."""
        return -1 if self.is_cpu or self.is_meta else self.device.index or 0

    def is_inference(self) -> bool:
        """Whether this tensor was made in ``inference_mode``, so that autograd refuses it."""
        return self._version_cell is watching.INFERENCE_CELL

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self._array.dtype.kind == "c"

    def is_floating_point(self) -> bool:
        """Whether the dtype is a float."""
        return self._array.dtype.kind in "fV"

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self._array.dtype.kind in "ifcV"

    # --- autograd -----------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded.

        A view that was made while nothing was recorded requires grad as its base does, as in torch,
        but has no history: gradients of operations on it go nowhere.
        """
        if layers.everywhere and layers.asks(read := getter("requires_grad")):
            return layers.descend(read, (self,), {})
        if self._requires_grad:
            return True
        return self._is_view() and self._viewed._requires_grad  # type: ignore[union-attr]

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        leaves.set_requires_grad(self, value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` in place and return the tensor.

        Raises:
            RuntimeError: if the dtype is not a float, or if this is no leaf and the flag is False.
        """
        leaves.switch(self, requires_grad)
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor, or None for a leaf.

        Raises:
            RuntimeError: for a view that has no history since its memory was written.
        """
        if self._viewed is not None:
            check_not_stale(self)
        node = self._producer
        if node is None or node is UNRECORDED:
            return None
        hooks.note_output(node, self)
        visible(node)
        return node

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor was made by the user rather than by a recorded operation."""
        if layers.everywhere and layers.asks(read := getter("is_leaf")):
            return layers.descend(read, (self,), {})
        if self._viewed is not None:
            check_not_stale(self)
        return has_no_history(self)

    @property
    def output_nr(self) -> int:
        """Which output of ``grad_fn`` this tensor is."""
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by ``backward``, or None."""
        if layers.everywhere and layers.asks(read := getter("grad")):
            return layers.descend(read, (self,), {})
        grad = self._accumulated
        if grad is None and not self._retains_grad and not has_no_history(self):
            warnings.warn(leaves.GRAD_OF_NON_LEAF, UserWarning, stacklevel=2)
        return grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._accumulated = None
        else:
            leaves.assign_grad(self, value)

    @grad.deleter
    def grad(self) -> None:
        self._accumulated = None

    @property
    def grad_dtype(self) -> DType | None:
        """The dtype of the gradients of this leaf: its own unless set; None stands for any."""
        return grad_dtype.declared_of(self)

    @grad_dtype.setter
    def grad_dtype(self, dtype: DType | None) -> None:
        grad_dtype.declare(self, dtype)

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient."""
        return self._retains_grad

    def _is_view(self) -> bool:
        """Whether this tensor is a view of another one that autograd knows."""
        return self._viewed is not None and not self.is_inference()

    @property
    def _version(self) -> int:
        """How often the memory was written in place."""
        capture.refuse("_version, the count of writes of a tensor")
        if self._version_cell is watching.INFERENCE_CELL:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._version_cell is None else self._version_cell[0]

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
        *,
        retain_variables: bool | None = None,
    ) -> None:
        """Add the gradients of this tensor to the ``grad`` of the leaves it was computed from.

        ``retain_variables`` is ``retain_graph`` of 2017, when it stood in the place of ``inputs``.

        Raises:
            RuntimeError: if the tensor does not require grad, if it has more than one element and
                no ``gradient`` is given, or if the graph was freed by an earlier backward.
        """
        if inputs.__class__ is bool:
            retain_variables, inputs, create_graph = inputs, None, bool(create_graph)
        if retain_variables is not None:
            retain_graph = retain_variables
        engine_interface.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    @property
    def _backward_hooks(self) -> Any:
        """The hooks of this tensor by number, or None."""
        if not self._requires_grad:
            return vars(self).get("_unused_hooks")
        return hooks.table_of(self)

    @_backward_hooks.setter
    def _backward_hooks(self, table: Any) -> None:
        if self._requires_grad:
            hooks.set_table(self, table)
        else:
            self._unused_hooks = table

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

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
        """A tensor of the same memory that is not part of the graph, and without a tangent."""
        if layers.everywhere and layers.asks(Tensor.detach):
            return layers.descend(Tensor.detach, (self,), {})
        if self._array.__class__ is not np.ndarray and foreign(self._array) is None:
            return under_transformation().detached(self)
        made: Tensor = tensor_interface.alias(self)
        if self._version_cell is watching.INFERENCE_CELL:
            made._version_cell = self._version_cell
        return leaves.with_own_memory(self, made)

    def detach_(self) -> Tensor:
        """Take this tensor out of the graph.

        Raises:
            RuntimeError: for a view, which shares its history with other tensors.
        """
        leaves.detach_in_place(self)
        return self

    @property
    def data(self) -> Tensor:
        """The same memory without history; writes to it are not seen by autograd."""
        if layers.everywhere and layers.asks(read := getter("data")):
            return layers.descend(read, (self,), {})
        if self._array.__class__ is not np.ndarray and foreign(self._array) is None:
            return under_transformation().detached(self)
        made = new_tensor(self._array)
        inference = self._version_cell is watching.INFERENCE_CELL
        made._version_cell = watching.INFERENCE_CELL if inference else None
        if self._array.ndim == 0:
            made._is_data = True
        if self._viewed is not None or self._memory is not None:
            leaves.with_own_memory(self, made)
        return made

    @data.setter
    def data(self, value: Tensor) -> None:
        leaves.assign_data(self, value)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    # --- out to Python and NumPy --------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """An ndarray of the same memory: what one writes, the other reads.

        Raises:
            RuntimeError: if the tensor requires grad and the mode is one that records, unless
                ``force`` is set.
        """
        return export.numpy_of(self, force)

    #: NumPy's operators leave mixed operands to the tensor.
    __array_priority__ = 1000

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return export.converted(self.numpy(), self.dtype, dtype, copy)

    def __array_wrap__(
        self, array: np.ndarray[Any, Any], context: Any = None, return_scalar: bool = False
    ) -> Tensor:
        """The result of a NumPy function of this tensor, as a tensor."""
        return new_tensor(export.taken(array))

    if sys.version_info >= (3, 12):  # before, only classes written in C could have buffers
        __buffer__, __bytes__ = export.buffer_of, export.bytes_of
    __dlpack__, __dlpack_device__ = export.dlpack, export.dlpack_device

    def _elements(self, function: str = "element_of") -> np.ndarray[Any, Any]:
        """The memory, for what reads elements in Python; ``function`` is the one for the purpose.

        Of bfloat16 it is a copy in float32.

        Raises:
            RuntimeError: inside of ``vmap``, where this stands for many values.
        """
        array = self._array
        if array.__class__ is not np.ndarray:
            where = foreign(array)
            if where is None:
                array = getattr(under_transformation(), function)(self)._array
            else:
                array = where.to_host(array)
        return half.readable(array) if array.dtype.kind == "V" else array

    def item(self) -> Any:
        """The value of a tensor of one element as a Python number.

        Raises:
            RuntimeError: if it has another number of elements.
        """
        if layers.everywhere and layers.asks(Tensor.item):
            return layers.descend(Tensor.item, (self,), {})
        if self._array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
            )
        capture.refuse("item()")
        return self._elements().item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        capture.refuse("tolist()")
        return self._elements("values_of").tolist()

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise RuntimeError(
                "Boolean value of Tensor with "
                + ("no values" if self._array.size == 0 else "more than one value")
                + " is ambiguous"
            )
        capture.refuse("a branch on the value of a tensor")
        return bool(self._elements("truth_of"))

    def __float__(self) -> float:
        export.warn_of_history(self)
        return float(export.real_number_of(self, "double"))

    def __int__(self) -> int:
        return int(export.real_number_of(self, "int64_t"))

    def __complex__(self) -> complex:
        export.warn_of_history(self)
        return complex(export.number_of(self))

    def __index__(self) -> int:
        if self._array.dtype.kind in "fcV" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        capture.refuse("a tensor as an index")
        return int(self._elements().item())

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        return self if self._array.ndim == 0 else self.flip(0)

    def __contains__(self, element: Any) -> bool:
        return export.contains(self, element)

    # --- copies of the object -----------------------------------------------------------------

    def __copy__(self) -> Tensor:
        return copies.shallow(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return copies.deep(self, memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return copies.reduced(self)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return export.text_of(self)

    def __format__(self, specification: str) -> str:
        capture.refuse("the text of a tensor")
        if self._array.ndim == 0:
            return printing.format_scalar(self._elements("values_of"), specification)
        return object.__format__(self, specification)


plain_types.add(Tensor)  # which has ``__torch_function__`` for its subclasses alone
