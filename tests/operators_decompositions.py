"""Entries of decompositions, pseudoinverses and what is built from them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from operator_rows import normal, row
from operators_products import definite, regular

_matrices = functools.partial(row, dtypes="matrix", tolerance=2e-4)
_square, _tall, _wide = normal(2, 3, 3), normal(2, 4, 3), normal(2, 3, 5)


# --- LU -------------------------------------------------------------------------------------------


def plu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A permutation, L and U, by elimination with the largest pivots."""
    if x.ndim > 2:
        parts = [plu(matrix) for matrix in x]
        return tuple(np.stack(each) for each in zip(*parts, strict=True))
    rows, columns = x.shape
    size = min(rows, columns)
    order, upper, lower = np.arange(rows), x.astype(np.float64), np.zeros((rows, rows))
    for k in range(size):
        best = k + np.abs(upper[k:, k]).argmax()
        for array in (order, upper, lower):
            array[[k, best]] = array[[best, k]]
        lower[k + 1 :, k] = upper[k + 1 :, k] / upper[k, k]
        upper[k + 1 :] -= np.outer(lower[k + 1 :, k], upper[k])
    return np.eye(rows)[:, order], (lower + np.eye(rows))[:, :size], upper[:size]


for _case, _input in (("square", _square), ("tall", _tall), ("wide", _wide)):
    _matrices("lu_unpack", lambda t, x: tuple(t.linalg.lu(x))[1:], _input,
              lambda x: tuple(part.astype(x.dtype) for part in plu(x)[1:]), case=_case)  # fmt: skip
    _matrices("lu", lambda t, x: t.lu(x)[0], _input,
              lambda x: packed(*plu(x)[1:]).astype(x.dtype), case=_case)  # fmt: skip
_matrices("lu_unpack", lambda t, x: t.lu_unpack(*t.lu(x))[0], _square,
          lambda x: plu(x)[0].astype(x.dtype), differentiable=False, case="rows")  # fmt: skip


def packed(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """L and U in one stack."""
    rows, columns = lower.shape[-2], upper.shape[-1]
    made = np.zeros((*lower.shape[:-2], rows, columns))
    made[..., :, : lower.shape[-1]] += np.tril(lower, -1)
    made[..., : upper.shape[-2], :] += upper
    return made


def solved_by_lu(left: bool, adjoint: bool) -> Any:
    """``linalg.lu_solve`` of a regular matrix."""
    return lambda t, x, b: t.linalg.lu_solve(
        *t.linalg.lu_factor(regular(t, x)), b, left=left, adjoint=adjoint
    )


def by_numpy(left: bool, adjoint: bool) -> Any:
    """The same by NumPy."""

    def reference(x: np.ndarray, b: np.ndarray) -> np.ndarray:
        a = regular(np, x)
        a = a.swapaxes(-1, -2) if adjoint else a
        return np.linalg.solve(a, b) if left else b @ np.linalg.inv(a)

    return reference


for _left in (True, False):
    for _adjoint in (True, False):
        _matrices("lu_solve", solved_by_lu(_left, _adjoint), (_square, normal(2, 3, 3)),
                  by_numpy(_left, _adjoint), case=f"{_left}-{_adjoint}")  # fmt: skip
_matrices("lu_solve", lambda t, x, b: t.lu_solve(b, *t.lu(regular(t, x))),
          (_square, normal(2, 3, 1)), lambda x, b: np.linalg.solve(regular(np, x), b),
          case="older")  # fmt: skip


# --- pseudoinverses and least squares -------------------------------------------------------------

for _case, _input in (("square", _square), ("tall", _tall), ("wide", _wide)):
    _matrices("pinverse", lambda t, x: t.pinverse(x), _input, np.linalg.pinv, case=_case)
    _matrices("linalg_lstsq", lambda t, x, b: t.linalg.lstsq(x, b)[0],
              (_input, normal(2, _input.shape[1], 2)), lambda x, b: np.linalg.pinv(x) @ b,
              case=_case)  # fmt: skip
    _matrices("linalg_cond", lambda t, x: t.linalg.cond(x), _input, np.linalg.cond, case=_case)
_matrices("linalg_pinv", lambda t, x: t.linalg.pinv(definite(t, x), hermitian=True), _square,
          lambda x: np.linalg.pinv(definite(np, x)), case="hermitian")  # fmt: skip
_matrices("linalg_lstsq", lambda t, x, b: t.linalg.lstsq(x, b)[0], (normal(4, 3), normal(4)),
          lambda x, b: np.linalg.pinv(x) @ b, case="vector")  # fmt: skip
_matrices("linalg_lstsq", lambda t, x, b: t.linalg.lstsq(x, b, driver="gelsd")[1],
          (_tall, normal(2, 4, 2)),
          lambda x, b: ((x @ (np.linalg.pinv(x) @ b) - b) ** 2).sum(-2),
          case="residuals")  # fmt: skip
_matrices("linalg_matrix_rank", lambda t, x: t.linalg.matrix_rank(x * 1.0, atol=2.5), _tall,
          lambda x: np.linalg.matrix_rank(x, 2.5), differentiable=False)  # fmt: skip
for _norm in ("fro", "nuc", 1, -1, np.inf, -np.inf, -2):
    _matrices("linalg_cond", lambda t, x, p=_norm: t.linalg.cond(regular(t, x), p), _square,
              lambda x, p=_norm: np.linalg.cond(regular(np, x), p), case=str(_norm))  # fmt: skip


# --- functions of matrices ------------------------------------------------------------------------


def exponential(x: np.ndarray) -> np.ndarray:
    """The exponential series of a sixteenth, squared four times."""
    term = made = np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    for n in range(1, 40):
        term = term @ (x / 16) / n
        made = made + term
    for _ in range(4):
        made = made @ made
    return made.astype(x.dtype)


_matrices("matrix_exp", lambda t, x: t.matrix_exp(x), _square, exponential)
_matrices("matrix_exp", lambda t, x: t.linalg.matrix_exp((x - x.mT) * 4), normal(3, 3),
          lambda x: exponential((x - x.T) * 4), case="squared")  # fmt: skip


def parts(t: Any, x: Any) -> Any:
    """Real and imaginary parts."""
    return t.view_as_real(x)


def parts_of_array(x: np.ndarray) -> np.ndarray:
    """The same of an array."""
    return np.stack([x.real, x.imag], -1)


_matrices("linalg_eigvals", lambda t, x: parts(t, 2 * t.linalg.eigvals(x)), _square,
          lambda x: parts_of_array(2 * np.linalg.eigvals(x)))  # fmt: skip
_matrices("linalg_eig", lambda t, x: (parts(t, t.linalg.eig(x)[0]), t.linalg.eig(x)[1].abs()),
          _square,
          lambda x: (parts_of_array(np.linalg.eig(x)[0]),
                     np.abs(np.linalg.eig(x)[1])))  # fmt: skip
_matrices("linalg_tensorinv",
          lambda t, x: t.linalg.tensorinv(regular(t, x).reshape(2, 3, 3, 2), 2), normal(6, 6),
          lambda x: np.linalg.tensorinv(regular(np, x).reshape(2, 3, 3, 2), 2))  # fmt: skip
_matrices("linalg_tensorsolve",
          lambda t, x, b: t.linalg.tensorsolve(regular(t, x).reshape(2, 3, 6), b),
          (normal(6, 6), normal(2, 3)),
          lambda x, b: np.linalg.tensorsolve(regular(np, x).reshape(2, 3, 6), b))  # fmt: skip
_matrices("linalg_tensorsolve",
          lambda t, x, b: t.linalg.tensorsolve(regular(t, x).reshape(2, 6, 3), b, (1,)),
          (normal(6, 6), normal(2, 3)),
          lambda x, b: np.linalg.tensorsolve(regular(np, x).reshape(2, 6, 3), b, (1,)),
          case="moved")  # fmt: skip
row("vander", lambda t, x: t.vander(x), normal(4), np.vander, dtypes="matrix")
row("vander", lambda t, x: t.vander(x, 3, increasing=True), normal(4),
    lambda x: np.vander(x, 3, True), dtypes="matrix", case="increasing")  # fmt: skip
row("linalg_vander", lambda t, x: t.linalg.vander(x, N=3), normal(2, 4),
    lambda x: np.stack([np.vander(line, 3, True) for line in x]), dtypes="matrix")  # fmt: skip


# --- reflections ----------------------------------------------------------------------------------


def reflections(x: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The product of reflections, one after another."""
    rows = x.shape[-2]
    made = np.broadcast_to(np.eye(rows), (*x.shape[:-2], rows, rows))
    for k in range(tau.shape[-1]):
        v = np.where(np.arange(rows) > k, x[..., k], 0.0)
        v[..., k] = 1
        made = made - (made @ v[..., None]) * v[..., None, :] * tau[..., k, None, None]
    return made.astype(x.dtype)


_matrices("orgqr", lambda t, x, tau: t.linalg.householder_product(x, tau), (_tall, normal(2, 2)),
          lambda x, tau: reflections(x, tau)[..., :3])  # fmt: skip
for _left in (True, False):
    for _turned in (True, False):

        def _by_definition(
            x: np.ndarray, tau: np.ndarray, other: np.ndarray, left: bool = _left,
            turned: bool = _turned,
        ) -> np.ndarray:  # fmt: skip
            q = reflections(x, tau)
            q = q.T if turned else q
            return q @ other if left else other @ q

        _matrices(
            "ormqr",
            lambda t, x, tau, other, left=_left, turned=_turned: t.ormqr(
                x, tau, other, left, turned
            ),
            (normal(4, 3), normal(3), normal(4, 2) if _left else normal(2, 4)),
            _by_definition,
            case=f"{_left}-{_turned}",
        )


# --- older arguments ------------------------------------------------------------------------------


def triangle(t: Any, x: Any, upper: bool) -> Any:
    """A triangle with a dominating diagonal."""
    made = regular(t, x)
    return (t.triu if upper else t.tril)(made)


for _upper in (True, False):
    _matrices("cholesky_solve",
              lambda t, b, x, upper=_upper: t.cholesky_solve(b, triangle(t, x, upper), upper),
              (normal(2, 3, 2), _square),
              lambda b, x, upper=_upper: np.linalg.solve(gram(x, upper), b),
              case=str(_upper))  # fmt: skip
    _matrices("cholesky_inverse",
              lambda t, x, upper=_upper: t.cholesky_inverse(triangle(t, x, upper), upper), _square,
              lambda x, upper=_upper: np.linalg.inv(gram(x, upper)), case=str(_upper))  # fmt: skip
    for _turned in (True, False):
        _matrices(
            "triangular_solve",
            lambda t, b, x, upper=_upper, turned=_turned: t.triangular_solve(
                b, regular(t, x), upper, turned
            )[0],
            (normal(2, 3, 2), _square),
            lambda b, x, upper=_upper, turned=_turned: np.linalg.solve(
                triangle(np, x, upper).swapaxes(-1, -2) if turned else triangle(np, x, upper), b
            ),
            case=f"{_upper}-{_turned}",
        )


def gram(x: np.ndarray, upper: bool) -> np.ndarray:
    """What a triangular factor is one of."""
    factor = triangle(np, x, upper)
    turned = factor.swapaxes(-1, -2)
    return turned @ factor if upper else factor @ turned


def singular_parts(u: Any, s: Any, vh: Any) -> Any:
    """What does not depend on the signs of singular vectors."""
    return s, abs(u), abs(vh)


_matrices("svd", lambda t, x: singular_parts(*[p.mT if k == 2 else p for k, p in enumerate(
    t.svd(x))]), _tall, lambda x: singular_parts(*np.linalg.svd(x, False)))  # fmt: skip
_matrices("svd", lambda t, x: t.svd(x, compute_uv=False)[1], _wide,
          lambda x: np.linalg.svd(x)[1], case="values")  # fmt: skip
_matrices("linalg_svd", lambda t, x: (t.linalg.svd(x)[1], t.linalg.svd(x)[0].abs(),
                                      t.linalg.svd(x)[2][..., :3, :].abs()), _wide,
          lambda x: (np.linalg.svd(x)[1], np.abs(np.linalg.svd(x)[0]),
                     np.abs(np.linalg.svd(x)[2][..., :3, :])), case="full")  # fmt: skip
_matrices("qr", lambda t, x: t.qr(x)[1].abs(), _tall,
          lambda x: np.abs(np.linalg.qr(x)[1]))  # fmt: skip
_matrices("linalg_cholesky_ex", lambda t, x: t.linalg.cholesky_ex(definite(t, x))[0], _square,
          lambda x: np.linalg.cholesky(definite(np, x)))  # fmt: skip
_matrices("linalg_inv_ex", lambda t, x: t.linalg.inv_ex(regular(t, x))[0], _square,
          lambda x: np.linalg.inv(regular(np, x)))  # fmt: skip
_matrices("linalg_solve_ex", lambda t, x, b: t.linalg.solve_ex(regular(t, x), b)[0],
          (_square, normal(2, 3, 2)), lambda x, b: np.linalg.solve(regular(np, x), b))  # fmt: skip
