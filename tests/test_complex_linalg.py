"""Decompositions and systems of complex matrices: values by definition, gradients checked."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck, gradgradcheck


def complex_matrix(rows, columns, seed=0):
    numbers = np.random.default_rng(seed).normal(size=(2, rows, columns))
    return torch.tensor(numbers[0] + 1j * numbers[1], requires_grad=True)


def hermitian(matrix):
    return matrix + matrix.mH


def positive(matrix):
    size = matrix.shape[-1]
    return matrix @ matrix.mH + size * torch.eye(size, dtype=matrix.dtype)


def of_pairs(u, s, vh):
    """What a common phase of the singular vectors of a pair leaves as it is."""
    return u[..., :1] @ vh[..., :1, :], s, u.abs(), vh.abs()


FUNCTIONS = {
    "inv": lambda a: torch.linalg.inv(a),
    "det": lambda a: torch.linalg.det(a),
    "slogdet": lambda a: torch.linalg.slogdet(a),
    "logdet": lambda a: torch.logdet(a),
    "solve": lambda a: torch.linalg.solve(a, a.mT * 1j),
    "solve from the right": lambda a: torch.linalg.solve(a, a.mT * 1j, left=False),
    "solve_triangular": lambda a: torch.linalg.solve_triangular(a, a.mT, upper=True),
    "cholesky": lambda a: torch.linalg.cholesky(positive(a)),
    "upper cholesky": lambda a: torch.linalg.cholesky(positive(a), upper=True),
    "cholesky_solve": lambda a: torch.cholesky_solve(a, torch.linalg.cholesky(positive(a))),
    "eigvalsh": lambda a: torch.linalg.eigvalsh(hermitian(a)),
    "eigh": lambda a: torch.linalg.eigh(hermitian(a)).eigenvectors.abs(),
    "svd": lambda a: of_pairs(*torch.linalg.svd(a, full_matrices=False)),
    "qr": lambda a: torch.linalg.qr(a),
    "lu_factor": lambda a: torch.linalg.lu_factor(a).LU,
    "lu_solve": lambda a: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), a.mT),
    "adjoint lu_solve": lambda a: torch.linalg.lu_solve(
        *torch.linalg.lu_factor(a), a.mT, adjoint=True, left=False
    ),
    "pinv": lambda a: torch.linalg.pinv(a[:, :2]),
    "lstsq": lambda a: torch.linalg.lstsq(a[:, :2], a[:, 2:]).solution,
    "matrix_exp": lambda a: torch.linalg.matrix_exp(a),
    "eigvals": lambda a: torch.linalg.eigvals(a),
    "nuclear norm": lambda a: torch.linalg.matrix_norm(a, "nuc"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    matrix = complex_matrix(3, 3)
    assert gradcheck(FUNCTIONS[name], (matrix,))
    assert gradgradcheck(FUNCTIONS[name], (matrix,), atol=1e-4)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_gradients_of_rectangles(shape):
    matrix = complex_matrix(*shape)
    assert gradcheck(lambda a: of_pairs(*torch.linalg.svd(a, full_matrices=False)), (matrix,))
    assert gradcheck(torch.linalg.pinv, (matrix,))
    assert gradcheck(lambda a: torch.linalg.lu_factor(a).LU, (matrix,))
    assert gradcheck(lambda a: torch.linalg.qr(a), (matrix,))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: torch.linalg.svd(a).U.real.sum(),
        lambda a: torch.linalg.eigh(hermitian(a)).eigenvectors.real.sum(),
        lambda a: torch.linalg.eig(a).eigenvectors.real.sum(),
    ],
)
def test_phases_have_no_gradient(call):
    with pytest.raises(RuntimeError, match="specified up to multiplication by e\\^{i phi}"):
        call(complex_matrix(3, 3)).backward()


class TestLDL:
    """Symmetric and Hermitian matrices that are not definite."""

    @pytest.mark.parametrize("conjugated", [False, True])
    @pytest.mark.parametrize("size", [1, 2, 5, 12])
    def test_solves(self, conjugated, size):
        matrix = complex_matrix(size, size).detach()
        matrix = hermitian(matrix) if conjugated else matrix + matrix.mT
        right = complex_matrix(size, 3, seed=1).detach()
        factors = torch.linalg.ldl_factor(matrix, hermitian=conjugated)
        found = torch.linalg.ldl_solve(*factors, right, hermitian=conjugated)
        np.testing.assert_allclose((matrix @ found).numpy(), right.numpy(), atol=1e-9)

    def test_a_block_of_two(self):
        """A diagonal of zeros has no pivot of one row."""
        matrix = torch.tensor([[0.0, 2.0], [2.0, 0.0]])
        LD, pivots = torch.linalg.ldl_factor(matrix)
        assert LD.tolist() == [[0.0, 0.0], [2.0, 0.0]] and pivots.tolist() == [-2, -2]

    def test_singular(self):
        zero = torch.zeros(2, 3, 3)
        with pytest.raises(torch.linalg.LinAlgError, match="D\\[1,1\\] is zero"):
            torch.linalg.ldl_factor(zero)
        assert torch.linalg.ldl_factor_ex(zero).info.tolist() == [1, 1]

    def test_stacks(self):
        matrices = torch.randn(2, 1, 4, 4, dtype=torch.float64)
        matrices = matrices + matrices.mT
        right = torch.randn(3, 4, 2, dtype=torch.float64)
        found = torch.linalg.ldl_solve(*torch.linalg.ldl_factor(matrices), right)
        assert found.shape == (2, 3, 4, 2)
        np.testing.assert_allclose((matrices @ found).numpy(), right.expand(2, 3, 4, 2), atol=1e-9)
