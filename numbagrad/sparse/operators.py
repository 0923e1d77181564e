"""The operators of sparse Tensors: out to the values, back from them, and products with places.

Only the first two see sparse Tensors. All else is operations of dense Tensors on the values, with
places as parameters, so that gradients of every order follow from these, and so that places are
looked at with NumPy alone.
"""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import state as grad_mode
from ..executor import capture
from ..executor.families import sparse as executor
from ..ops.operators.tensor_operator import TensorOperator
from ..tensor import Tensor, new_tensor
from ..tensor.sparse_array import Places, SparseArray, require_cpu
from ..transforms.levels import is_transformed
from ..transforms.tracking import requires_grad
from .places import flat, joined, rows
from .tensor import sparse_tensor

__all__ = ["count_writes_together", "product", "sampled", "take", "values_of", "with_values"]


class SparseOperator(TensorOperator):
    """An operator of which an argument or the result is a sparse Tensor.

    It runs in Python and past the layers: such Tensors are no part of programs, and under no
    transformation. The result has the values of the first argument in memory, and counts writes
    with it.
    """

    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        capture.refuse("a sparse tensor")
        if is_transformed(arguments):
            raise NotImplementedError(
                f"{self.name}: the values of a sparse tensor may not be under vmap or have a "
                "tangent; make it dense with to_dense() first"
            )
        arrays = [x._array if isinstance(x, Tensor) else x for x in arguments]
        return self.finish(self.forward(*arrays), arguments)

    def finish(self, made: Any, arguments: Any) -> Any:
        """The result as a Tensor, recorded where an argument requires grad."""
        result = sparse_tensor(made) if made.__class__ is SparseArray else new_tensor(made)
        count_writes_together(result, arguments[0])
        if grad_mode.enabled and requires_grad(arguments):
            self.record(result, arguments)
        return result


def count_writes_together(result: Tensor, input: Tensor) -> None:
    """Let two Tensors whose values are in one memory notice each other's writes."""
    if input._version_cell is None:
        input._version_cell = [0]
    result._version_cell = input._version_cell


_values: SparseOperator = SparseOperator(
    "values",
    lambda input, places: input.values,
    {"input": lambda grad, places: _placed(grad, places)},
)
_placed: SparseOperator = SparseOperator(
    "sparse_coo_tensor",
    lambda values, places: SparseArray(places, values),
    {"values": lambda grad, places: _values_at(grad, places)},
    grad_fn="SparseCooTensorWithDimsAndTensorsBackward0",
)


def values_of(tensor: Any) -> Tensor:
    """The values of a sparse Tensor, (nnz, dense sizes), with their history."""
    made: Tensor = _values(tensor, tensor._array.places)
    return made


def with_values(values: Tensor, places: Places) -> Tensor:
    """The sparse Tensor that has these values at these places.

    Raises:
        NotImplementedError: for values on another device than the CPU.
    """
    require_cpu("sparse_coo_tensor", values._array)
    made: Tensor = _placed(values, places)
    return made


def take(values: Tensor, positions: Any) -> Tensor:
    """The values at positions of NumPy."""
    return values.index_select(0, new_tensor(positions))


def _values_at(grad: Any, places: Places) -> Tensor:
    """The elements of a dense or sparse Tensor at places."""
    array = grad._array
    if array.__class__ is not SparseArray:
        rank = len(places.sizes)
        return take(grad.reshape(-1, *array.shape[rank:]), flat(places))
    if array.places is places:
        return values_of(grad)
    grad = grad.coalesce()
    found, own = joined(flat(places), flat(grad._array.places))
    zeros = grad.values().new_zeros((places.count, *array.values.shape[1:]))
    return zeros.index_add(0, new_tensor(found), take(values_of(grad), own))


def _conj(tensor: Any) -> Tensor:
    return tensor.conj() if tensor.is_complex() else tensor


product_of = TensorOperator(
    "sparse_product",
    lambda values, dense, places, transposed: executor.multiply(
        values, rows(places, transposed), dense
    ),
    {
        "values": lambda grad, dense, places, transposed: (
            sampled(_conj(dense), grad, places)
            if transposed
            else sampled(grad, _conj(dense), places)
        ),
        "dense": lambda grad, values, places, transposed: product(
            _conj(values), grad, places, not transposed
        ),
    },
    grad_fn="MmBackward0",
)
sampled_of = TensorOperator(
    "sparse_sampled_product",
    lambda left, right, places: executor.sample(left, right, *places.indices),
    {
        "left": lambda grad, right, places: product(grad, _conj(right), places, False),
        "right": lambda grad, left, places: product(grad, _conj(left), places, True),
    },
    grad_fn="SparseSampledAddmmBackward0",
)


def product(values: Tensor, dense: Tensor, places: Places, transposed: bool = False) -> Tensor:
    """The matrix with these values at these places, or its transpose, times a dense one."""
    made: Tensor = product_of(values, dense, places, transposed)
    return made


def sampled(left: Tensor, right: Tensor, places: Places) -> Tensor:
    """``left @ right.T`` at places only: one number for each."""
    made: Tensor = sampled_of(left, right, places)
    return made
