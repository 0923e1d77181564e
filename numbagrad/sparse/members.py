"""The members of sparse Tensors, and what takes the place of operators and public functions.

Importing this file fills the class and the tables of ``dispatch/sparse.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import state as grad_mode
from ..autograd.writes.inplace import VALUES, unrecorded_origin
from ..dispatch import sparse as layer
from ..dtype import dtype as DType
from ..ops.conversion.dtypes import cast
from ..tensor import Tensor, new_tensor
from ..tensor.sparse_array import SparseArray, could_not_run, on_the_cpu_alone
from . import arithmetic, conversion, gradients, products, reductions, shapes
from .conversion import coalesce, is_sparse, like
from .operators import count_writes_together, values_of
from .tensor import SparseTensor, install

__all__: list[str] = []


# --- what a sparse Tensor consists of -------------------------------------------------------------


def _coalesced_only(name: str) -> Callable[[Any], Tensor]:
    def read(self: Any) -> Tensor:
        places = self._array.places
        if name == "indices" and places.compressed is not None:
            raise RuntimeError("indices expected sparse coordinate tensor layout but got SparseCsr")
        if not places.coalesced:
            raise RuntimeError(
                f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
            )
        return _shown_values(self) if name == "values" else _indices(self)

    read.__name__ = name
    read.__doc__ = f"The {name} of a coalesced tensor."
    return read


def _shown_values(self: Any) -> Tensor:
    """The values as a program sees them: a write that is recorded would miss the sparse tensor."""
    result = values_of(self)
    if self._requires_grad:
        result._viewed = self
        result._view_origin = VALUES if grad_mode.enabled else unrecorded_origin()
    return result


def _indices(self: Any) -> Tensor:
    """A copy of the indices, whether or not equal ones were added up: many tensors share them."""
    return new_tensor(self._array.places.indices.copy())


def _values(self: Any) -> Tensor:
    """The values of these, without a history."""
    result = new_tensor(self._array.values)
    count_writes_together(result, self)
    return result


def _nnz(self: Any) -> int:
    """How many places there are."""
    return int(self._array.places.count)


def _is_coalesced(self: Any) -> bool:
    """Whether places are in order, and none is there twice."""
    return bool(self._array.places.coalesced)


def _sparse_dim(self: Any) -> int:
    """How many dimensions are sparse."""
    return len(self._array.places.sizes)


def _dense_dim(self: Any) -> int:
    """How many dimensions the values have."""
    return self._array.values.ndim - 1


def _compressed(position: int, name: str) -> Callable[[Any], Tensor]:
    def read(self: Any) -> Tensor:
        found = self._array.places.compressed
        if found is None:
            raise RuntimeError(
                f"{name} expected sparse row compressed tensor layout but got Sparse"
            )
        return new_tensor(found[position].copy())

    read.__name__ = name
    return read


# --- conversions of the values --------------------------------------------------------------------


def _to(self: Any, *arguments: Any, **options: Any) -> Tensor:
    """Another dtype; the device is the CPU."""
    for given in (*arguments, options.get("other"), options.get("dtype")):
        if isinstance(given, Tensor):
            options["dtype"] = given.dtype
        elif isinstance(given, DType):
            options["dtype"] = given
    wanted = options.get("dtype") or self.dtype
    where = [x for x in (*arguments, options.get("device")) if isinstance(x, str)]
    where += [
        x
        for x in (*arguments, options.get("device"))
        if hasattr(x, "index") and hasattr(x, "type") and not isinstance(x, (str, Tensor, tuple))
    ]
    for device in where:
        if str(device).split(":")[0] != "cpu":
            raise on_the_cpu_alone("to", device)
    copies = options.get("copy") or (True in arguments[-1:] and len(arguments) > 2)
    if wanted is self.dtype and not copies:
        return self
    return like(self, cast(values_of(self), wanted.numpy, copy=True))


def _type(self: Any, dtype: Any = None, **options: Any) -> Any:
    """The name of torch's class of this dtype, or the tensor in another dtype."""
    if dtype is None:
        name: str = values_of(self.detach()).type()
        return name.replace("torch.", "torch.sparse.", 1)
    return _to(self, dtype) if isinstance(dtype, DType) else _to(self, _dtype_named(dtype))


def _dtype_named(name: Any) -> DType:
    text = name if isinstance(name, str) else f"{name.__module__}.{name.__name__}"
    made: DType = new_tensor(conversion.np.zeros(1)).type(text.replace("sparse.", "")).dtype
    return made


def _casting(name: str) -> Callable[..., Tensor]:
    def method(self: Any, *arguments: Any, **options: Any) -> Tensor:
        values = values_of(self)
        made = getattr(values, name)()
        return self if made is values else like(self, made)

    method.__name__ = name
    return method


# --- writes ---------------------------------------------------------------------------------------


def _in_place(name: str, compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def method(self: Any, *arguments: Any, **options: Any) -> Tensor:
        _check_written(self)
        made = compute(self, *arguments, **options)
        if made._array.__class__ is not SparseArray or made._array.shape != self._array.shape:
            raise could_not_run(self._array, name)
        return _taking(self, made if made.dtype is self.dtype else made.to(self.dtype))

    method.__name__ = name
    return method


def _check_written(self: Any) -> None:
    if grad_mode.enabled and self._requires_grad and self._producer is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )


def _taking(self: Any, made: Any) -> Tensor:
    """The tensor, which has become another one."""
    self._array = made._array
    if made._requires_grad:
        self._requires_grad, self._producer = True, made._producer
        self._output_nr = made._output_nr
    cell = self._version_cell
    self._version_cell = [1] if cell is None else [cell[0] + 1]
    return self


def _copied(self: Any, src: Tensor, non_blocking: bool = False) -> Tensor:
    if not is_sparse(src):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {src.type()}"
        )
    return src


def _zeros(self: Any) -> Tensor:
    return conversion.empty_like(self)


def _resized_as(self: Any, other: Any) -> Tensor:
    return other


def _stride(self: Any, dim: int | None = None) -> Any:
    """Zeros: a sparse tensor has no strides."""
    return 0 if dim is not None else (0,) * self._array.ndim


def _raising(error: type[Exception], text: str) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        raise error(text)

    return method


def _item(self: Any) -> Any:
    """The element of a tensor that has one."""
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    return values_of(self.detach()).sum().item()


def _truth(self: Any) -> bool:
    if self._array.size != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(_item(self))


def _rsub(self: Any, other: Any) -> Tensor:
    return arithmetic.sub(other, self)


def _radd(self: Any, other: Any) -> Tensor:
    return arithmetic.add(other, self)


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": arithmetic.add, "sub": arithmetic.sub, "subtract": arithmetic.sub,
    "mul": arithmetic.mul, "multiply": arithmetic.mul, "div": arithmetic.div,
    "divide": arithmetic.div, "true_divide": arithmetic.div, "pow": arithmetic.pow,
    **{name: arithmetic.on_values(name, False) for name in arithmetic.LINEAR},
    **{name: arithmetic.on_values(name, True) for name in arithmetic.KEEPING_ZEROS},
}  # fmt: skip
_NO_ARRAY = "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."
_NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"
_CASTS = "half float double bfloat16 byte char short int long bool cfloat cdouble".split()

#: Functions that are methods too.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_ARITHMETIC,
    "mm": products.mm, "matmul": products.matmul, "mv": products.mv, "bmm": products.bmm,
    "addmm": products.addmm, "addmv": products.addmv, "smm": products.smm,
    "sspaddmm": products.sspaddmm,
    "sum": reductions.sum, "norm": reductions.norm, "any": reductions.any_of,
    "t": shapes.t, "transpose": shapes.transpose, "permute": shapes.permute,
    "unsqueeze": shapes.unsqueeze, "index_select": shapes.index_select, "select": shapes.select,
    "unbind": shapes.unbind, "clone": shapes.ordered,
}  # fmt: skip

_MEMBERS: dict[str, Any] = {
    **_FUNCTIONS,
    **{name: _casting(name) for name in _CASTS},
    **{
        f"{name}_": _in_place(f"{name}_", function)
        for name, function in _ARITHMETIC.items()
        if hasattr(Tensor, f"{name}_")
    },
    "indices": _coalesced_only("indices"), "values": _coalesced_only("values"),
    "_indices": _indices, "_values": _values, "_nnz": _nnz, "is_coalesced": _is_coalesced,
    "_with_values": like, "sparse_dim": _sparse_dim,
    "dense_dim": _dense_dim, "_dimI": _sparse_dim, "_dimV": _dense_dim,
    "crow_indices": _compressed(0, "crow_indices"), "col_indices": _compressed(1, "col_indices"),
    "coalesce": coalesce, "to_dense": conversion.to_dense, "to_sparse": conversion.to_sparse,
    "to_sparse_coo": conversion.to_coo, "to_sparse_csr": conversion.to_sparse_csr,
    "sparse_mask": conversion.sparse_mask, "dense": conversion.to_dense,
    "to": _to, "type": _type, "cpu": lambda self, *arguments, **options: self,
    "cuda": lambda self, *arguments, **options: _to(self, "cuda"),
    "type_as": lambda self, other: _to(self, other.dtype),
    "requires_grad_": Tensor.requires_grad_,
    "copy_": _in_place("copy_", _copied), "zero_": _in_place("zero_", _zeros),
    "resize_as_sparse_": _in_place("resize_as_sparse_", _resized_as),
    "stride": _stride, "is_contiguous": lambda self, *arguments, **options: False,
    "numpy": _raising(TypeError, _NO_ARRAY),
    "__array__": _raising(TypeError, _NO_ARRAY),
    "reshape": _raising(RuntimeError, "reshape is not implemented for sparse tensors"),
    "expand": _raising(RuntimeError, "expand is unsupported for Sparse tensors"),
    "tolist": _raising(RuntimeError, _NO_STORAGE),
    "data_ptr": _raising(RuntimeError, _NO_STORAGE),
    "storage": _raising(NotImplementedError, "Cannot access storage of SparseTensorImpl"),
    "untyped_storage": _raising(NotImplementedError, "Cannot access storage of SparseTensorImpl"),
    "contiguous": _raising(RuntimeError, "unsupported memory format option Contiguous"),
    "item": _item, "__bool__": _truth, "__getitem__": shapes.item_of,
    "__iter__": lambda self: iter(shapes.unbind(self)),
    "__add__": arithmetic.add, "__radd__": _radd, "__sub__": arithmetic.sub, "__rsub__": _rsub,
    "__mul__": arithmetic.mul, "__rmul__": arithmetic.mul, "__truediv__": arithmetic.div,
    "__neg__": _ARITHMETIC["neg"], "__pos__": _ARITHMETIC["positive"],
    "__abs__": _ARITHMETIC["abs"], "__pow__": arithmetic.pow,
    "__matmul__": products.matmul, "__rmatmul__": products.reversed_matmul,
    "__iadd__": _in_place("add_", arithmetic.add), "__isub__": _in_place("sub_", arithmetic.sub),
    "__imul__": _in_place("mul_", arithmetic.mul),
    "__itruediv__": _in_place("div_", arithmetic.div),
}  # fmt: skip

install(_MEMBERS)
SparseTensor.T = SparseTensor.mT = property(shapes.t)  # type: ignore[assignment]

# Operators whose arguments are those of the functions; those of reductions and views are not.
layer.OPERATORS.update(_ARITHMETIC)
layer.OPERATORS.update(mm=products.mm, mv=products.mv, bmm=products.bmm)
layer.OPERATORS.update(
    addmm=lambda input, mat1, mat2, beta, alpha: products.addmm(
        input, mat1, mat2, beta=beta, alpha=alpha
    ),
    add_scaled=lambda input, other, alpha: arithmetic.add(input, other, alpha=alpha),
    sub_scaled=lambda input, other, alpha: arithmetic.add(input, other, alpha=-alpha),
    rsub=lambda input, other: arithmetic.sub(other, input),
    relu=_ARITHMETIC["relu"],
)
layer.WRITES.update(
    add=gradients.add_into,
    add_scaled=gradients.add_into,
    sub=lambda output, input, other: gradients.add_into(output, input, other, -1),
    mul=lambda output, input, other: gradients.write_into(output, arithmetic.mul(input, other)),
    div=lambda output, input, other: gradients.write_into(output, arithmetic.div(input, other)),
    accumulate=gradients.accumulate_into,
    nesterov=gradients.nesterov_into,
    accumulate_square=gradients.accumulate_square_into,
    divide_by_root=gradients.divide_by_root_into,
)
layer.FUNCTIONS.update(_FUNCTIONS)
layer.FUNCTIONS.update(
    cat=shapes.cat,
    concat=shapes.cat,
    concatenate=shapes.cat,
    stack=shapes.stack,
    tensor=lambda data, **options: data.detach().clone().to(options.get("dtype") or data.dtype),
    linear=products.linear,
    relu=_ARITHMETIC["relu"],
    zeros_like=conversion.empty_like,
    empty_like=conversion.empty_like,
)
