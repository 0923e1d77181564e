"""Inverses, systems of equations, determinants and decompositions of stacks of matrices.

NumPy's LAPACK computes them; the gradients are products of matrices and these operators again, so
they exist to every order. ``numbagrad.linalg`` shows all of them, the top namespace torch's
older names.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import half_precision as half
from .. import return_types
from ..autograd.grad_mode import state as grad_mode
from ..dispatch.policies import autocasts
from ..dtype import bool_, scalar_type_name
from ..dtype import dtype as DType
from ..executor import capture
from ..tensor import Tensor, new_tensor
from ..transforms.batching import after_samples, aligned_stacks, stacked
from ..transforms.levels import is_transformed, may_be_checked
from .argument_check import check_tensors
from .conversion import cast
from .expand import sum_to_size
from .functions import where
from .lapack import by_columns, cholesky_factors, solution, svd_of
from .lapack import inverse as inverse_of
from .lazy_conj import conjugate
from .operator import pointwise
from .output import write_result
from .registry import method
from .shapes import common_shape, dimension
from .statistics import vector_norm
from .tensor_operator import TensorOperator

__all__ = [
    "cholesky", "cross", "det", "inverse", "logdet",
    "matrix_power", "slogdet", "trace",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- checks and layouts ---------------------------------------------------------------------------


def check_matrices(name: str, input: Tensor, square: bool = True) -> None:
    """Raise unless ``input`` holds matrices of floats; errors speak of the function ``name``."""
    if square:
        _check_square(name, input)
    elif input._array.ndim < 2:
        raise _too_few_dimensions(name, input)
    if input._array.dtype not in (np.float32, np.float64):
        raise RuntimeError(
            f"{name}: Expected a float32 or float64 tensor, but got "
            f"{scalar_type_name(input.dtype)}; convert it with .to(dtype)"
        )


def _too_few_dimensions(name: str, input: Tensor) -> RuntimeError:
    return RuntimeError(
        f"{name}: The input tensor A must have at least 2 dimensions, got {input._array.ndim}"
    )


def _check_square(name: str, input: Tensor) -> None:
    if input._array.ndim < 2:
        raise _too_few_dimensions(name, input)
    rows, columns = input._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {rows} by {columns} "
            "matrices"
        )


def _diagonal_part(matrix: Tensor) -> Tensor:
    return matrix.diagonal(0, -2, -1)


# --- inverse and systems --------------------------------------------------------------------------

_inv = TensorOperator(
    "linalg_inv_ex",
    # The inverse of the transpose, transposed, has its columns in a row.
    lambda input: inverse_of(input),
    {"input": lambda grad, result: -(result.mT @ grad @ result.mT)},
    batch=stacked(),
)


@autocasts("float32")
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverses of square matrices (..., n, n).

    Raises:
        LinAlgError: if one of them is singular.
    """
    check_matrices("linalg.inv", A)
    return write_result("linalg.inv", _inv(A), out)


@method()
@autocasts("float32")
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverses of square matrices; ``linalg.inv``."""
    return inv(input, out=out)


def _columns(tensor: Tensor, vectors: bool) -> Tensor:
    """Vectors as matrices of one column."""
    return tensor.unsqueeze(-1) if vectors else tensor


def _solved(A: Array, B: Array, vectors: bool) -> Array:
    right = B[..., None] if vectors else B
    made = solution(A, right)
    return made[..., 0] if vectors else by_columns(made)


def _solve_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    A, B, vectors = arguments
    A, B = aligned_stacks((A, _columns(B, vectors)), mapped[:2])
    made: Tensor = operator(A, B, False)
    return made.squeeze(-1) if vectors else made


def _solving(name: str) -> TensorOperator:
    """The solution of equations, as a node of its own name."""

    def by_right(grad: Tensor, A: Tensor, B_shape: tuple[int, ...], vectors: bool) -> Tensor:
        return sum_to_size(operator(A.mT, grad, vectors), B_shape)

    def by_matrix(grad: Tensor, A: Tensor, vectors: bool, result: Tensor) -> Tensor:
        right = _columns(operator(A.mT, grad, vectors), vectors)
        return sum_to_size(-(right @ _columns(result, vectors).mT), A._array.shape)

    operator = TensorOperator(
        name,
        lambda A, B, vectors: _solved(A, B, vectors),
        {"A": by_matrix, "B": by_right},
        batch=_solve_samples,
    )
    return operator


_solve, _solve_triangular = _solving("linalg_solve_ex"), _solving("linalg_solve_triangular")


@autocasts("float32")
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """X with ``A @ X = B`` (or ``X @ A = B`` unless ``left``) for square matrices A.

    B holds matrices (..., n, k), or vectors: (n), or of the shape of A without its last dimension.

    Raises:
        LinAlgError: if one of the matrices is singular.
    """
    check_matrices("linalg.solve", A)
    if A._array.dtype != B._array.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype} and B of type {B.dtype} instead"
        )
    if not B._array.ndim:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    vectors = B._array.ndim == 1 or (
        B._array.ndim == A._array.ndim - 1 and B._array.shape == A._array.shape[:-1]
    )
    if vectors and not left:
        raise RuntimeError("linalg.solve: vectors as B need left=True")
    return write_result("linalg.solve", _either_side(_solve, A, B, left, vectors), out)


def transposed_copy(matrices: Tensor) -> Tensor:
    """Computed matrices the other way round, as a result like any other: no view of another one."""
    return matrices.mT.clone()


def _either_side(
    solving: TensorOperator, A: Tensor, B: Tensor, left: bool, vectors: bool = False
) -> Tensor:
    if not left:
        return transposed_copy(_either_side(solving, A.mT, B.mT, True))
    rows = B._array.shape[-1 if vectors else -2]
    if rows != A._array.shape[-1]:
        raise RuntimeError(
            "linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({list(A._array.shape)} and {list(B._array.shape)})"
        )
    common_shape([A._array.shape[:-2], B._array.shape[: -1 if vectors else -2]])
    made: Tensor = solving(A, B, vectors)
    return made


def _triangle(A: Tensor, upper: bool) -> Tensor:
    return A.triu() if upper else A.tril()


def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """X with ``A @ X = B`` (or ``X @ A = B`` unless ``left``), of A one triangle only.

    With ``unitriangular`` the diagonal of A counts as ones.
    """
    check_matrices("linalg.solve_triangular", A)
    if B._array.ndim < 2:
        raise RuntimeError(
            "linalg.solve_triangular: The input tensor B must have at least 2 dimensions."
        )
    B = cast(B, A._array.dtype)  # as torch does without a word
    half = _triangle(A, upper)
    if unitriangular:
        size = A._array.shape[-1]
        half = half.masked_fill(new_tensor(capture.constant(np.eye(size, dtype=bool))), 1.0)
    made = _either_side(_solve_triangular, half, B, left)
    return write_result("linalg.solve_triangular", made, out)


def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Square matrices multiplied ``n`` times; with negative ``n``, their inverses."""
    _check_square("linalg.matrix_power", input)
    if n < 0:
        return matrix_power(inv(input), -n, out=out)
    if n == 0:
        eye = _eye_like(input)
        return write_result("linalg.matrix_power", input.clone().copy_(eye), out)
    made: Tensor | None = None
    square = input
    while n:  # by the binary digits of n
        if n & 1:
            made = square if made is None else made @ square
        n >>= 1
        if n:
            square = square @ square
    assert made is not None
    return write_result("linalg.matrix_power", made.clone() if made is input else made, out)


method("matrix_power")(matrix_power)


# --- determinants ---------------------------------------------------------------------------------


def _cofactors(array: Array) -> Array:
    """The matrices of cofactors, by singular values: also where the determinant is zero."""
    u, s, vh = svd_of(array, True)
    others = np.stack([np.delete(s, k, -1).prod(-1) for k in range(s.shape[-1])], -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return (sign[..., None, None] * (u * others[..., None, :])) @ vh


def _cofactors_of(array: Array, determinants: Array) -> Array:
    """The cofactors, in the way that the gradient of ``det`` finds them."""
    if (determinants == 0).any():
        return _cofactors(array)
    inverses = _inv.forward(array).swapaxes(-1, -2)
    made: Array = determinants[..., None, None] * inverses
    return made


#: Has no gradient of its own, and says so if one is wanted.
_singular_gradient = TensorOperator(
    "det of a singular matrix", lambda A: _cofactors(A), {}, batch=stacked()
)


def _det_gradient(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    if capture.active is not None and not grad_mode.enabled:
        cofactors = new_tensor(capture.call(_cofactors_of, A._array, result._array))
        return grad[..., None, None] * cofactors
    capture.refuse("the gradient of det(), which asks whether a determinant is 0")
    if not is_transformed((A, result)) and (result._array == 0).any():
        return grad[..., None, None] * _singular_gradient(A)
    return (grad * result)[..., None, None] * inv(A).mT


_det = TensorOperator(
    "linalg_det",
    lambda A: np.asarray(np.linalg.det(A), A.dtype),
    {"A": _det_gradient},
    batch=stacked(),
)


@method()
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices (..., n, n)."""
    check_matrices("linalg.det", input)
    return _det(input)


def linalg_det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices (..., n, n)."""
    return write_result("linalg.det", det(A), out)


linalg_det.__name__ = linalg_det.__qualname__ = "det"


_slogdet = TensorOperator(
    "linalg_slogdet",
    lambda A: tuple([np.asarray(part, A.dtype) for part in np.linalg.slogdet(A)]),
    {
        "A": lambda grad, A: None if grad[1] is None else grad[1][..., None, None] * inv(A).mT,
    },
    batch=stacked(),
)


@method()
def slogdet(A: Tensor) -> Any:
    """Signs and logarithms of the absolute values of the determinants of square matrices."""
    check_matrices("linalg.slogdet", A)
    return return_types.slogdet(*_slogdet(A))


@method()
def logdet(input: Tensor) -> Tensor:
    """Logarithms of the determinants of square matrices; NaN where they are negative."""
    sign, logabsdet = slogdet(input)
    return where(pointwise("lt")(sign, 0), math.nan, logabsdet)


_trace = TensorOperator(
    "trace",
    lambda input: np.asarray(
        input.trace(dtype=input.dtype if input.dtype.kind in "fcV" else np.int64)
    ),
    {"input": lambda grad, input_shape: _scaled_identity(grad, input_shape)},
    batch=lambda operator, size, arguments, mapped: arguments[0].diagonal(0, 1, 2).sum(1),
)


def _scaled_identity(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    identity = half.converted(np.eye(shape[0], shape[1]), grad._array.dtype)
    return grad * new_tensor(capture.constant(identity))


@method()
@autocasts("float32")
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; of integers in int64."""
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    if input._array.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'; convert with .long()")
    return _trace(input)


# --- decompositions -------------------------------------------------------------------------------


def _symmetric_half(matrix: Tensor) -> Tensor:
    """The mean of a lower triangle and its transpose; what projects on symmetric matrices."""
    lower = matrix.tril()
    return (lower + lower.mT - lower * _eye_like(matrix)) * 0.5


def _eye_like(matrix: Tensor) -> Tensor:
    size = matrix._array.shape[-1]
    return new_tensor(capture.constant(half.converted(np.eye(size), matrix._array.dtype)))


def on_diagonal(matrices: Tensor) -> Tensor:
    """True on the diagonal of square matrices as large as the last dimension."""
    return new_tensor(capture.constant(np.eye(matrices._array.shape[-1], dtype=bool)))


def _cholesky_gradient(grad: Tensor, result: Tensor) -> Tensor:
    """Iain Murray, *Differentiation of the Cholesky decomposition* (2016)."""
    inverse_factor = solve_triangular(result, _eye_like(result), upper=False)
    return inverse_factor.mT @ _symmetric_half(result.mT @ grad) @ inverse_factor


_cholesky = TensorOperator(
    "linalg_cholesky_ex",
    lambda input: cholesky_factors(input),
    {"input": _cholesky_gradient},
    batch=stacked(),
)


@method()
@autocasts("float32")
def cholesky(A: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with ``L @ L.mT = A``, or its transpose if ``upper``.

    Raises:
        LinAlgError: if a matrix is not positive definite.
    """
    check_matrices("linalg.cholesky", A)
    made = _cholesky(A.mT if upper else A)  # only that triangle is read
    return write_result("linalg.cholesky", transposed_copy(made) if upper else made, out)


def _eigh_forward(array: Array, UPLO: Any) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(array, UPLO)
    return values, by_columns(vectors)


def _eigh_gradient(grad: Any, result: Tensor, result1: Tensor) -> Tensor:
    """``V (diag(g) + skew(V^T gV) / (λ_j - λ_i)) V^T``; infinite where eigenvalues are equal."""
    values, vectors = result, result1
    inner: Any = None if grad[0] is None else grad[0].diag_embed()
    if grad[1] is not None:
        distances = values.unsqueeze(-2) - values.unsqueeze(-1)
        diagonal = on_diagonal(values)
        overlap = vectors.mT @ grad[1]
        turned = (overlap - overlap.mT) * 0.5 / distances.masked_fill(diagonal, 1.0)
        inner = turned if inner is None else inner + turned
    return vectors @ inner @ vectors.mT


_eigh = TensorOperator(
    "linalg_eigh",
    lambda A, UPLO: _eigh_forward(A, UPLO),
    {"A": _eigh_gradient},
    batch=stacked(),
)


@autocasts("float32")
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors (columns) of symmetric matrices.

    ``UPLO`` says which triangle is read.
    """
    check_matrices("linalg.eigh", A)
    return return_types.linalg_eigh(*_eigh(A, UPLO))


@autocasts("float32")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, ascending."""
    return eigh(A, UPLO).eigenvalues


def _svd_forward(array: Array) -> tuple[Array, Array, Array]:
    u, s, vh = svd_of(array)
    return by_columns(u), s, by_columns(vh)


def _outside(gradient: Tensor, basis: Tensor) -> Tensor:
    """The part of the columns that the columns of an orthonormal basis do not span."""
    return gradient - basis @ (basis.mT @ gradient)


def _svd_gradient(grad: Any, result: Tensor, result1: Tensor, result2: Tensor) -> Tensor:
    """As for ``eigh``, with differences of squared singular values, and what lies outside."""
    u, s, v = result, result1, result2.mT
    of_u, of_s, of_vh = grad
    total = None if of_s is None else u @ of_s.diag_embed() @ v.mT
    columns, rows = s.unsqueeze(-2), s.unsqueeze(-1)
    diagonal = on_diagonal(s)
    distances = (columns * columns - rows * rows).masked_fill(diagonal, 1.0)

    def turned(gradient: Tensor, basis: Tensor) -> Tensor:
        overlap = basis.mT @ gradient
        return (overlap - overlap.mT) / distances

    terms = [] if total is None else [total]
    if of_u is not None:
        terms.append(u @ (turned(of_u, u) * columns) @ v.mT)
        terms.append(_outside(of_u, u) / columns @ v.mT)
    if of_vh is not None:
        terms.append(u @ (rows * turned(of_vh.mT, v)) @ v.mT)
        terms.append(u / columns @ _outside(of_vh.mT, v).mT)
    return functools.reduce(lambda total, term: total + term, terms)


_svd = TensorOperator(
    "linalg_svd", lambda A: _svd_forward(A), {"A": _svd_gradient}, batch=stacked()
)


def _check_beyond(gradients: Array) -> None:
    if gradients.any():
        raise RuntimeError(
            "linalg.svd: the columns of U and rows of Vh that only full matrices have are any "
            "basis of what is left, so there is no gradient through them; pass full_matrices=False"
        )


def _full_svd_gradient(grad: Any, result: Tensor, result1: Tensor, result2: Tensor) -> Tensor:
    """That of the reduced decomposition; what lies beyond is arbitrary and may have none."""
    count = result1._array.shape[-1]
    of_u, of_s, of_vh = grad
    for beyond in (
        None if of_u is None else of_u[..., count:],
        None if of_vh is None else of_vh[..., count:, :],
    ):
        if beyond is not None and may_be_checked(beyond):
            capture.check(_check_beyond, beyond._array)
    reduced = (
        None if of_u is None else of_u[..., :count],
        of_s,
        None if of_vh is None else of_vh[..., :count, :],
    )
    return _svd_gradient(reduced, result[..., :count], result1, result2[..., :count, :])


def _full_svd_forward(array: Array) -> tuple[Array, Array, Array]:
    u, s, vh = svd_of(array, True)
    return by_columns(u), s, by_columns(vh)


_full_svd = TensorOperator(
    "linalg_svd", lambda A: _full_svd_forward(A), {"A": _full_svd_gradient}, batch=stacked()
)


@autocasts("float32")
def svd(A: Tensor, full_matrices: bool = True) -> Any:
    """``U @ S.diag_embed() @ Vh`` with orthonormal columns of U, rows of Vh, and descending S.

    Gradients through U and Vh are infinite where singular values are equal.

    Args:
        A: matrices (..., m, n).
        full_matrices: whether U and Vh are square, or have min(m, n) columns and rows.

    Raises:
        RuntimeError: in backward, if what only full matrices have is differentiated.
    """
    check_matrices("linalg.svd", A, square=False)
    rows, columns = A._array.shape[-2:]
    operator = _full_svd if full_matrices and rows != columns else _svd
    return return_types.linalg_svd(*operator(A))


@autocasts("float32")
def svdvals(A: Tensor) -> Tensor:
    """Singular values, descending."""
    return svd(A, full_matrices=False).S


# --- norms ----------------------------------------------------------------------------------------


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",  # noqa: A002 - torch's name
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of matrices in two dimensions: "fro", "nuc", ±inf, ±1 or ±2."""
    rank = A._array.ndim
    if rank < 2 or len(dim) != 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions and dim two "
            f"entries, but got a tensor of {rank} dimensions and dim={dim}"
        )
    rows, columns = (dimension(rank, d) for d in dim)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, dtype=dtype)
    if dtype is not None:
        A = A.to(dtype)
    if ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        norm = values.amin(-1) if ord == -2 else _largest(values, -1, ord == "nuc")
        if not keepdim:
            return norm
        for d in sorted((rows, columns)):
            norm = norm.unsqueeze(d)
        return norm
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    assert not isinstance(ord, str)
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(A, 1, summed, keepdim)
    if not keepdim and summed < chosen:
        chosen -= 1
    return _largest(sums, chosen, False, keepdim) if ord > 0 else sums.amin(chosen, keepdim)


def _largest(values: Tensor, dim: int, sums: bool, keepdim: bool = False) -> Tensor:
    """The largest of values that are not negative, 0 if there is none; or their sum."""
    if sums or not values._array.shape[dim]:
        return values.sum(dim, keepdim)
    return values.amax(dim, keepdim)


def norm(
    A: Tensor,
    ord: float | str | None = None,  # noqa: A002 - torch's name
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """A vector norm, or a matrix norm where ``ord`` is given and two dimensions are left.

    Without ``ord`` the root of the sum of squares over ``dim``, or of all elements.
    """
    if keepdim.__class__ is not bool:
        check_tensors(norm, (A, ord, dim, keepdim))
    several = isinstance(dim, (list, tuple))
    if several and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}"
        )
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A._array.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A._array.ndim}D."
        )
    of_matrix = A._array.ndim == 2 if dim is None else several and len(dim) == 2
    if isinstance(ord, str) and not of_matrix:
        raise RuntimeError(
            f"linalg.norm: Order {ord!r} is that of a matrix, in two dimensions, but got a tensor "
            f"of shape {list(A._array.shape)} and dim {dim}"
        )
    if of_matrix:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    assert not isinstance(ord, str)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


# --- products of vectors --------------------------------------------------------------------------


def _crossed(a: Array, b: Array, dim: int) -> Array:
    """Components of the cross product, from those one and two places on."""
    first, second = np.roll(a, -1, dim), np.roll(a, -2, dim)
    made: Array = first * np.roll(b, -2, dim) - second * np.roll(b, -1, dim)
    return made


_cross = TensorOperator(
    "linalg_cross",
    lambda a, b, dim: _crossed(a, b, dim),
    {
        "a": lambda grad, a_shape, b, dim: sum_to_size(_cross(conjugate(b), grad, dim), a_shape),
        "b": lambda grad, a, b_shape, dim: sum_to_size(_cross(grad, conjugate(a), dim), b_shape),
    },
    batch=stacked(dim=after_samples),
)


@method()
def cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Cross products of vectors of three along ``dim``, by default the first of size 3."""
    shape = common_shape([input._array.shape, other._array.shape])
    if input.dtype is bool_:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    if dim is None:
        if 3 not in shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = shape.index(3)
    dim = dimension(len(shape), dim)
    for x in (input, other):
        if x._array.ndim != len(shape) or x._array.shape[dim] != 3:
            raise RuntimeError(
                "linalg.cross: inputs dimension must have the same number of dimensions and length "
                f"3 in dim {dim}. Got {list(input._array.shape)} and {list(other._array.shape)}"
            )
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type_name(input.dtype)} but found "
            f"{scalar_type_name(other.dtype)}"
        )
    return write_result("linalg.cross", _cross(input, other, dim), out)
