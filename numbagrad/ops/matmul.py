"""Matrix products: mm, bmm, matmul, mv, dot, addmm and their relatives.

One kernel multiplies stacks of matrices of any strides, so a transposed operand costs nothing and
every gradient here is another product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..executor.matmul import matmul as _product
from ..tensor import Tensor
from .registry import method
from .tensor_operator import TensorOperator

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "chain_matmul", "dot", "inner", "ger",
    "linear", "matmul", "mm", "mv", "outer", "tensordot", "vdot",
]  # fmt: skip


def _shapes(*tensors: Tensor) -> str:
    return " and ".join("x".join(map(str, t._array.shape)) for t in tensors)


def _check_dtypes(name: str, a: Tensor, b: Tensor) -> None:
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"{name}: expected both operands to have the same dtype, but got {a.dtype} and "
            f"{b.dtype}; convert one with .to(dtype)"
        )


_mm = TensorOperator(
    "mm",
    lambda a, b: _product(a, b),
    {
        "a": lambda grad, b: _mm(grad, b.t()),
        "b": lambda grad, a: _mm(a.t(), grad),
    },
)

_bmm = TensorOperator(
    "bmm",
    lambda a, b: _product(a, b),
    {
        "a": lambda grad, b: _bmm(grad, b.transpose(1, 2)),
        "b": lambda grad, a: _bmm(a.transpose(1, 2), grad),
    },
)

_mv = TensorOperator(
    "mv",
    lambda a, b: _product(a, b[:, None])[:, 0],
    {
        "a": lambda grad, b: outer(grad, b),
        "b": lambda grad, a: _mv(a.t(), grad),
    },
)

_dot = TensorOperator(
    "dot",
    lambda a, b: _product(a[None, :], b[:, None]).reshape(()),
    {
        "a": lambda grad, b: grad * b,
        "b": lambda grad, a: grad * a,
    },
)


@method()
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices, (n, m) and (m, p) to (n, p). No broadcasting."""
    if input._array.ndim != 2 or mat2._array.ndim != 2:
        raise RuntimeError(
            "mm: self must be a matrix and mat2 must be a matrix, got shapes "
            f"{_shapes(input, mat2)}"
        )
    if input._array.shape[1] != mat2._array.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_shapes(input, mat2)})")
    if input._array.dtype != mat2._array.dtype:
        _check_dtypes("mm", input, mat2)
    return _mm(input, mat2)


@method()
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two stacks of matrices, (b, n, m) and (b, m, p) to (b, n, p)."""
    if input._array.ndim != 3 or mat2._array.ndim != 3:
        raise RuntimeError(f"bmm: both operands must be 3D tensors, got {_shapes(input, mat2)}")
    if input._array.shape[0] != mat2._array.shape[0]:
        raise RuntimeError(
            f"bmm: both operands must have the same batch size, got {_shapes(input, mat2)}"
        )
    if input._array.shape[2] != mat2._array.shape[1]:
        raise RuntimeError(
            "bmm: the columns of the first must match the rows of the second: "
            f"{_shapes(input, mat2)}"
        )
    _check_dtypes("bmm", input, mat2)
    return _bmm(input, mat2)


@method()
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix (n, m) and a vector (m)."""
    if input._array.ndim != 2 or vec._array.ndim != 1:
        raise RuntimeError(
            "vector + matrix @ vector expected, got "
            f"{vec._array.ndim}, {input._array.ndim}, {vec._array.ndim}"
        )
    if input._array.shape[1] != vec._array.shape[0]:
        raise RuntimeError(f"size mismatch, got input {_shapes(input)}, vec {_shapes(vec)}")
    _check_dtypes("mv", input, vec)
    return _mv(input, vec)


@method()
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Sum of the products of two vectors of equal length."""
    if input._array.ndim != 1 or tensor._array.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {input._array.ndim}D and {tensor._array.ndim}D tensors"
        )
    if input._array.shape != tensor._array.shape:
        raise RuntimeError(
            "inconsistent tensor size, expected tensor "
            f"[{input._array.shape[0]}] and src [{tensor._array.shape[0]}] to have the same number "
            f"of elements, but got {input._array.shape[0]} and {tensor._array.shape[0]} elements "
            "respectively"
        )
    _check_dtypes("dot", input, tensor)
    return _dot(input, tensor)


vdot = method("vdot")(dot)


@method("matmul", "__matmul__")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product as NumPy's ``@``: vectors, matrices, and stacks whose batch broadcasts.

    Raises:
        RuntimeError: if an operand has no dimensions or the inner sizes differ.
    """
    a, b = input._array.ndim, other._array.ndim
    if a == 2 and b == 2:
        return mm(input, other)
    if a == 0 or b == 0:
        raise RuntimeError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{a}D and {b}D"
        )
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    if a == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2)
    if b == 1:
        return matmul(input, other.unsqueeze(1)).squeeze(-1)
    if input._array.shape[-1] != other._array.shape[-2]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({_shapes(input, other)})"
        )
    _check_dtypes("matmul", input, other)
    if b == 2:  # one matrix for the whole stack: a single tall product
        shape = (*input._array.shape[:-1], other._array.shape[1])
        return mm(input.reshape(-1, input._array.shape[-1]), other).reshape(shape)
    try:
        batch = np.broadcast_shapes(input._array.shape[:-2], other._array.shape[:-2])
    except ValueError:
        raise RuntimeError(
            f"matmul: the batch dimensions of {_shapes(input, other)} cannot be broadcast"
        ) from None
    stacks = [
        t.expand(*batch, *t._array.shape[-2:]).reshape(-1, *t._array.shape[-2:])
        for t in (input, other)
    ]
    return _bmm(*stacks).reshape(*batch, input._array.shape[-2], other._array.shape[-1])


def _rmatmul(self: Tensor, other: Tensor) -> Tensor:
    return matmul(other, self)


method("__rmatmul__")(_rmatmul)


@method()
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Products of every element of one vector with every element of the other, (n) and (m)."""
    if input._array.ndim != 1 or vec2._array.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D arguments, but got {input._array.ndim}-D and {vec2._array.ndim}-D"
        )
    return input.unsqueeze(1) * vec2


ger = method("ger")(outer)


@method()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products along the last dimension of both operands."""
    if input._array.ndim == 0 or other._array.ndim == 0:
        return input * other
    if input._array.shape[-1] != other._array.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input._array.shape)} and {list(other._array.shape)}"
        )
    return tensordot(input, other, dims=([-1], [-1]))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over the given dimensions of both, or over the last/first ``dims``."""
    if isinstance(dims, int):
        first = list(range(a._array.ndim - dims, a._array.ndim))
        second = list(range(dims))
    else:
        first = [d % a._array.ndim for d in dims[0]]
        second = [d % b._array.ndim for d in dims[1]]
    sizes_a = [a._array.shape[d] for d in first]
    sizes_b = [b._array.shape[d] for d in second]
    if sizes_a != sizes_b:
        raise RuntimeError(
            f"tensordot: contracted dimensions need to match, but got {sizes_a} and {sizes_b}"
        )
    kept_a = [d for d in range(a._array.ndim) if d not in first]
    kept_b = [d for d in range(b._array.ndim) if d not in second]
    shape = [a._array.shape[d] for d in kept_a] + [b._array.shape[d] for d in kept_b]
    depth = int(np.prod(sizes_a)) if sizes_a else 1
    rows = int(np.prod([a._array.shape[d] for d in kept_a]))
    columns = int(np.prod([b._array.shape[d] for d in kept_b]))
    left = a.permute(*kept_a, *first).reshape(rows, depth)
    right = b.permute(*second, *kept_b).reshape(depth, columns)
    return mm(left, right).reshape(shape)


def _combine(input: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    """``beta * input + alpha * product``; as in torch, input is not read where beta is 0."""
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return (input if beta == 1 else input * beta) + scaled


@method()
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; input broadcasts to the product's shape."""
    return _combine(input, mm(mat1, mat2), beta, alpha)


@method()
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
    return _combine(input, mv(mat, vec), beta, alpha)


@method()
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    return _combine(input, outer(vec1, vec2), beta, alpha)


@method()
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``."""
    return _combine(input, bmm(batch1, batch2), beta, alpha)


@method()
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``."""
    product = bmm(batch1, batch2)
    return _combine(input, product.sum(0, dtype=product.dtype), beta, alpha)


def chain_matmul(*matrices: Tensor) -> Tensor:
    """Product of several matrices, from the left."""
    product = matrices[0]
    for matrix in matrices[1:]:
        product = mm(product, matrix)
    return product


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias`` for weight (out, in) and input (..., in)."""
    product = matmul(input, weight.t())
    return product if bias is None else product + bias
