"""Inverses, systems of equations, determinants and decompositions of stacks of matrices.

NumPy's LAPACK computes them; the gradients are products of matrices and these operators again, so
they exist to every order. ``numbagrad.linalg`` shows all of them, the top namespace torch's
older names.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ... import half_precision as half
from ... import return_types
from ...autograd.grad_mode import state as grad_mode
from ...dispatch.policies import autocasts
from ...dtype import bool_, scalar_type_name
from ...executor.memory.arrays import constant_beside, values_on_host
from ...tensor import Tensor, new_tensor
from ...transforms.batching import after_samples, aligned_stacks, stacked
from ...transforms.levels import is_transformed
from ...transforms.tangents import multilinear, weighted_over
from ..arguments.shapes import common_shape, dimension
from ..complex.lazy_conj import conjugate
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..pointwise.selection import where
from ..views.expand import sum_to_size
from .lapack import determinants, signs_and_logarithms, solution, substituted, svd_of
from .lapack import inverse as inverse_of

__all__ = [
    "cross", "det", "inverse", "logdet",
    "matrix_power", "slogdet", "trace",
]  # fmt: skip

Array = np.ndarray[Any, Any]


#: The dtypes that LAPACK computes with.
LAPACK_KINDS = "fdFD"


def adjoint(matrices: Tensor) -> Tensor:
    """The conjugate transposes, computed where they differ from the transposes, which are views."""
    return conjugate(matrices).mT


# --- checks and layouts ---------------------------------------------------------------------------


def check_matrices(name: str, input: Tensor, square: bool = True) -> None:
    """Raise unless ``input`` holds matrices of real or complex floats, as the function ``name``."""
    if square:
        _check_square(name, input)
    elif input._array.ndim < 2:
        raise _too_few_dimensions(name, input)
    if input._array.dtype.char not in LAPACK_KINDS:
        raise RuntimeError(
            f"{name}: Expected a float32 or float64 tensor, or a complex one, but got "
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


def is_plain(*tensors: Tensor) -> bool:
    """Whether ndarrays are read for their values alone: neither recorded nor transformed.

    Functions that compute more than they return, so that there is a gradient, may do without.
    """
    if is_transformed(tensors) or any([x._array.__class__ is not np.ndarray for x in tensors]):
        return False
    return not (grad_mode.enabled and any([x.requires_grad for x in tensors]))


# --- inverse and systems --------------------------------------------------------------------------


def inverse_gradient(grad: Tensor, result: Tensor) -> Tensor:
    """From ``d(A^-1) = -A^-1 dA A^-1``."""
    turned = adjoint(result)
    return -(turned @ grad @ turned)


_inv = TensorOperator(
    "linalg_inv_ex",
    # The inverse of the transpose, transposed, has its columns in a row.
    lambda input: inverse_of(input),
    {"input": lambda grad, result: inverse_gradient(grad, result)},
    batch=stacked(),
    tangent=lambda operator, primals, tangents, results: (
        -(results[0] @ tangents[0] @ results[0]),
    ),
)


@autocasts("float32")
def inv(A: Tensor) -> Tensor:
    """The inverses of square matrices (..., n, n).

    Raises:
        LinAlgError: if one of them is singular.
    """
    check_matrices("linalg.inv", A)
    return _inv(A)


@method()
@autocasts("float32")
def inverse(input: Tensor) -> Tensor:
    """The inverses of square matrices; ``linalg.inv``."""
    return inv(input)


def _columns(tensor: Tensor, vectors: bool) -> Tensor:
    """Vectors as matrices of one column."""
    return tensor.unsqueeze(-1) if vectors else tensor


def _solved(A: Array, B: Array, vectors: bool) -> Array:
    right = B[..., None] if vectors else B
    made = solution(A, right)
    return made[..., 0] if vectors else made


def _solve_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    A, B, vectors = arguments
    A, B = aligned_stacks((A, _columns(B, vectors)), mapped[:2])
    made: Tensor = operator(A, B, False)
    return made.squeeze(-1) if vectors else made


def _by_matrix(shared: Tensor, A_shape: Any, vectors: bool, result: Tensor) -> Tensor:
    right = _columns(shared, vectors)
    return sum_to_size(-(right @ adjoint(_columns(result, vectors))), A_shape)


def _tangent_of_solution(operator: Any, primals: Any, tangents: Any, results: Any) -> Any:
    """From ``A dX = dB - dA X``."""
    A, _, vectors = primals
    along, right, _ = tangents
    if along is not None:
        product = along @ _columns(results[0], vectors)
        product = product.squeeze(-1) if vectors else product
        right = -product if right is None else right - product
    return (operator(A, right, vectors),)


#: The solution of equations; ``vectors`` says that the right sides have no columns.
_solve = TensorOperator(
    "linalg_solve_ex",
    lambda A, B, vectors: _solved(A, B, vectors),
    {"A": _by_matrix, "B": lambda shared, B_shape: sum_to_size(shared, B_shape)},
    shared=lambda grad, A, vectors: _solve(adjoint(A), grad, vectors),
    batch=_solve_samples,
    tangent=_tangent_of_solution,
)


def _triangular_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    A, B, upper, unit = arguments
    made: Tensor = operator(*aligned_stacks((A, B), mapped[:2]), upper, unit)
    return made


def _triangular_by_matrix(
    shared: Tensor, A_shape: Any, upper: bool, unit: bool, result: Tensor
) -> Tensor:
    return sum_to_size(_triangle(-(shared @ adjoint(result)), upper, unit), A_shape)


#: The same of triangles; the other halves of the matrices count as zeros, and diagonals as ones if
#: they are ``unit`` triangles.
_solve_triangular = TensorOperator(
    "linalg_solve_triangular",
    lambda A, B, upper, unit: substituted(A, B, upper, unit),
    {"A": _triangular_by_matrix, "B": lambda shared, B_shape: sum_to_size(shared, B_shape)},
    shared=lambda grad, A, upper, unit: _solve_triangular(adjoint(A), grad, not upper, unit),
    batch=_triangular_samples,
)


@autocasts("float32")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
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
    if not left:
        return transposed_copy(solve(A.mT, B.mT))
    _fit(A, B, vectors)
    made: Tensor = _solve(A, B, vectors)
    return made


def transposed_copy(matrices: Tensor) -> Tensor:
    """Computed matrices the other way round, as a result like any other: no view of another one."""
    return matrices.mT.clone()


def _fit(A: Tensor, B: Tensor, vectors: bool) -> None:
    """Raise unless there are as many rows on the right side as equations."""
    rows = B._array.shape[-1 if vectors else -2]
    if rows != A._array.shape[-1]:
        raise RuntimeError(
            "linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({list(A._array.shape)} and {list(B._array.shape)})"
        )
    common_shape([A._array.shape[:-2], B._array.shape[: -1 if vectors else -2]])


def _triangle(A: Tensor, upper: bool, unit: bool) -> Tensor:
    return A.triu(int(unit)) if upper else A.tril(-int(unit))


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
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
    if not left:
        turned = solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular)
        return transposed_copy(turned)
    _fit(A, B, False)
    made: Tensor = _solve_triangular(A, B, bool(upper), bool(unitriangular))
    return made


def matrix_power(input: Tensor, n: int) -> Tensor:
    """Square matrices multiplied ``n`` times; with negative ``n``, their inverses."""
    _check_square("linalg.matrix_power", input)
    if n < 0:
        return matrix_power(inv(input), -n)
    if n == 0:
        return input.clone().copy_(eye_like(input))
    made: Tensor | None = None
    square = input
    while n:  # by the binary digits of n
        if n & 1:
            made = square if made is None else made @ square
        n >>= 1
        if n:
            square = square @ square
    assert made is not None
    return made.clone() if made is input else made


method("matrix_power")(matrix_power)


# --- determinants ---------------------------------------------------------------------------------


def _cofactors(array: Array) -> Array:
    """The matrices of cofactors, by singular values: also where the determinant is zero."""
    u, s, vh = svd_of(array, True)
    others = np.stack([np.delete(s, k, -1).prod(-1) for k in range(s.shape[-1])], -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return (sign[..., None, None] * (u.conj() * others[..., None, :])) @ vh.conj()


def _cofactors_moved(array: Array, direction: Array) -> Array:
    """How the cofactors change along a direction.

    Those of a diagonal matrix S change by ``-M.T`` times the products of all but two elements of
    S, on the diagonal by the sums of these products with the other elements of M's.
    """
    u, s, vh = svd_of(array, True)
    size = range(s.shape[-1])
    rest = np.zeros_like(s, shape=array.shape)
    for row, column in itertools.combinations(size, 2):
        rest[..., row, column] = np.delete(s, (row, column), -1).prod(-1)
    rest += rest.swapaxes(-1, -2)
    moved = u.conj().swapaxes(-1, -2) @ direction @ vh.conj().swapaxes(-1, -2)
    made = -moved.swapaxes(-1, -2) * rest
    made[..., size, size] = np.einsum("...ij,...jj->...i", rest, moved)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return sign[..., None, None] * (u.conj() @ made @ vh.conj())


@array_function()
def _cofactors_of(array: Array, determinants: Array) -> Array:
    """The conjugate cofactors, in the way that the gradient of ``det`` finds them."""
    if (determinants == 0).any():
        return _cofactors(array).conj()
    inverses = _inv.forward(array).swapaxes(-1, -2)
    made: Array = determinants[..., None, None] * inverses
    return made.conj()


#: Has no gradient with respect to the matrix, and says so if one is wanted: that would be a third.
_singular_gradient_moved = TensorOperator(
    "the second gradient of det of a singular matrix",
    lambda A, direction: _cofactors_moved(A, direction),
    {
        "direction": lambda grad, A: conjugate(_singular_gradient_moved(A, conjugate(grad))),
    },
    batch=stacked(),
)
_singular_gradient = TensorOperator(
    "det of a singular matrix",
    lambda A: _cofactors(A),
    {"A": lambda grad, A: conjugate(_singular_gradient_moved(A, conjugate(grad)))},
    batch=stacked(),
)


def _det_gradient(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    if is_transformed((A, result)):
        return (grad * conjugate(result))[..., None, None] * adjoint(inv(A))
    if not grad_mode.enabled:
        cofactors = new_tensor(_cofactors_of(A._array, result._array))
        return grad[..., None, None] * cofactors
    reader = "the gradient of det(), which asks whether a matrix is singular"
    singular = (values_on_host(result._array, reader) == 0).any()
    inverses = None if singular else inv(A)
    if inverses is None or _nearly_singular(
        *(values_on_host(x._array, reader) for x in (A, inverses))
    ):
        return grad[..., None, None] * conjugate(_singular_gradient(A))
    return (grad * conjugate(result))[..., None, None] * adjoint(inverses)


def _nearly_singular(array: Array, inverses: Array) -> bool:
    """Whether the derivative of a determinant times an inverse would be rounding alone."""
    condition = np.multiply(*(np.abs(x).sum(-2).max(-1, initial=0) for x in (array, inverses)))
    return bool((condition * np.finfo(array.dtype).eps ** 0.5 > 1).any())


_det = TensorOperator(
    "linalg_det",
    lambda A: determinants(A),
    {"A": _det_gradient},
    batch=stacked(),
    tangent=lambda operator, primals, *rest: weighted_over(
        3 << (primals[0]._array.ndim - 2), False, operator, primals, *rest
    ),
)


@method()
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices (..., n, n)."""
    check_matrices("linalg.det", input)
    return _det(input)


def linalg_det(A: Tensor) -> Tensor:
    """The determinants of square matrices (..., n, n)."""
    return det(A)


linalg_det.__name__ = linalg_det.__qualname__ = "det"


def _slogdet_gradient(grad: Any, A: Tensor, result: Tensor) -> Tensor | None:
    """From ``d log det A = tr(A^-1 dA)``: the real part is that of the logarithm of the size.

    The sign of a complex determinant turns by the imaginary part; that of a real one stands still.
    """
    of_sign, of_size = grad
    if A._array.dtype.kind != "c":
        return None if of_size is None else of_size[..., None, None] * inv(A).mT
    total = None if of_sign is None else (of_sign * conjugate(result)).imag * 1j
    if of_size is not None:
        total = of_size if total is None else total + of_size
    return None if total is None else total[..., None, None] * adjoint(inv(A))


_slogdet = TensorOperator(
    "linalg_slogdet",
    lambda A: signs_and_logarithms(A),
    {"A": lambda grad, A, result: _slogdet_gradient(grad, A, result)},
    batch=stacked(),
)


@method()
def slogdet(A: Tensor) -> Any:
    """Signs and logarithms of the absolute values of the determinants of square matrices."""
    check_matrices("linalg.slogdet", A)
    return return_types.slogdet(*_slogdet(A))


@method()
def logdet(input: Tensor) -> Tensor:
    """Logarithms of the determinants of square matrices; NaN where they are real and negative."""
    sign, logabsdet = slogdet(input)
    if sign._array.dtype.kind == "c":
        made: Tensor = pointwise("log")(sign) + logabsdet
        return made
    return where(pointwise("lt")(sign, 0), math.nan, logabsdet)


_trace = TensorOperator(
    "trace",
    lambda input: np.asarray(
        np.add.reduce(
            input.diagonal(), dtype=input.dtype if input.dtype.kind in "fcV" else np.int64
        )
    ),
    {"input": lambda grad, input_shape: _on_diagonal_alone(grad, input_shape)},
    batch=lambda operator, size, arguments, mapped: arguments[0].diagonal(0, 1, 2).sum(1),
    tangent=multilinear,
)


def _on_diagonal_alone(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient without dimensions on the diagonal of a matrix of zeros."""
    diagonal = new_tensor(constant_beside(grad._array, np.eye(shape[0], shape[1], dtype=bool)))
    return where(diagonal, grad, 0)  # a product would be NaN where the gradient is infinite


@method()
@autocasts("float32")
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; of integers in int64."""
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    if input._array.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'; convert with .long()")
    return _trace(input)


def eye_like(matrix: Tensor) -> Tensor:
    size = matrix._array.shape[-1]
    return new_tensor(
        constant_beside(matrix._array, half.converted(np.eye(size), matrix._array.dtype))
    )


def on_diagonal(matrices: Tensor) -> Tensor:
    """True on the diagonal of square matrices as large as the last dimension."""
    return new_tensor(
        constant_beside(matrices._array, np.eye(matrices._array.shape[-1], dtype=bool))
    )


# --- products of vectors --------------------------------------------------------------------------


def _crossed(a: Array, b: Array, dim: int) -> Array:
    """Components of the cross product, from those one and two places on."""
    places = [(slice(None),) * dim + (k,) for k in (0, 1, 2)]
    first, second = [[x[place] for place in places] for x in (a, b)]
    shape = a.shape if a.shape == b.shape else common_shape([a.shape, b.shape])
    made: Array = np.empty_like(a, order="C", shape=shape)
    for k, place in enumerate(places):
        one, other = (k + 1) % 3, (k + 2) % 3
        made[place] = first[one] * second[other] - first[other] * second[one]
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
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
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
    return _cross(input, other, dim)
