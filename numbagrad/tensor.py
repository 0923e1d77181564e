"""The Tensor: an ndarray with autograd state, torch's type and torch's attributes.

Everything that computes is defined in ``ops/``, which installs its functions as methods here; this
file holds the state, what describes it, and the ways in and out to Python and NumPy.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import half_precision as half
from . import printing
from .autograd import engine_interface, grad_dtype, tensor_interface
from .autograd.grad_mode import state as grad_mode
from .autograd.hooks import tensor_hooks as hooks
from .autograd.hooks import watching
from .autograd.node import UNRECORDED, Node, detached, has_no_history, visible
from .autograd.writes.inplace import check_not_stale, is_stale
from .backend import Backend, device_of, foreign
from .device import CPU
from .device import device as Device
from .dtype import FROM_TYPE_NUM, bfloat16
from .dtype import dtype as DType
from .dtype import from_numpy as dtype_of
from .executor import capture
from .layout import contiguous_format, layout, strided
from .size import Size
from .torch_function import disabled_torch_function, plain_types
from .type_names import type_name
from .untyped_storage import UntypedStorage

if TYPE_CHECKING:
    # What ``ops/`` installs; ``tools/write_stubs.py`` writes the file.
    from .tensor_methods import InstalledMethods
else:
    InstalledMethods = object


def _under_transformation(function: str) -> Callable[[Tensor], Any]:
    """A function of ``transforms``, which is built on this file, for a Tensor under one."""
    from .transforms import reading

    return getattr(reading, function)


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


class _Constant:
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


_GRAD_OF_NON_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead."
)


class Tensor(TensorState, InstalledMethods):
    """An n-dimensional array of one dtype that can record how it was computed."""

    _hooks: Any = None
    _retains_grad = False
    _view_origin: str | None = (
        None  # of views that may not be written: autograd/writes/
    )
    #: Of a view that was not recorded: how often its memory had been written when it was made.
    _unrecorded_at: int | None = None
    #: Of a view: its operator, what that viewed, its other arguments and which result it is, if
    #: views are tracked.
    _made_by: tuple[Any, Tensor, tuple[Any, ...], int | None] | None = None
    _post_accumulate_grad_hooks: Any = None
    _grad_dtype: Any = grad_dtype.OWN
    _accumulator: Any = None  # a weak reference to the node that stands for this leaf
    _uses: tuple[int, int] | None = None  # of a leaf: the nodes for which that stands, or all
    _detached_at = -1  # nodes with a smaller number were made before it was detached in place
    #: Of what was detached from a view: the array whose memory that is a view of.
    _memory: np.ndarray[Any, Any] | None = None
    #: Of ``data`` without dimensions: in 2017 ``loss.data[0]`` was the number.
    _is_data = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__torch_function__ is not disabled_torch_function:
            # From now on public functions ask the classes of their arguments.
            from . import overrides

            overrides.install()

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """What a public function does with instances of a subclass: their results are such too."""
        from . import overrides

        return overrides.default_torch_function(cls, func, types, args, kwargs)

    # --- what it is ---------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
        return _new_size(Size, self._array.shape)

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return FROM_TYPE_NUM[self._array.dtype.num]

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return CPU if self._array.__class__ is _ndarray else device_of(self._array)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    def dim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
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
            strides = _strides_of_nothing(array.shape)
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
        return self._array.ctypes.data if self._array.size else 0

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
        return isinstance(self._array, np.ndarray)

    is_cuda = _Constant(False)
    is_ipu = _Constant(False)
    is_maia = _Constant(False)
    is_meta = _Constant(False)
    is_mkldnn = _Constant(False)
    is_mps = _Constant(False)
    is_mtia = _Constant(False)
    is_nested = _Constant(False)
    is_quantized = _Constant(False)
    is_sparse = _Constant(False)
    is_sparse_csr = _Constant(False)
    is_vulkan = _Constant(False)
    is_xla = _Constant(False)
    is_xpu = _Constant(False)

    def get_device(self) -> int:
        """The index of the device that holds the elements: -1 for the CPU."""
        return -1 if self.is_cpu else self.device.index or 0

    def is_pinned(self) -> bool:
        """Whether the memory is locked for a GPU: never."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes see the memory: never."""
        return False

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
        if self._requires_grad:
            return True
        return self._is_view() and self._viewed._requires_grad  # type: ignore[union-attr]

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        if self._producer is UNRECORDED:
            if value:
                self._producer = None  # it is a leaf now
            return
        if not value and self._producer is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if value and self._producer is not None:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        if value and self._array.dtype.kind not in "fcV":
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        if value and self._version_cell is watching.INFERENCE_CELL and not grad_mode.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
        if self._requires_grad and not value:
            hooks.switched_off(self)
        self._requires_grad = bool(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` in place and return the tensor.

        Raises:
            RuntimeError: if the dtype is not a float, or if this is no leaf and the flag is False.
        """
        if requires_grad.__class__ is not bool:
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type_name(requires_grad)}"
            )
        if not requires_grad or has_no_history(self):  # what has a history requires grad already
            self.requires_grad = requires_grad
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
        grad = self._accumulated
        if grad is None and not self._retains_grad and not has_no_history(self):
            warnings.warn(_GRAD_OF_NON_LEAF, UserWarning, stacklevel=2)
        return grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._accumulated = None
            return
        if not isinstance(value, Tensor):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor "
                f"of size '{list(self._array.shape)}'. Please ensure that the gradient and the "
                "tensor are the same size"
            )
        if value._array.dtype != self._array.dtype or self._grad_dtype is not grad_dtype.OWN:
            grad_dtype.check_assigned(self, value)
        self._accumulated = value

    @grad.deleter
    def grad(self) -> None:
        self._accumulated = None

    # torch's names of what a tensor keeps: assignments are checked or refused, as by torch. The
    # slots have names of their own, since compiled launchers read those and trust them.

    @property
    def _grad_fn(self) -> Node | None:
        return self.grad_fn

    @property
    def _base(self) -> Tensor | None:
        return self._viewed

    @property
    def _grad(self) -> Tensor | None:
        return self._accumulated

    @_grad.setter
    def _grad(self, value: Tensor | None) -> None:
        self.grad = value

    @_grad.deleter
    def _grad(self) -> None:
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
        if self._array.__class__ is not np.ndarray and foreign(self._array) is None:
            return _under_transformation("detached")(self)
        made: Tensor = tensor_interface.alias(self)
        if self._version_cell is watching.INFERENCE_CELL:
            made._version_cell = self._version_cell
        return self._with_own_memory(made)

    def _with_own_memory(self, made: Tensor) -> Tensor:
        """Let a detached self know the whole memory of which this tensor is a view."""
        base = self if self._viewed is None else self._viewed
        if base is not self or base._memory is not None:
            made._memory = base._array if base._memory is None else base._memory
        return made

    def detach_(self) -> Tensor:
        """Take this tensor out of the graph.

        Raises:
            RuntimeError: for a view, which shares its history with other tensors.
        """
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
                "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as the solution."
            )
        if self._array.__class__ is not np.ndarray and foreign(self._array) is None:
            self._array = _under_transformation("detached")(self)._array
        if not has_no_history(self):
            detached.note(self)
        elif self._requires_grad:
            hooks.switched_off(self)
        self._producer = None
        self._requires_grad = False
        self._output_nr = 0
        return self

    @property
    def data(self) -> Tensor:
        """The same memory without history; writes to it are not seen by autograd."""
        if self._array.__class__ is not np.ndarray and foreign(self._array) is None:
            return _under_transformation("detached")(self)
        made = new_tensor(self._array)
        inference = self._version_cell is watching.INFERENCE_CELL
        made._version_cell = watching.INFERENCE_CELL if inference else None
        if self._array.ndim == 0:
            made._is_data = True
        return made

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and value._array.dtype.kind not in "fcV":
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        own, new = self._array, value._array
        if not has_no_history(self) and (own.shape != new.shape or own.dtype != new.dtype):
            hooks.fit_gradients(self)
        self._array = new

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
        records = self._requires_grad or (self._viewed is not None and self.requires_grad)
        if records and not force and grad_mode.enabled:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self._array.__class__ is not np.ndarray:
            if (where := foreign(self._array)) is not None:
                return self._host_memory(where, force)
            function = "values_of" if force else "memory_for_numpy"
            return _under_transformation(function)(self).numpy()
        if self._array.dtype.kind == "V":
            raise TypeError("Got unsupported ScalarType BFloat16")
        capture.refuse("numpy()")
        # A new ndarray object: setting its shape must not change the tensor.
        return self._array.view()

    def _host_memory(self, where: Backend, force: bool) -> np.ndarray[Any, Any]:
        """``numpy()`` of a tensor of another device: a copy, if one may be made."""
        if not force:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to "
                "copy the tensor to host memory first."
            )
        capture.refuse("numpy()")
        return where.to_host(self._array)

    #: NumPy's operators leave mixed operands to the tensor.
    __array_priority__ = 1000

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is None or array.dtype == dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(
                f"a tensor of {self.dtype} cannot be an array of {dtype} without a copy"
            )
        return array.astype(dtype)

    def __array_wrap__(
        self, array: np.ndarray[Any, Any], context: Any = None, return_scalar: bool = False
    ) -> Tensor:
        """The result of a NumPy function of this tensor, as a tensor."""
        made = np.asarray(array)
        dtype_of(made.dtype)  # raises for what tensors cannot hold
        return new_tensor(made.copy() if min(made.strides, default=0) < 0 else made)

    def __dlpack__(self, **arguments: Any) -> Any:
        if self._requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_conj() or self.is_neg():
            raise BufferError("Can't export tensors with the conjugate or the negative bit set")
        capture.refuse("an export by DLPack")
        return self._array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def _values(self, function: str = "element_of") -> np.ndarray[Any, Any]:
        """The memory, for what reads elements in Python; ``function`` is the one for the purpose.

        Of bfloat16 it is a copy in float32.

        Raises:
            RuntimeError: inside of ``vmap``, where this stands for many values.
        """
        array = self._array
        if array.__class__ is not np.ndarray:
            where = foreign(array)
            if where is None:
                array = _under_transformation(function)(self)._array
            else:
                array = where.to_host(array)
        return half.readable(array) if array.dtype.kind == "V" else array

    def item(self) -> Any:
        """The value of a tensor of one element as a Python number.

        Raises:
            RuntimeError: if it has another number of elements.
        """
        if self._array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
            )
        capture.refuse("item()")
        return self._values().item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        capture.refuse("tolist()")
        return self._values("values_of").tolist()

    def _number(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        capture.refuse("the value of a tensor as a Python number")
        return self._values().item()

    def _real_number(self, kind: str) -> Any:
        """The value as a real number, for what is of this C type."""
        value = self._number()
        if value.__class__ is not complex:
            return value
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return value.real

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise RuntimeError(
                "Boolean value of Tensor with "
                + ("no values" if self._array.size == 0 else "more than one value")
                + " is ambiguous"
            )
        capture.refuse("a branch on the value of a tensor")
        return bool(self._values("truth_of"))

    def __float__(self) -> float:
        return float(self._real_number("double"))

    def __int__(self) -> int:
        return int(self._real_number("int64_t"))

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        if self._array.dtype.kind in "fcV" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        capture.refuse("a tensor as an index")
        return int(self._values().item())

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
        if not isinstance(element, (Tensor, bool, int, float, complex, np.generic)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(element)}."
            )
        capture.refuse("a question for the values of a tensor")
        return bool((self == element)._values().any())

    # --- copies of the object -----------------------------------------------------------------

    def __copy__(self) -> Tensor:
        source = tensor_interface.alias(self)
        return _rebuilt(type(self), source, self._requires_grad, _attributes(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not has_no_history(self):
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment. Copy tensor.detach() instead."
            )
        if id(self) in memo:
            return memo[id(self)]
        where = foreign(self._array)
        if where is None and self._array.__class__ is not np.ndarray:  # a copy has no tangent
            return copy.deepcopy(_under_transformation("values_of")(self), memo)
        attributes = {k: copy.deepcopy(v, memo) for k, v in _attributes(self).items()}
        memory = self._array.copy("K") if where is None else _duplicate(self._array)
        made = _rebuilt(type(self), new_tensor(memory), self._requires_grad, attributes)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        capture.refuse("a pickle of a tensor")
        if (where := foreign(self._array)) is not None:
            where.refuse("pickle")
        array = half.converted(self._values("values_of"), self._array.dtype)
        return _unpickled, (
            type(self),
            array,
            tuple(sorted(range(self.ndim), key=lambda axis: -array.strides[axis])),
            self._requires_grad,
            _attributes(self),
        )

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        capture.refuse("the text of a tensor")
        array, where = self._array, foreign(self._array)
        if where is not None:
            array = where.to_host(array)
        elif array.__class__ is not np.ndarray:
            return _under_transformation("text_of")(self)
        name = None if has_no_history(self) else type(self._producer).__name__
        if self._viewed is not None and is_stale(self):
            name = "Invalid"
        return printing.tensor_text(
            array,
            self.dtype,
            requires_grad=self.requires_grad,
            grad_fn_name=name,
            device_text=None if where is None else str(self.device),
            tensor_name=self._printed_name(),
        )

    def _printed_name(self) -> str:
        kind = type(self)
        plain = kind.__torch_function__ is disabled_torch_function or kind is Tensor
        return "tensor" if plain else kind.__name__

    def __format__(self, specification: str) -> str:
        capture.refuse("the text of a tensor")
        if self._array.ndim == 0:
            return printing.format_scalar(self._values("values_of"), specification)
        return object.__format__(self, specification)


plain_types.add(Tensor)  # which has ``__torch_function__`` for its subclasses alone


def _duplicate(array: Any) -> Any:
    """A copy of an array of another backend."""
    from .executor.conversion import convert  # which few programs copy by

    return convert(array, array.dtype)


def _strides_of_nothing(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of new memory without elements: as if the sizes of 0 were 1. NumPy has none."""
    strides = [1]
    for size in shape[:0:-1]:
        strides.append(strides[-1] * max(size, 1))
    return tuple(strides[::-1][: len(shape)]) if shape else ()


#: Attributes that describe the place of a tensor in a graph or in memory; copies leave them behind.
_NOT_COPIED = frozenset(
    (
        "_hooks",
        "_retains_grad",
        "_post_accumulate_grad_hooks",
        "_view_origin",
        "_unrecorded_at",
        "_made_by",
        "_accumulator",
        "_grad_dtype",
        "_unused_hooks",
        "_uses",
        "_memory",
        "_detached_at",
    )
)


def _attributes(tensor: Tensor) -> dict[str, Any]:
    """What copies of a tensor have too: its gradient, and what users set on it."""
    found = {name: value for name, value in vars(tensor).items() if name not in _NOT_COPIED}
    return found if tensor._accumulated is None else {**found, "_grad": tensor._accumulated}


def _rebuilt(
    cls: type[Tensor], source: Tensor, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    """A leaf of class ``cls`` with the memory of ``source``."""
    made: Tensor = _new(cls)
    made._array = source._array
    made._requires_grad = requires_grad
    made._producer = None
    made._output_nr = 0
    made._version_cell = source._version_cell
    made._viewed = None
    others = dict(attributes)
    made._accumulated = others.pop("_grad", None)
    vars(made).update(others)
    return made


def leaf_of_class(cls: type[Tensor], source: Tensor, requires_grad: bool) -> Any:
    """A leaf of class ``cls`` with the memory and the version of ``source``."""
    if requires_grad and source._array.dtype.kind not in "fcV":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return _rebuilt(cls, tensor_interface.alias(source), requires_grad, {})


def _unpickled(
    cls: type[Tensor],
    array: np.ndarray[Any, Any],
    order: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    """A tensor from what ``__reduce_ex__`` gave to pickle; ``order`` is that of the dimensions."""
    dense = np.ascontiguousarray(array.transpose(order))
    places = sorted(range(array.ndim), key=order.__getitem__)
    memory = dense.reshape([array.shape[axis] for axis in order]).transpose(places)
    if memory.dtype.kind == "V":
        memory = memory.view(bfloat16.numpy)  # the one object that kernels know it by
    return _rebuilt(cls, new_tensor(memory), requires_grad, attributes)
