"""Pseudoinverses, least squares, ranks and condition numbers of stacks of matrices.

NumPy's LAPACK computes them; gradients are products of matrices, so they exist to every order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import return_types
from ...backend import home_of
from ...dispatch.policies import autocasts
from ...dtype import int64, scalar_type_name
from ...executor.memory.arrays import constant_beside, filled_like
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks, stacked, with_samples
from ...transforms.levels import is_transformed
from ..arguments.kinds import takes
from ..arguments.shapes import common_shape
from ..creation.filled import zeros
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator
from ..pointwise.functions import maximum
from ..pointwise.selection import where
from ..views.expand import sum_to_size
from ..views.view import unsafe_view
from .decompositions import eigvalsh, svdvals
from .lapack import by_columns, svd_of
from .matrix_norms import matrix_norm
from .systems import LAPACK_KINDS, adjoint, check_matrices, inv

__all__ = ["pinverse"]

Array = np.ndarray[Any, Any]

#: The drivers of LAPACK that torch names; here they say what is returned besides the solution.
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


# --- pseudoinverses -------------------------------------------------------------------------------


def _tolerances(shape: tuple[int, ...], kind: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """The absolute and the relative tolerance; each may be a number or a Tensor."""
    if rtol is None:
        relative = max(shape[-2:]) * float(np.finfo(kind).eps)
        if atol is None:
            rtol = relative
        elif isinstance(atol, Tensor):
            rtol = where(atol > 0, 0.0, relative)
        else:
            rtol = 0.0 if atol > 0 else relative
    return (0.0 if atol is None else atol), rtol


def _pinv_forward(A: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
    if A.size == 0:
        return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    if hermitian:
        values, vectors = np.linalg.eigh(A)
        left, right, values = vectors, _adjoint(vectors), values
    else:
        left, values, right = svd_of(A)
    sizes = np.abs(values)
    least = np.maximum(np.asarray(atol), np.asarray(rtol) * sizes.max(-1))
    kept = sizes > least[..., None]
    inverses = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(A.dtype)
    made: Array = _adjoint(right) @ (inverses[..., None] * _adjoint(left))
    return made


def _adjoint(array: Array) -> Array:
    return array.conj().swapaxes(-1, -2)


def _pinv_gradient(grad: Tensor, A: Tensor, P: Tensor) -> Tensor:
    """Golub and Pereyra, *The differentiation of pseudo-inverses* (1973), transposed.

    ``dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P``, at matrices of constant rank.
    """
    across = adjoint(P)
    made = -(across @ grad @ across)
    turned = adjoint(grad)
    rows, columns = A._array.shape[-2:]
    if rows >= columns:  # products of the smaller side first
        left = turned @ P
        right = across @ P @ turned
        return made + (left - A @ (P @ left)) @ across + right - (right @ P) @ A
    left = turned @ (P @ across)
    right = across @ (P @ turned)
    return made + left - A @ (P @ left) + right - (right @ P) @ A


_pinv = TensorOperator(
    "linalg_pinv",
    lambda A, atol, rtol, hermitian: _pinv_forward(A, atol, rtol, hermitian),
    {"A": lambda grad, A, result: _pinv_gradient(grad, A, result)},
    batch=stacked(),
)


def _numbers(value: Any) -> Any:
    """A tolerance as NumPy takes it."""
    return value._array if isinstance(value, Tensor) else float(value)


def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The Moore-Penrose pseudoinverses (..., n, m) of matrices (..., m, n).

    Args:
        A: the matrices.
        rcond: torch's older name of ``rtol``.
        atol: singular values count that are larger than this and
        rtol: larger than this times the largest one. Numbers or Tensors; by default the larger side
            times the precision of the dtype, or zero where ``atol`` is given.
        hermitian: whether the matrices are Hermitian, so that eigenvalues tell.

    Raises:
        RuntimeError: for what holds no matrices of floats.
    """
    if A._array.ndim < 2 or A._array.dtype.char not in LAPACK_KINDS:
        raise RuntimeError(
            f"linalg.pinv({scalar_type_name(A.dtype)}{{{list(A._array.shape)}}}): expected a "
            "tensor with 2 or more dimensions of float, double, cfloat or cdouble types"
        )
    if hermitian:
        check_matrices("linalg.eigh", A)
    if rcond is not None:
        rtol = rcond
    atol, rtol = _tolerances(A._array.shape, A._array.dtype, atol, rtol)
    made = _pinv(A, _numbers(atol), _numbers(rtol), hermitian)
    return made


@method()
@autocasts("float32")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """``linalg.pinv`` with a relative tolerance."""
    return pinv(input, rtol=rcond)


# --- ranks and conditions -------------------------------------------------------------------------


@autocasts("float32")
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """How many singular values are above the tolerances of ``pinv``, as int64.

    ``tol`` is torch's older name of ``atol``, and ``rtol`` is zero with it.
    """
    if A._array.ndim < 2:
        raise RuntimeError(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
        )
    check_matrices("linalg.matrix_rank", A, square=hermitian)
    if tol is not None:
        atol, rtol = tol, 0.0
    atol, rtol = _tolerances(A._array.shape, A._array.dtype, atol, rtol)
    input = A.detach()
    if min(A._array.shape[-2:]) == 0:
        made = zeros(A._array.shape[:-2], dtype=int64, device=A.device)
        return made
    values = eigvalsh(input).abs() if hermitian else svdvals(input)
    least = values.amax(-1) * rtol
    least = maximum(least, atol) if isinstance(atol, Tensor) else least.clamp_min(atol)
    return (values > least.unsqueeze(-1)).sum(-1)


def _no_condition(A: Tensor) -> Tensor:
    """The condition numbers of matrices without elements: zeros, real ones of complex matrices."""
    return zeros(A._array.shape[:-2], dtype=A.real.dtype, device=A.device)


@takes("A: Tensor, p?: Number | str | None")
@autocasts("float32")
def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition numbers of matrices: the norm of each times that of its inverse.

    Args:
        A: the matrices, square unless ``p`` is None, 2 or -2.
        p: the norm: None or 2 for the largest singular value over the smallest, -2 the other way
            round; "fro", "nuc", ±inf or ±1. Of a singular matrix infinite.

    Raises:
        RuntimeError: for other norms.
    """
    if p is None or (not isinstance(p, str) and p in (2, -2)):
        check_matrices("linalg.cond", A, square=False)
        if A._array.size == 0:
            return _no_condition(A)
        values = svdvals(A)
        first, last = values[..., 0], values[..., -1]
        made = last / first if p == -2 else first / last
        return made
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_matrices(f"linalg.cond(ord={p})", A)
    if A._array.size == 0:
        return _no_condition(A)
    singular = _is_singular(A)
    # A singular matrix has an identity in its place, whose inverse nobody looks at.
    eye = new_tensor(constant_beside(A._array, np.eye(A._array.shape[-1], dtype=A._array.dtype)))
    inverse = inv(where(singular[..., None, None], eye, A))
    made = matrix_norm(A, p) * matrix_norm(inverse, p)
    return where(singular, math.inf, made)


_is_singular = TensorOperator(
    "is_singular",
    lambda A: np.asarray(np.linalg.det(A) == 0),
    {},
    batch=stacked(),
)


# --- least squares --------------------------------------------------------------------------------


def _lstsq_forward(A: Array, B: Array, rcond: float) -> tuple[Array, Array, Array]:
    """Solutions, ranks and singular values, broadcast over the leading dimensions."""
    u, s, vh = svd_of(A, name="torch.linalg.lstsq")
    kept = s > rcond * s[..., :1]
    inverses = np.where(kept, 1 / np.where(kept, s, 1), 0)[..., None]
    made = _adjoint(vh) @ (inverses * (_adjoint(u) @ B))
    rank = np.broadcast_to(kept.sum(-1), A.shape[:-2]).copy()
    return by_columns(made.astype(A.dtype)), rank, s


def _samples_of_lstsq(operator: Any, size: int, arguments: Any, mapped: Any) -> Any:
    A, B, rcond = arguments
    A = with_samples(size, A, mapped[0])  # ranks are those of A
    return operator(*aligned_stacks((A, B), (True, mapped[1])), rcond)


def _by_matrix(grad: Any, A: Tensor, B: Tensor, shared: Any) -> Any:
    if shared is None:
        return None
    return sum_to_size(_pinv_gradient(grad[0] @ adjoint(B), A, shared), A._array.shape)


def _by_right(grad: Any, B_shape: Any, shared: Any) -> Any:
    return None if shared is None else sum_to_size(adjoint(shared) @ grad[0], B_shape)


_lstsq = TensorOperator(
    "linalg_lstsq",
    lambda A, B, rcond: _lstsq_forward(A, B, rcond),
    {"A": _by_matrix, "B": _by_right},
    shared=lambda grad, A, rcond: None if grad[0] is None else _pinv(A, 0.0, rcond, False),
    batch=_samples_of_lstsq,
)


def _twice_left(grad: Tensor, A: Tensor, solution: Tensor, right: Tensor) -> Tensor:
    """The gradient of what is left of each equation."""
    return (A @ solution - right) * (2 * grad.unsqueeze(-2))


#: The sums of squares that are left. In torch they are another output of the node of the solution.
_squares_left = TensorOperator(
    "linalg_lstsq",
    lambda A, solution, right: np.square(np.abs(A @ solution - right)).sum(-2),
    {
        "A": lambda grad, A, solution, right: sum_to_size(
            _twice_left(grad, A, solution, right) @ adjoint(solution), A._array.shape
        ),
        "solution": lambda grad, A, solution, right: sum_to_size(
            adjoint(A) @ _twice_left(grad, A, solution, right), solution._array.shape
        ),
        "right": lambda grad, A, solution, right: sum_to_size(
            -_twice_left(grad, A, solution, right), right._array.shape
        ),
    },
)
#: Where none are computed: empty, but with the history of the solution.
_nothing_left = TensorOperator(
    "linalg_lstsq",
    lambda solution: solution.real.reshape(-1)[:0].copy(),
    {"solution": lambda grad, solution: solution * 0},
)


def _check_lstsq(A: Tensor, B: Tensor, vectors: bool, driver: str | None) -> None:
    name = "torch.linalg.lstsq"
    if A._array.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B._array.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype is not B.dtype:
        names = [scalar_type_name(x.dtype) for x in (A, B)]
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{names[0]} and other's dtype {names[1]}"
        )
    check_matrices("linalg.lstsq", A, square=False)
    if A._array.ndim - B._array.ndim not in (0, 1):
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
            f"other.dim()) <= 1, but got {A._array.ndim} and {B._array.ndim} dimensions"
        )
    dim = -1 if vectors else -2
    if B._array.shape[dim] != A._array.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({dim})")
    if driver is not None and driver not in DRIVERS:
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )


@autocasts("float32")
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """X with the least ``norm(A @ X - B)``, and of those the least X; by singular values.

    Args:
        A: matrices (..., m, n).
        B: (..., m, k), or vectors: of the shape of A without its last dimension.
        rcond: singular values count that are larger than this times the largest one; by default
            the larger side times the precision of the dtype.
        driver: which of LAPACK's functions torch would call, which decides what is returned; by
            default "gelsy", and "gels" on other devices than the CPU, as in torch.

    Returns:
        The solution; the sums of squares that are left, unless "gelsy", if there are more equations
        than unknowns and all matrices have full rank, else empty; the ranks, unless "gels"; the
        singular values for "gelsd" and "gelss". The solution and the squares are differentiable, at
        matrices of constant rank.

    Raises:
        RuntimeError: for shapes, dtypes or drivers that do not fit.
    """
    shape = A._array.shape
    vectors = B._array.ndim == len(shape) - 1
    _check_lstsq(A, B, vectors, driver)
    driver = driver or ("gelsy" if home_of(A._array) is None else "gels")
    right = B.unsqueeze(-1) if vectors else B
    common_shape([shape[:-2], right._array.shape[:-2]])
    if rcond is None:
        rcond = max(shape[-2:]) * float(np.finfo(A._array.dtype).eps)
    solution, rank, values = _lstsq(A, right, float(rcond))
    kind = A._array.real.dtype
    apart = is_transformed(solution)
    empty = new_tensor(filled_like(A._array, (0,), kind, 0))
    residuals = empty if apart else _nothing_left(solution)
    if driver != "gelsy" and shape[-2] > shape[-1]:
        # Of samples nobody can ask: they have to be of full rank.
        if driver == "gels" or is_transformed(rank) or bool((rank == shape[-1]).all()):
            if apart:
                residuals = (A @ solution - right).abs().square().sum(-2)
            else:
                residuals = _squares_left(A, solution, right)
    if driver == "gels":
        rank = new_tensor(filled_like(A._array, (0,), np.dtype(np.int64), 0))
    if driver not in ("gelsd", "gelss"):
        values = empty
    else:
        values = values.detach()
    solution = unsafe_view(solution, solution._array.shape[:-1]) if vectors else solution
    return return_types.linalg_lstsq(solution, residuals, rank, values)
