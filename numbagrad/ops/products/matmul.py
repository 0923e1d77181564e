"""Matrix products: mm, bmm, matmul, mv, dot, outer.

One kernel multiplies stacks of matrices of any strides, so a transposed operand costs nothing and
every gradient here is another product. Products that are added to a tensor are in
``added_products.py``, what sums over several dimensions is in ``contraction.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...backend import foreign
from ...dispatch import layers
from ...dispatch.layers import asks, descend
from ...dispatch.policies import autocasts
from ...executor.families.matmul import matmul as _product
from ...executor.families.matmul import matmul_and_tangent
from ...executor.plan.forms import stacked
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks
from ...transforms.levels import is_transformed
from ...transforms.tangents import multilinear
from ..arguments.check import check_tensors
from ..complex.lazy_conj import conjugate
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator
from ..views.expand import sum_to_size

__all__ = ["bmm", "dot", "ger", "matmul", "mm", "mv", "outer", "vdot"]

Array = np.ndarray[Any, Any]


def shapes_of(*tensors: Tensor) -> str:
    """The shapes as torch's messages on products write them: ``2x3 and 4x5``."""
    return " and ".join("x".join(map(str, t._array.shape)) for t in tensors)


def _check_dtypes(name: str, a: Tensor, b: Tensor) -> None:
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"{name}: expected both operands to have the same dtype, but got {a.dtype} and "
            f"{b.dtype}; convert one with .to(dtype)"
        )


# --- the products ---------------------------------------------------------------------------------


def _transposed(matrix: Tensor) -> Tensor:
    """``matrix.H`` for a product that may not be recorded: then nobody sees the view."""
    if matrix._array.dtype.kind == "c":
        return conjugate(matrix).t()
    if grad_mode.enabled or is_transformed(matrix):
        return matrix.t()
    return new_tensor(matrix._array.T)


def samples_of_stacks(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The rule of products of matrices: a stack of products, or of rows times one matrix."""
    return matmul(*aligned_stacks(arguments, mapped))


def samples_times_vector(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The rule of stacks times a vector, which may be one a sample."""
    a, b = arguments
    if not mapped[1]:
        return matmul(a, b)
    if not mapped[0] and a._array.ndim == 2:
        return mm(b, a.t())
    a, b = aligned_stacks((a, b.unsqueeze(-1)), mapped)
    return matmul(a, b).squeeze(-1)


def _samples_of_dot(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    a, b = arguments
    if operator is _vdot:
        a = conjugate(a)
    if mapped[0] and mapped[1]:
        return bmm(a.unsqueeze(1), b.unsqueeze(2)).view(size)
    return mv(a, b) if mapped[0] else mv(b, a)


def _samples_times_matrix(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    a, b = arguments
    return matmul(a.unsqueeze(-2), b).squeeze(-2) if mapped[1] else mm(a, b)


_mm = TensorOperator(
    "mm",
    lambda a, b: _product(a, b),
    {
        "a": lambda grad, b: _mm(grad, _transposed(b)),
        "b": lambda grad, a: _mm(_transposed(a), grad),
    },
    batch=samples_of_stacks,
    tangent=multilinear,
    with_directions=matmul_and_tangent,
    takes_half=True,
    portable=True,
)

_bmm = TensorOperator(
    "bmm",
    lambda a, b: _product(a, b),
    {
        "a": lambda grad, b: _bmm(grad, conjugate(b).transpose(1, 2)),
        "b": lambda grad, a: _bmm(conjugate(a).transpose(1, 2), grad),
    },
    batch=samples_of_stacks,
    tangent=multilinear,
    with_directions=matmul_and_tangent,
    takes_half=True,
    portable=True,
)

mv_operator = TensorOperator(
    "mv",
    lambda a, b: _product(a, b[:, None])[:, 0],
    {
        "a": lambda grad, b: outer(grad, conjugate(b)),
        "b": lambda grad, a: mv_operator(conjugate(a).t(), grad),
    },
    batch=samples_times_vector,
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


def _conjugated(array: Array) -> Array:
    """The complex conjugates, of a device as well; real numbers themselves."""
    if array.dtype.kind != "c":
        return array
    made: Array = array.conj() if foreign(array) is None else conjugate(new_tensor(array))._array
    return made


def _dot_operator(
    name: str,
    product: Callable[[Array, Array], Array],
    gradient: dict[str, Any],
    tangent: Callable[..., Any],
) -> TensorOperator:
    return TensorOperator(
        name,
        lambda a, b: product(a, b).reshape(()),
        gradient,
        batch=_samples_of_dot,
        tangent=tangent,
        takes_half=True,
        portable=True,
    )


_dot = _dot_operator(
    "dot",
    lambda a, b: _product(a[None, :], b[:, None]),
    {"a": lambda grad, b: grad * conjugate(b), "b": lambda grad, a: grad * conjugate(a)},
    multilinear,
)
_vdot = _dot_operator(
    "vdot",
    lambda a, b: _product(_conjugated(a)[None, :], b[:, None]),
    {"a": lambda grad, b: conjugate(grad) * b, "b": lambda grad, a: grad * a},
    multilinear,  # linear over the real numbers, which is what tangents need
)


def check_mm(input: Tensor, mat2: Tensor) -> None:
    """Raise torch's error unless the shapes and dtypes are those of a product of matrices."""
    if input._array.shape[1] != mat2._array.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes_of(input, mat2)})")
    if input._array.dtype != mat2._array.dtype:
        _check_dtypes("mm", input, mat2)


def _no_matrices(input: Tensor, mat2: Tensor) -> RuntimeError:
    return RuntimeError(
        f"mm: self must be a matrix and mat2 must be a matrix, got shapes {shapes_of(input, mat2)}"
    )


@method()
@autocasts("lower", asks_itself=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices, (n, m) and (m, p) to (n, p). No broadcasting."""
    if layers.active and asks(mm):
        return descend(mm, (input, mat2), {})
    try:
        a, b = input._array, mat2._array
    except AttributeError:
        check_tensors(mm, (input, mat2))
        raise
    if a.ndim != 2 or b.ndim != 2:
        raise _no_matrices(input, mat2)
    if a.shape[1] != b.shape[0] or a.dtype is not b.dtype:
        check_mm(input, mat2)
    return _mm(input, mat2)


def check_bmm(name: str, input: Tensor, mat2: Tensor) -> None:
    """The same for two stacks of matrices; ``name`` is that of the function."""
    if input._array.ndim != 3 or mat2._array.ndim != 3:
        raise RuntimeError(
            f"{name}: both operands must be 3D tensors, got {shapes_of(input, mat2)}"
        )
    if input._array.shape[0] != mat2._array.shape[0]:
        raise RuntimeError(
            f"{name}: both operands must have the same batch size, got {shapes_of(input, mat2)}"
        )
    if input._array.shape[2] != mat2._array.shape[1]:
        raise RuntimeError(
            f"{name}: the columns of the first must match the rows of the second: "
            f"{shapes_of(input, mat2)}"
        )
    _check_dtypes(name, input, mat2)


@method()
@autocasts("lower", asks_itself=True)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two stacks of matrices, (b, n, m) and (b, m, p) to (b, n, p)."""
    if layers.active and asks(bmm):
        return descend(bmm, (input, mat2), {})
    check_bmm("bmm", input, mat2)
    return _bmm(input, mat2)


def check_mv(input: Tensor, vec: Tensor) -> None:
    """The same for a matrix and a vector."""
    if input._array.ndim != 2 or vec._array.ndim != 1:
        raise RuntimeError(
            "vector + matrix @ vector expected, got "
            f"{vec._array.ndim}, {input._array.ndim}, {vec._array.ndim}"
        )
    if input._array.shape[1] != vec._array.shape[0]:
        raise RuntimeError(f"size mismatch, got input {shapes_of(input)}, vec {shapes_of(vec)}")
    _check_dtypes("mv", input, vec)


@method()
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix (n, m) and a vector (m)."""
    if not input._array.ndim:
        raise IndexError("mv(): Dimension specified as 0 but the matrix has no dimensions")
    check_mv(input, vec)
    return mv_operator(input, vec)


def _check_dot(input: Tensor, other: Tensor) -> None:
    if input._array.ndim != 1 or other._array.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {input._array.ndim}D and {other._array.ndim}D tensors"
        )
    if input._array.shape != other._array.shape:
        own, given = input._array.shape[0], other._array.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{own}] and src [{given}] to have the same "
            f"number of elements, but got {own} and {given} elements respectively"
        )
    _check_dtypes("dot", input, other)


@method()
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Sum of the products of two vectors of equal length."""
    _check_dot(input, tensor)
    return _dot(input, tensor)


@method()
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Sum of the products of two vectors of equal length, of which the first is conjugated."""
    _check_dot(input, other)
    return _vdot(input, other)


@method()
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Products of every element of one vector with every element of the other, (n) and (m)."""
    if input._array.ndim != 1 or vec2._array.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D arguments, but got {input._array.ndim}-D and {vec2._array.ndim}-D"
        )
    return input.unsqueeze(1) * vec2


ger = method("ger")(outer)


# --- stacks of any rank ---------------------------------------------------------------------------
#
# One node each, named as the last of the chain that torch records for the same call.


def _rows(x: Any) -> Any:
    """The matrices of a stack one below the other; -1 would not say how many rows have no size."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _stack_product(a: Array, b: Array) -> Array:
    """``a @ b`` of stacks whose leading dimensions broadcast; one of them may be a matrix."""
    if b.ndim == 2:  # one matrix for the whole stack: a single tall product
        if a.ndim == 3 and a.strides[0] != a.shape[1] * a.strides[1]:
            return _product(a, b[None])  # the rows do not follow each other: no copy of them
        made = _product(_rows(a), b)
        return made.reshape(*a.shape[:-1], b.shape[1])
    if a.ndim == b.ndim <= 4:  # what the launcher broadcasts itself
        return _product(a, b)
    rank = max(a.ndim, b.ndim)
    if rank <= 4:
        return _product(*[x.reshape((1,) * (rank - x.ndim) + x.shape) for x in (a, b)])
    a, b = stacked(a, b)
    made = _product(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]))
    return made.reshape(*a.shape[:-1], b.shape[-1])


def _to_second(grad: Tensor, a: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient of the second factor of a product, of the given shape."""
    if len(shape) == 2 and grad._array.ndim > 2:
        return mm(_rows(conjugate(a)).t(), _rows(grad))
    return sum_to_size(matmul(conjugate(a).mT, grad), shape)


def _stack_product_and_tangent(
    a: Array, b: Array, da: Array | None, db: Array | None
) -> tuple[Array, Array] | None:
    """``matmul_and_tangent`` of stacks; None where that takes more launches."""
    if b.ndim > 2:
        return matmul_and_tangent(a, b, da, db)
    if not (a.flags.c_contiguous and (da is None or da.flags.c_contiguous)):
        return None
    rows = [None if x is None else _rows(x) for x in (a, da)]
    both = matmul_and_tangent(rows[0], b, rows[1], db)  # type: ignore[arg-type]
    if both is None:
        return None
    shape = (*a.shape[:-1], b.shape[1])
    return both[0].reshape(shape), both[1].reshape(shape)


_matmul = TensorOperator(
    "matmul",
    lambda a, b: _stack_product(a, b),
    {
        "a": lambda grad, a_shape, b: sum_to_size(matmul(grad, conjugate(b).mT), a_shape),
        "b": lambda grad, a, b_shape: _to_second(grad, a, b_shape),
    },
    grad_fn="UnsafeViewBackward0",
    batch=samples_of_stacks,
    tangent=multilinear,
    with_directions=_stack_product_and_tangent,
    takes_half=True,
    portable=True,
)

_stack_times_vector = TensorOperator(
    "matmul",
    lambda a, b: _stack_product(a, b[:, None])[..., 0],
    {
        "a": lambda grad, b: grad.unsqueeze(-1) * conjugate(b),
        "b": lambda grad, a: mv(_rows(conjugate(a)).t(), grad.reshape(-1)),
    },
    grad_fn="UnsafeViewBackward0",
    batch=samples_times_vector,
    tangent=multilinear,
    takes_half=True,
    portable=True,
)

_vector_times_matrix = TensorOperator(
    "matmul",
    lambda a, b: _product(a[None, :], b)[0],
    {
        "a": lambda grad, b: mv(conjugate(b), grad),
        "b": lambda grad, a: outer(conjugate(a), grad),
    },
    grad_fn="SqueezeBackward4",
    batch=_samples_times_matrix,
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


@method()
@autocasts("lower", asks_itself=True)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product as NumPy's ``@``: vectors, matrices, and stacks whose batch broadcasts.

    Raises:
        RuntimeError: if an operand has no dimensions or the inner sizes differ.
    """
    if layers.active and asks(matmul):
        return descend(matmul, (input, other), {})
    try:
        a, b = input._array.ndim, other._array.ndim
    except AttributeError:
        check_tensors(matmul, (input, other))
        raise
    if a == 2 and b == 2:
        return mm(input, other)
    return _any_product(input, other)


@method("__matmul__")
@autocasts("lower", asks_itself=True)
def _python_matmul(input: Tensor, other: Tensor) -> Tensor:
    """``input @ other``; an array of NumPy is left to NumPy."""
    if layers.active and asks(_python_matmul):
        return descend(_python_matmul, (input, other), {})
    try:
        a, b = input._array.ndim, other._array.ndim
    except AttributeError:
        if isinstance(other, np.ndarray):
            return NotImplemented
        check_tensors(matmul, (input, other))
        raise
    if a != 2 or b != 2:
        return _any_product(input, other)
    check_mm(input, other)  # as ``mm``, which would ask the layers again
    return _mm(input, other)


def _any_product(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._array.ndim, other._array.ndim
    if a == 0 or b == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D"
        )
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    depth = other._array.shape[-2 if b > 1 else 0]
    if input._array.shape[-1] != depth:
        shapes = shapes_of(input, other)
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")
    _check_dtypes("matmul", input, other)
    if b == 1:
        return _stack_times_vector(input, other)
    if a == 1:
        if b == 2:
            return _vector_times_matrix(input, other)
        return _stack_times_vector(other.mT, input)
    return _stack_times_stack(input, other)


def _stack_times_stack(input: Tensor, other: Tensor) -> Tensor:
    try:
        return _matmul(input, other)
    except ValueError:
        raise RuntimeError(
            f"matmul: the batch dimensions of {shapes_of(input, other)} cannot be broadcast"
        ) from None


@method("__rmatmul__")
def _rmatmul(self: Tensor, other: Tensor) -> Tensor:
    return NotImplemented if isinstance(other, np.ndarray) else matmul(other, self)
