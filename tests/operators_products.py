"""Entries of matrix products, linear algebra and distances."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from operator_rows import (
    normal,
    row,
    same_function,
)

_products = functools.partial(row, dtypes="number", tolerance=1e-5)
_products("mm", same_function("mm"), (normal(3, 4), normal(4, 2)), np.matmul)
_products("bmm", same_function("bmm"), (normal(2, 3, 4), normal(2, 4, 2)), np.matmul)
_products("mv", same_function("mv"), (normal(3, 4), normal(4)), np.matmul)
_products("dot", same_function("dot"), (normal(5), normal(5)), np.dot)
_products("vdot", same_function("vdot"), (normal(5), normal(5)), np.dot)
_products("outer", same_function("outer"), (normal(3), normal(4)), np.outer)
_products("ger", same_function("ger"), (normal(3), normal(4)), np.outer)
_products("inner", same_function("inner"), (normal(2, 4), normal(3, 4)), np.inner)
for _case, _a, _b in [
    ("vectors", (4,), (4,)),
    ("matrix-vector", (3, 4), (4,)),
    ("vector-matrix", (4,), (4, 2)),
    ("matrices", (3, 4), (4, 2)),
    ("batch-matrix", (2, 3, 4), (4, 2)),
    ("matrix-batch", (3, 4), (2, 4, 2)),
    ("batch-vector", (2, 3, 4), (4,)),
    ("vector-batch", (4,), (2, 4, 3)),
    ("batches-broadcast", (2, 1, 3, 4), (3, 4, 2)),
]:
    _products("matmul", same_function("matmul"), (normal(*_a), normal(*_b)), np.matmul, case=_case)
_products(
    "tensordot",
    same_function("tensordot", dims=1),
    (normal(2, 3, 4), normal(4, 2)),
    lambda a, b: np.tensordot(a, b, 1),
    dtypes="float",
)
_products(
    "tensordot",
    same_function("tensordot", dims=([0, 2], [2, 0])),
    (normal(2, 3, 4), normal(4, 3, 2)),
    lambda a, b: np.tensordot(a, b, ([0, 2], [2, 0])),
    dtypes="float",
    case="pairs",
)
row("kron", same_function("kron"), (normal(2, 3), normal(4, 1)), np.kron)
row("kron", same_function("kron"), (normal(3), normal(2, 2)), np.kron, case="ranks")
_scaled = {"beta": 2, "alpha": 3}
_products(
    "addmm",
    same_function("addmm", **_scaled),
    (normal(3, 2), normal(3, 4), normal(4, 2)),
    lambda x, a, b: 2 * x + 3 * (a @ b),
)
_products(
    "addmm",
    same_function("addmm"),
    (normal(2), normal(3, 4), normal(4, 2)),
    lambda x, a, b: x + a @ b,
    case="bias",
)
_products(
    "addmv",
    same_function("addmv", **_scaled),
    (normal(3), normal(3, 4), normal(4)),
    lambda x, a, b: 2 * x + 3 * (a @ b),
)
_products(
    "addr",
    same_function("addr", **_scaled),
    (normal(3, 4), normal(3), normal(4)),
    lambda x, a, b: 2 * x + 3 * np.outer(a, b),
)
_products(
    "baddbmm",
    same_function("baddbmm", **_scaled),
    (normal(2, 3, 2), normal(2, 3, 4), normal(2, 4, 2)),
    lambda x, a, b: 2 * x + 3 * (a @ b),
)
_products(
    "addbmm",
    same_function("addbmm", **_scaled),
    (normal(3, 2), normal(2, 3, 4), normal(2, 4, 2)),
    lambda x, a, b: 2 * x + 3 * (a @ b).sum(0),
)
_products(
    "chain_matmul",
    same_function("chain_matmul"),
    (normal(2, 3), normal(3, 4), normal(4, 2)),
    lambda a, b, c: a @ b @ c,
    dtypes="float",
)

# Linear algebra. Matrices are made regular, and symmetric ones positive definite.


def regular(t: Any, x: Any) -> Any:
    """Matrices with a dominating diagonal."""
    return x + 9 * t.eye(x.shape[-1], dtype=x.dtype)


def definite(t: Any, x: Any) -> Any:
    """Symmetric (of complex numbers, Hermitian) matrices with positive eigenvalues."""
    other = x.mT if hasattr(x, "mT") else x.swapaxes(-1, -2)
    if "complex" in str(x.dtype):
        other = other.conj()
    return x @ other + t.eye(x.shape[-1], dtype=x.dtype)


_matrices = functools.partial(row, dtypes="matrix", tolerance=1e-4)
_square = normal(2, 3, 3)
_matrices("inverse", lambda t, x: t.inverse(regular(t, x)), _square,
          lambda x: np.linalg.inv(regular(np, x)), covers=("linalg_inv",))  # fmt: skip
_matrices("det", lambda t, x: t.det(regular(t, x)), _square,
          lambda x: np.linalg.det(regular(np, x)))  # fmt: skip
_matrices("slogdet", lambda t, x: tuple(t.slogdet(regular(t, x))), _square,
          lambda x: tuple(np.linalg.slogdet(regular(np, x))))  # fmt: skip
_matrices("logdet", lambda t, x: t.logdet(regular(t, x)), _square,
          lambda x: np.linalg.slogdet(regular(np, x))[1])  # fmt: skip
_matrices("cholesky", lambda t, x: t.linalg.cholesky(definite(t, x)), _square,
          lambda x: np.linalg.cholesky(definite(np, x)))  # fmt: skip
_matrices("cholesky_solve", lambda t, x, y: t.cholesky_solve(y, t.linalg.cholesky(definite(t, x))),
          (normal(3, 3), normal(2, 3, 2)),
          lambda x, y: np.linalg.solve(definite(np, x), y))  # fmt: skip
_matrices("cholesky_solve",
          lambda t, x, y: y.cholesky_solve(t.linalg.cholesky(definite(t, x), upper=True), True),
          (_square, normal(2, 3, 1)), lambda x, y: np.linalg.solve(definite(np, x), y),
          case="upper")  # fmt: skip
_matrices("cholesky_inverse", lambda t, x: t.cholesky_inverse(t.linalg.cholesky(definite(t, x))),
          _square, lambda x: np.linalg.inv(definite(np, x)))  # fmt: skip
_matrices("linalg_solve", lambda t, x, y: t.linalg.solve(regular(t, x), y), (_square, normal(3, 2)),
          lambda x, y: np.linalg.solve(regular(np, x), y))  # fmt: skip
_matrices("linalg_solve", lambda t, x, y: t.linalg.solve(regular(t, x), y),
          (normal(3, 3), normal(3)), lambda x, y: np.linalg.solve(regular(np, x), y),
          case="vector")  # fmt: skip
_matrices("linalg_solve_triangular",
          lambda t, x, y: t.linalg.solve_triangular(regular(t, x), y, upper=True),
          (normal(3, 3), normal(3, 2)),
          lambda x, y: np.linalg.solve(np.triu(regular(np, x)), y))  # fmt: skip
for _power in (3, -2):
    _matrices("matrix_power",
              lambda t, x, _power=_power: t.matrix_power(regular(t, x), _power), normal(3, 3),
              lambda x, _power=_power: np.linalg.matrix_power(regular(np, x), _power),
              case=str(_power))  # fmt: skip
# Eigenvectors and singular vectors are given up to their signs.
_matrices("linalg_eigh",
          lambda t, x: (lambda w, v: (w, v * v))(*t.linalg.eigh(definite(t, x))), normal(3, 3),
          lambda x: (lambda w, v: (w, v * v))(*np.linalg.eigh(definite(np, x))))  # fmt: skip
for _shape in ((4, 3), (2, 3)):
    _matrices("linalg_svd",
              lambda t, x: (lambda u, s, v: (u * u, s, v * v))(*t.linalg.svd(x, False)),
              normal(*_shape),
              lambda x: (lambda u, s, v: (u * u, s, v * v))(*np.linalg.svd(x, False)),
              case=f"{_shape[0]}x{_shape[1]}")  # fmt: skip
for _shape in ((4, 3), (2, 3), (2, 3, 3)):
    _matrices("linalg_qr", lambda t, x: tuple(t.linalg.qr(x)), normal(*_shape),
              lambda x: tuple(np.linalg.qr(x)), case="x".join(map(str, _shape)))  # fmt: skip
_matrices("linalg_qr", lambda t, x: tuple(t.linalg.qr(x, "complete")), normal(2, 3),
          lambda x: tuple(np.linalg.qr(x, "complete")), case="complete")  # fmt: skip
for _order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
    _matrices("linalg_matrix_norm",
              lambda t, x, _order=_order: t.linalg.matrix_norm(x, _order), normal(2, 3, 4),
              lambda x, _order=_order: np.linalg.norm(x, _order, (-2, -1)),
              case=str(_order))  # fmt: skip
_matrices("linalg_norm", lambda t, x: t.linalg.norm(x, 3, 1), normal(2, 4),
          lambda x: np.linalg.norm(x, 3, 1))  # fmt: skip
_matrices("linalg_multi_dot", lambda t, *x: t.linalg.multi_dot(x),
          (normal(2, 3), normal(3, 5), normal(5)), lambda *x: np.linalg.multi_dot(x))  # fmt: skip
row("trace", same_function("trace"), normal(3, 4), np.trace, dtypes="number")
row("cross", same_function("cross", dim=1), (normal(2, 3), normal(2, 3)), np.cross,
    dtypes="number")  # fmt: skip
for _equation, *_shapes in [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)),
    ("...ij,...jk", (2, 2, 3), (3, 4)),
    ("iij,j->i", (2, 2, 3), (3,)),
    ("ij,k->kij", (2, 3), (4,)),
    ("ii", (3, 3)),
    ("ij->ji", (2, 3)),
]:
    row("einsum", lambda t, *x, _equation=_equation: t.einsum(_equation, *x),
        tuple(normal(*_shape) for _shape in _shapes),
        lambda *x, _equation=_equation: np.einsum(_equation, *x), case=_equation, dtypes="number",
        tolerance=1e-5)  # fmt: skip
for _p in (1.0, 1.5, 2.0, 3.0, float("inf")):
    row("cdist", same_function("cdist", _p), (normal(4, 3), normal(2, 5, 3)),
        lambda x, y, _p=_p: np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], _p, -1),
        case=str(_p), dtypes="matrix", tolerance=1e-4)  # fmt: skip
row("cdist", same_function("cdist"), (normal(30, 3), normal(2, 3)),
    lambda x, y: np.linalg.norm(x[:, None] - y, axis=-1), case="product", dtypes="matrix",
    tolerance=1e-4)  # fmt: skip
for _p in (1.0, 1.5, 2.0, 3.0, float("inf")):
    row("pdist", same_function("pdist", _p), normal(4, 3),
        lambda x, _p=_p: np.linalg.norm(x[:, None] - x, _p, -1)[np.triu_indices(4, 1)],
        case=str(_p), dtypes="matrix", tolerance=1e-4)  # fmt: skip
row("dist", same_function("dist", 3), (normal(3, 4), normal(4)),
    lambda x, y: np.linalg.norm((x - y).ravel(), 3), dtypes="float", tolerance=1e-4)  # fmt: skip
_matrices("cov", same_function("cov"), normal(3, 5), np.cov)
_matrices("corrcoef", same_function("corrcoef"), normal(3, 5), np.corrcoef)
row("float_power", same_function("float_power", 3), normal(4), lambda x: np.float_power(x, 3),
    dtypes="double")  # fmt: skip
