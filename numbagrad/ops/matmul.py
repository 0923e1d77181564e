"""Matrix products: mm, bmm, matmul, mv, dot, and the ones that are added to a tensor (addmm, ...).

One kernel multiplies stacks of matrices of any strides, so a transposed operand costs nothing and
every gradient here is another product. What sums over several dimensions is in ``contraction.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..dtype import promote_types
from ..executor.matmul import matmul as _product
from ..executor.matmul import sum_of_products
from ..tensor import Tensor, new_tensor
from ..transforms.batching import aligned_stacks, broadcast_samples
from ..transforms.levels import is_transformed
from ..transforms.tangents import multilinear
from .argument_check import check_tensors
from .complex_numbers import conj
from .conversion import cast
from .expand import expand, sum_to_size
from .inplace import install_in_place
from .operator import pointwise
from .output import write_result
from .registry import method
from .shapes import check_expands
from .tensor_operator import TensorOperator

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "ger", "matmul", "mm", "mv",
    "outer", "vdot",
]  # fmt: skip

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
        return conj(matrix).t()
    if grad_mode.enabled or is_transformed(matrix):
        return matrix.t()
    return new_tensor(matrix._array.T)


def _samples_of_stacks(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The rule of products of matrices: a stack of products, or of rows times one matrix."""
    return matmul(*aligned_stacks(arguments, mapped))


def _samples_times_vector(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
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
        a = conj(a)
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
    batch=_samples_of_stacks,
    tangent=multilinear,
    sum_of_two=sum_of_products,
)

_bmm = TensorOperator(
    "bmm",
    lambda a, b: _product(a, b),
    {
        "a": lambda grad, b: _bmm(grad, conj(b).transpose(1, 2)),
        "b": lambda grad, a: _bmm(conj(a).transpose(1, 2), grad),
    },
    batch=_samples_of_stacks,
    tangent=multilinear,
    sum_of_two=sum_of_products,
)

_mv = TensorOperator(
    "mv",
    lambda a, b: _product(a, b[:, None])[:, 0],
    {
        "a": lambda grad, b: outer(grad, conj(b)),
        "b": lambda grad, a: _mv(conj(a).t(), grad),
    },
    batch=_samples_times_vector,
    tangent=multilinear,
)


def _dot_operator(
    name: str,
    product: Callable[[Array, Array], Array],
    gradient: dict[str, Any],
    tangent: Callable[..., Any],
) -> TensorOperator:
    return TensorOperator(
        name, lambda a, b: product(a, b).reshape(()), gradient, batch=_samples_of_dot,
        tangent=tangent,
    )


_dot = _dot_operator(
    "dot",
    lambda a, b: _product(a[None, :], b[:, None]),
    {"a": lambda grad, b: grad * conj(b), "b": lambda grad, a: grad * conj(a)},
    multilinear,
)
_vdot = _dot_operator(
    "vdot",
    lambda a, b: _product(a.conj()[None, :], b[:, None]),
    {"a": lambda grad, b: conj(grad) * b, "b": lambda grad, a: grad * a},
    multilinear,  # linear over the real numbers, which is what tangents need
)


def _check_mm(input: Tensor, mat2: Tensor) -> None:
    if input._array.shape[1] != mat2._array.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({shapes_of(input, mat2)})"
        )
    if input._array.dtype != mat2._array.dtype:
        _check_dtypes("mm", input, mat2)


@method()
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of two matrices, (n, m) and (m, p) to (n, p). No broadcasting."""
    try:
        a, b = input._array.ndim, mat2._array.ndim
    except AttributeError:
        check_tensors(mm, (input, mat2))
        raise
    if a != 2 or b != 2:
        raise RuntimeError(
            "mm: self must be a matrix and mat2 must be a matrix, got shapes "
            f"{shapes_of(input, mat2)}"
        )
    _check_mm(input, mat2)
    made = _mm(input, mat2)
    return made if out is None else write_result("mm", made, out)


def _check_bmm(name: str, input: Tensor, mat2: Tensor) -> None:
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
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of two stacks of matrices, (b, n, m) and (b, m, p) to (b, n, p)."""
    _check_bmm("bmm", input, mat2)
    return write_result("bmm", _bmm(input, mat2), out)


def _check_mv(input: Tensor, vec: Tensor) -> None:
    if input._array.ndim != 2 or vec._array.ndim != 1:
        raise RuntimeError(
            "vector + matrix @ vector expected, got "
            f"{vec._array.ndim}, {input._array.ndim}, {vec._array.ndim}"
        )
    if input._array.shape[1] != vec._array.shape[0]:
        raise RuntimeError(f"size mismatch, got input {shapes_of(input)}, vec {shapes_of(vec)}")
    _check_dtypes("mv", input, vec)


@method()
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of a matrix (n, m) and a vector (m)."""
    _check_mv(input, vec)
    return write_result("mv", _mv(input, vec), out)


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
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum of the products of two vectors of equal length."""
    _check_dot(input, tensor)
    return write_result("dot", _dot(input, tensor), out)


@method()
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum of the products of two vectors of equal length, of which the first is conjugated."""
    _check_dot(input, other)
    return write_result("vdot", _vdot(input, other), out)


@method()
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products of every element of one vector with every element of the other, (n) and (m)."""
    if input._array.ndim != 1 or vec2._array.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D arguments, but got {input._array.ndim}-D and {vec2._array.ndim}-D"
        )
    return write_result("outer", input.unsqueeze(1) * vec2, out, casts=True)


ger = method("ger")(outer)


# --- stacks of any rank ---------------------------------------------------------------------------
#
# One node each, named as the last of the chain that torch records for the same call.


def _stack_product(a: Array, b: Array) -> Array:
    """``a @ b`` of stacks whose leading dimensions broadcast; one of them may be a matrix."""
    if b.ndim == 2:  # one matrix for the whole stack: a single tall product
        if a.ndim == 3 and a.strides[0] != a.shape[1] * a.strides[1]:
            return _product(a, b[None])  # the rows do not follow each other: no copy of them
        made = _product(a.reshape(-1, a.shape[-1]), b)
        return made.reshape(*a.shape[:-1], b.shape[1])
    if a.ndim == b.ndim <= 4:  # what the launcher broadcasts itself
        return _product(a, b)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if len(batch) <= 2:
        return _product(*[x.reshape((1,) * (len(batch) + 2 - x.ndim) + x.shape) for x in (a, b)])
    stacks = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b)]
    made = _product(*[x.reshape(-1, *x.shape[-2:]) for x in stacks])
    return made.reshape(*batch, a.shape[-2], b.shape[-1])


def _to_second(grad: Tensor, a: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient of the second factor of a product, of the given shape."""
    if len(shape) == 2 and grad._array.ndim > 2:
        rows = conj(a).reshape(-1, a._array.shape[-1])
        return mm(rows.t(), grad.reshape(-1, grad._array.shape[-1]))
    return sum_to_size(matmul(conj(a).mT, grad), shape)


def _sum_of_stack_products(a: Array, b: Array, c: Array, d: Array) -> Array | None:
    """``a @ b + c @ d`` of stacks that lie alike; None where that takes several launches."""
    if b.ndim == 2 and a.flags.c_contiguous and c.flags.c_contiguous:
        rows = [x.reshape(-1, x.shape[-1]) for x in (a, c)]
        made = sum_of_products(rows[0], b, rows[1], d)
        return made if made is None else made.reshape(*a.shape[:-1], b.shape[1])
    return sum_of_products(a, b, c, d)


_matmul = TensorOperator(
    "matmul",
    lambda a, b: _stack_product(a, b),
    {
        "a": lambda grad, a_shape, b: sum_to_size(matmul(grad, conj(b).mT), a_shape),
        "b": lambda grad, a, b_shape: _to_second(grad, a, b_shape),
    },
    grad_fn="UnsafeViewBackward0",
    batch=_samples_of_stacks,
    tangent=multilinear,
    sum_of_two=_sum_of_stack_products,
)

_stack_times_vector = TensorOperator(
    "matmul",
    lambda a, b: _stack_product(a, b[:, None])[..., 0],
    {
        "a": lambda grad, b: grad.unsqueeze(-1) * conj(b),
        "b": lambda grad, a: mv(conj(a).reshape(-1, a._array.shape[-1]).t(), grad.reshape(-1)),
    },
    grad_fn="UnsafeViewBackward0",
    batch=_samples_times_vector,
    tangent=multilinear,
)

_vector_times_matrix = TensorOperator(
    "matmul",
    lambda a, b: _product(a[None, :], b)[0],
    {
        "a": lambda grad, b: mv(conj(b), grad),
        "b": lambda grad, a: outer(conj(a), grad),
    },
    grad_fn="SqueezeBackward4",
    batch=_samples_times_matrix,
    tangent=multilinear,
)


@method("matmul", "__matmul__")
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product as NumPy's ``@``: vectors, matrices, and stacks whose batch broadcasts.

    Raises:
        RuntimeError: if an operand has no dimensions or the inner sizes differ.
    """
    try:
        a, b = input._array.ndim, other._array.ndim
    except AttributeError:
        check_tensors(matmul, (input, other))
        raise
    if a == 2 and b == 2:
        return mm(input, other, out=out)
    made = _any_product(input, other)
    return made if out is None else write_result("matmul", made, out)


def _any_product(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._array.ndim, other._array.ndim
    if a == 0 or b == 0:
        raise RuntimeError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{a}D and {b}D"
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
    try:
        return _matmul(input, other)
    except ValueError:
        raise RuntimeError(
            f"matmul: the batch dimensions of {shapes_of(input, other)} cannot be broadcast"
        ) from None


@method("__rmatmul__")
def _rmatmul(self: Tensor, other: Tensor) -> Tensor:
    return matmul(other, self)


# --- added to a tensor ----------------------------------------------------------------------------


def _added(input: Array, product: Array, beta: float, alpha: float) -> Array:
    """``beta * input + alpha * product``, written into ``product``; not read where beta is 0."""
    result = new_tensor(product)
    if alpha != 1:
        pointwise("mul").into(result, (result, alpha))
    if beta == 1:
        pointwise("add").into(result, (result, new_tensor(input)))
    elif beta != 0:
        pointwise("add_scaled").into(result, (result, new_tensor(input), beta))
    return product


def _times(tensor: Tensor, factor: float) -> Tensor:
    return tensor if factor == 1 else tensor * factor


def _adding(
    name: str,
    product: Callable[[Array, Array], Array],
    to_first: Callable[[Tensor, Tensor, tuple[int, ...]], Tensor],
    to_second: Callable[[Tensor, Tensor, tuple[int, ...]], Tensor],
    of_samples: Callable[..., Tensor] = _samples_of_stacks,
) -> TensorOperator:
    """``beta * input + alpha * product(a, b)`` as one node.

    ``to_first(grad, b, shape of a)`` and ``to_second(grad, a, shape of b)`` are the gradients of
    the product, ``of_samples`` its rule for batches.
    """

    def batch(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
        input, a, b, beta, alpha = arguments
        either = mapped[1] or mapped[2]
        made = of_samples(operator, size, (a, b), mapped[1:3]) if either else operator(
            new_tensor(np.zeros((), a._array.dtype)), a, b, beta, 1
        )
        made = _times(made, alpha)
        if beta == 0 and either:
            return made
        added, made = broadcast_samples([_times(input, beta), made], (mapped[0], either))
        return added + made

    return TensorOperator(
        name,
        lambda input, a, b, beta, alpha: _added(input, product(a, b), beta, alpha),
        {
            "input": lambda grad, input_shape, beta: sum_to_size(
                _times(grad, beta.conjugate()), input_shape
            ),
            "a": lambda grad, a_shape, b, alpha: _times(
                to_first(grad, b, a_shape), alpha.conjugate()
            ),
            "b": lambda grad, a, b_shape, alpha: _times(
                to_second(grad, a, b_shape), alpha.conjugate()
            ),
        },
        batch=batch,
    )


def _stacked(grad: Tensor, count: int) -> Tensor:
    """The gradient of a sum over a batch."""
    return expand(grad, (count, *grad._array.shape))


_addmm = _adding(
    "addmm", _product, lambda grad, b, _: mm(grad, conj(b).t()),
    lambda grad, a, _: mm(conj(a).t(), grad),
)
_addmv = _adding("addmv", _mv.forward, lambda grad, b, _: outer(grad, conj(b)),
                 lambda grad, a, _: mv(conj(a).t(), grad), _samples_times_vector)  # fmt: skip
_addr = _adding(
    "addr",
    lambda a, b: pointwise("mul")(new_tensor(a[:, None]), new_tensor(b))._array,
    lambda grad, b, _: mv(grad, conj(b)),
    lambda grad, a, _: mv(grad.t(), conj(a)),
    lambda operator, size, arguments, mapped: (
        arguments[0].unsqueeze(-1) * arguments[1].unsqueeze(-2)
    ),
)
_baddbmm = _adding(
    "baddbmm", _product, lambda grad, b, _: bmm(grad, conj(b).mT),
    lambda grad, a, _: bmm(conj(a).mT, grad),
)
_addbmm = _adding(
    "addbmm",
    lambda a, b: _product(a.transpose(1, 0, 2).reshape(a.shape[1], -1), b.reshape(-1, b.shape[2])),
    lambda grad, b, shape: bmm(_stacked(grad, shape[0]), conj(b).mT),
    lambda grad, a, shape: bmm(conj(a).mT, _stacked(grad, shape[0])),
    lambda operator, size, arguments, mapped: (
        _samples_of_stacks(operator, size, arguments, mapped).sum(1)
    ),
)


def _sum(
    operator: TensorOperator,
    shape: tuple[int, ...],
    input: Tensor,
    a: Tensor,
    b: Tensor,
    beta: float,
    alpha: float,
    out: Tensor | None,
) -> Tensor:
    """Check ``input`` against the shape and dtype of the product, and add them."""
    dtype = a._array.dtype
    if input._array.dtype != dtype:
        raise RuntimeError(
            f"{operator.name}: expected input and factors to have the same dtype, but got "
            f"{input.dtype} and {a.dtype}; convert one with .to(dtype)"
        )
    if dtype == np.bool_ and operator is not _addr:
        raise NotImplementedError(
            f'"{operator.name}_impl_cpu" not implemented for \'Bool\'; cast to an integer dtype '
            "first"
        )
    if input._array.shape != shape:
        check_expands(input._array.shape, shape)
    number: Any = {"b": bool, "f": float, "c": complex}.get(dtype.kind, int)
    made = operator(input, a, b, number(beta), number(alpha))
    return made if out is None else write_result(operator.name, made, out)


@method()
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; input broadcasts to the product's shape."""
    for place, factor in enumerate((mat1, mat2), 1):
        if factor._array.ndim != 2:
            raise RuntimeError(f"mat{place} must be a matrix, got {factor._array.ndim}-D tensor")
    _check_mm(mat1, mat2)
    shape = (mat1._array.shape[0], mat2._array.shape[1])
    return _sum(_addmm, shape, input, mat1, mat2, beta, alpha, out)


@method()
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
    _check_mv(mat, vec)
    return _sum(_addmv, mat._array.shape[:1], input, mat, vec, beta, alpha, out)


@method()
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``; unlike its relatives it promotes dtypes."""
    if vec1._array.ndim != 1 or vec2._array.ndim != 1:
        raise RuntimeError(
            "addr: Expected 1-D argument vec1 and vec2, but got "
            f"{vec1._array.ndim}-D and {vec2._array.ndim}-D"
        )
    dtype = promote_types(promote_types(input.dtype, vec1.dtype), vec2.dtype)
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, float) and not dtype.is_floating_point:
            raise RuntimeError(
                f"addr: For integral input tensors, argument {name} must not be a floating point "
                "number."
            )
    shape = (vec1._array.size, vec2._array.size)
    input, vec1, vec2 = [cast(x, dtype.numpy) for x in (input, vec1, vec2)]
    return _sum(_addr, shape, input, vec1, vec2, beta, alpha, out)


@method()
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``."""
    _check_bmm("baddbmm", batch1, batch2)
    shape = (*batch1._array.shape[:2], batch2._array.shape[2])
    return _sum(_baddbmm, shape, input, batch1, batch2, beta, alpha, out)


@method()
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``, as one product."""
    _check_bmm("addbmm", batch1, batch2)
    shape = (batch1._array.shape[1], batch2._array.shape[2])
    return _sum(_addbmm, shape, input, batch1, batch2, beta, alpha, out)


for _function in (addmm, addmv, addr, baddbmm, addbmm):
    install_in_place(_function)
