"""The QR decomposition of stacks of matrices: ``linalg.qr``.

Small matrices are reflected by a kernel, larger ones by NumPy's LAPACK; the gradient is made of
products and triangular systems, so it exists to every order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import return_types
from ...dispatch.policies import autocasts
from ...executor.families import decomposition
from ...executor.memory.arrays import filled_like
from ...tensor import Tensor, new_tensor
from ...transforms.batching import stacked
from ..operators.tensor_operator import TensorOperator
from ..pointwise.selection import where
from ..views.join import cat
from .lapack import by_columns
from .systems import adjoint, check_matrices, on_diagonal, solve_triangular

__all__: list[str] = []

Array = np.ndarray[Any, Any]

MODES = ("reduced", "complete", "r")


def _factors(array: Array, mode: str) -> tuple[Array, Array]:
    if decomposition.is_small(array):
        return decomposition.orthogonal(array, mode == "complete")
    # LAPACK goes by the sign of a zero too, which torch does not.
    q, r = np.linalg.qr(array + 0.0, "complete" if mode == "complete" else "reduced")
    return by_columns(q), by_columns(r)


def _added(a: Tensor | None, b: Tensor | None) -> Tensor:
    if a is None or b is None:
        made = b if a is None else a
        assert made is not None
        return made
    return a + b


def _gradient(grad: Any, mode: str, result: Tensor, result1: Tensor) -> Tensor:
    """Walter and Lehmann, *Walter's adjoint of the QR decomposition* (arXiv:1001.1654)."""
    (of_q, of_r), q, r = grad, result, result1
    rows, columns = q._array.shape[-2], r._array.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    if rows > columns:
        return _gradient_of_tall(of_q, of_r, q, r)
    return _gradient_of_wide(of_q, of_r, q, r)


def _gradient_of_wide(of_q: Tensor | None, of_r: Tensor | None, q: Tensor, r: Tensor) -> Tensor:
    """The gradient through a unitary Q. R turns with Q, whose turn is what lies below the diagonal
    of ``Q.mH @ dA @ inv(R1)``, R1 being the square part of R. Nothing that cancels is formed.
    """
    rows, columns = r._array.shape[-2:]
    turn = _added(
        None if of_q is None else adjoint(q) @ of_q,
        None if of_r is None else -(of_r @ adjoint(r)),
    )
    turn = (turn - adjoint(turn)).tril()
    turn = where(on_diagonal(turn), turn * 0.5, turn)
    made = solve_triangular(adjoint(r[..., :rows]), q @ turn, upper=False, left=False)
    if columns > rows:
        rest = made.new_zeros((*made._array.shape[:-1], columns - rows))
        made = cat([made, rest], -1)
    return made if of_r is None else made + q @ of_r


def _gradient_of_tall(of_q: Tensor | None, of_r: Tensor | None, q: Tensor, r: Tensor) -> Tensor:
    overlap = _added(
        None if of_r is None else of_r @ adjoint(r),
        None if of_q is None else -(adjoint(q) @ of_q),
    ).triu()
    both = overlap + adjoint(overlap)
    symmetric = where(on_diagonal(overlap), both * 0.5, both)
    product = _added(of_q, q @ symmetric)
    return solve_triangular(adjoint(r), product, upper=False, left=False)


def _no_gradient(grad: Tensor) -> Tensor:
    raise RuntimeError(
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
        "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
    )


_qr = TensorOperator(
    "linalg_qr", lambda A, mode: _factors(A, mode), {"A": _gradient}, batch=stacked()
)
_r = TensorOperator(
    "linalg_qr",
    lambda A: _factors(A, "reduced")[1],
    {"A": lambda grad: _no_gradient(grad)},
    batch=stacked(),
)


@autocasts("float32")
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """``Q @ R`` of matrices (..., m, n), with orthonormal columns of Q and an upper triangular R.

    Args:
        A: the matrices.
        mode: "reduced" for Q (..., m, k) and R (..., k, n) with k = min(m, n), "complete" for
            Q (..., m, m) and R (..., m, n), "r" for R alone, with an empty Q.

    Raises:
        RuntimeError: for another mode; in a backward through a complete decomposition of tall
            matrices, or through R alone.
    """
    check_matrices("linalg.qr", A, square=False)
    if mode not in MODES:
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    if mode == "r":
        empty = new_tensor(filled_like(A._array, (0,), A._array.dtype, 0))
        return return_types.linalg_qr(empty, _r(A))
    return return_types.linalg_qr(*_qr(A, mode))
