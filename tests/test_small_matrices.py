"""Decompositions of small matrices by kernels: what they multiply to, in every layout."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.families import elimination

#: Matrices of these sizes, in stacks.
SHAPES = ((1, 1), (2, 2), (3, 3), (5, 4, 4), (2, 3, 6, 6), (17, 17), (0, 3, 3), (140, 140))


def in_a_row(drawn):
    return torch.from_numpy(drawn)


def by_columns(drawn):
    return torch.from_numpy(np.ascontiguousarray(drawn.swapaxes(-1, -2))).mT


def apart(drawn):
    """With other elements between all of them."""
    wide = np.full((*drawn.shape, 2), np.nan, drawn.dtype)
    wide[..., 0] = drawn
    return torch.from_numpy(wide)[..., 0]


def repeated(drawn):
    """The first matrix of a stack in the place of all, in the same memory."""
    first = drawn[:1] if drawn.ndim > 2 and len(drawn) else drawn
    return torch.from_numpy(first).expand(*drawn.shape)


LAYOUTS = (in_a_row, by_columns, apart, repeated)
every_case = pytest.mark.parametrize(
    ("shape", "layout", "kind"),
    [(s, layout, kind) for s in SHAPES for layout in LAYOUTS for kind in ("float32", "float64")],
)


def drawn(shape, kind, more=0.0):
    made = np.random.default_rng(0).standard_normal(shape) + more * np.eye(shape[-1])
    return made.astype(kind)


def close(found, expected):
    scale = max(np.abs(expected).max(initial=0), 1)
    found = found.numpy() if isinstance(found, torch.Tensor) else found
    tolerance = 1e-3 if expected.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


@every_case
def test_solutions(shape, layout, kind):
    A = layout(drawn(shape, kind, 3.0))
    B = layout(drawn(shape, kind))
    a, b = A.numpy(), B.numpy()
    close(a @ torch.linalg.solve(A, B).numpy(), b)
    close(a @ torch.linalg.inv(A).numpy(), np.zeros_like(a) + np.eye(shape[-1], dtype=kind))
    for upper in (False, True):
        made = torch.linalg.solve_triangular(A * 4, B, upper=upper).numpy()
        close((np.triu(a * 4) if upper else np.tril(a * 4)) @ made, b) if shape[-1] < 20 else None
    sign, logarithm = torch.linalg.slogdet(A)
    expected = np.linalg.slogdet(a.astype("float64"))
    close(sign, expected[0].astype(kind))
    close(logarithm, expected[1].astype(kind))
    if shape[-1] < 20:
        close(torch.linalg.det(A), np.linalg.det(a.astype("float64")).astype(kind))


@every_case
def test_decompositions(shape, layout, kind):
    A = layout(drawn(shape, kind))
    a = A.numpy()
    P, L, U = torch.linalg.lu(A)
    close(P @ L @ U, a)
    assert (L.abs() <= 1).all()  # so the pivots are the largest elements
    q, r = torch.linalg.qr(A)
    close(q @ r, a)
    close(q.mT @ q, np.zeros_like(a) + np.eye(shape[-1], dtype=kind))
    assert (r.tril(-1) == 0).all()
    packed, factors = torch.geqrf(A)
    close(packed.triu(), r.numpy())
    close(torch.linalg.householder_product(packed, factors), q.numpy())
    definite = layout(a @ a.swapaxes(-1, -2) + np.eye(shape[-1], dtype=kind))
    factor = torch.linalg.cholesky(definite)
    close(factor @ factor.mT, definite.numpy())
    assert (factor.triu(1) == 0).all()
    symmetric = layout(a + a.swapaxes(-1, -2))
    LD, pivots = torch.linalg.ldl_factor(symmetric)
    b = drawn(shape, kind)
    found = torch.linalg.ldl_solve(LD, pivots, torch.from_numpy(b))
    if shape[-1] < 10:
        close(symmetric @ found, b)


def test_what_has_no_decomposition_is_told_by_numbers():
    nothing = np.stack([np.eye(3), np.diag([1.0, 0, 2]), np.full((3, 3), np.nan)])
    A = torch.from_numpy(nothing)
    assert torch.linalg.lu_factor_ex(A).info.tolist() == [0, 2, 0]
    assert torch.linalg.inv_ex(A).info.tolist() == [0, 2, 0]
    assert torch.linalg.cholesky_ex(A).info.tolist() == [0, 2, 1]
    with pytest.raises(torch.linalg.LinAlgError, match="Batch element 1.*element 2 is zero"):
        torch.linalg.inv(A)
    with pytest.raises(torch.linalg.LinAlgError, match="Batch element 1"):
        torch.linalg.solve(A, A)
    with pytest.raises(torch.linalg.LinAlgError, match="Batch element 1.*minor of order 2"):
        torch.linalg.cholesky(A)


def test_backward_solves_once_for_both_operands(monkeypatch):
    solution, calls = elimination.solution, []

    def counted(*arguments):
        calls.append(arguments)
        return solution(*arguments)

    monkeypatch.setattr(elimination, "solution", counted)
    A = torch.from_numpy(drawn((3, 3), "float64", 3.0)).requires_grad_()
    B = torch.ones(3, 2, dtype=torch.float64).requires_grad_()
    torch.linalg.solve(A, B).sum().backward()
    assert len(calls) == 2
    assert A.grad is not None and B.grad is not None
