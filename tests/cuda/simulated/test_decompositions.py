"""Decompositions that CuPy has for one matrix, for stacks; what is returned lies on the device."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.cuda import library
from numbagrad.cuda.driver import driver


def compare(function, *inputs):
    """Fields of the CPU's dtypes, shapes and values, in memory of the device."""
    found = function(*[x.cuda() for x in inputs])
    for own, other in zip(found, function(*inputs), strict=True):
        assert own.device.type == "cuda" and own.dtype is other.dtype
        np.testing.assert_allclose(own.cpu().numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    assert library.refused == set()


@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 5), (0, 3, 3), (2, 0, 3)])
def test_lu(shape):
    x = torch.tensor(np.random.default_rng(0).standard_normal(shape))
    compare(torch.linalg.lu_factor_ex, x)


def test_lu_of_singular_matrices():
    x = torch.tensor([[[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]])
    compare(torch.linalg.lu_factor_ex, x)
    with pytest.raises(torch.linalg.LinAlgError, match=r"U\[1,1\] is zero"):
        torch.linalg.lu_factor(x.cuda())


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
def test_least_squares(driver):
    rng = np.random.default_rng(0)
    A, B = [torch.tensor(rng.standard_normal(shape)) for shape in ((2, 4, 3), (2, 4, 2))]
    compare(lambda a, b: torch.linalg.lstsq(a, b, driver=driver), A, B)
    assert len(torch.linalg.lstsq(A.cuda(), B.cuda()).rank) == 0  # of "gels", as in torch


def test_reflections():
    compare(torch.geqrf, torch.tensor(np.random.default_rng(0).standard_normal((2, 4, 3))))


def symmetric(kind, shape, hermitian, rng):
    """Matrices of random signs, of which some have pivots of two rows."""
    x = rng.standard_normal(shape)
    if np.dtype(kind).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    x = x + (x.conj() if hermitian else x).swapaxes(-1, -2)
    x[..., 0, 0] = x[..., 1, 1] = 0
    return x.astype(kind)


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("hermitian", [False, True])
def test_decompositions_with_pivots_of_two_rows(kind, hermitian):
    """Choices of pivots, which are exact comparisons, are the CPU's; so are solutions."""
    rng = np.random.default_rng(3)
    for shape in ((7, 7), (2, 5, 5)):
        A = torch.tensor(symmetric(kind, shape, hermitian, rng))
        LD, pivots, info = torch.linalg.ldl_factor_ex(A.cuda(), hermitian=hermitian)
        expected = torch.linalg.ldl_factor_ex(A, hermitian=hermitian)
        assert pivots.tolist() == expected.pivots.tolist() and (pivots < 0).any()
        assert info.tolist() == expected.info.tolist() and LD.stride() == expected.LD.stride()
        tolerance = 1e-4 if kind in ("float32", "complex64") else 1e-11
        np.testing.assert_allclose(LD.cpu().numpy(), expected.LD.numpy(), tolerance, tolerance)
        B = torch.tensor(symmetric(kind, shape, False, rng)[..., :3].copy())
        X = torch.linalg.ldl_solve(LD, pivots, B.cuda(), hermitian=hermitian)
        assert X.is_cuda
        np.testing.assert_allclose((A @ X.cpu()).numpy(), B.numpy(), 30 * tolerance, 30 * tolerance)
    assert not {"linalg_ldl_factor_ex", "linalg_ldl_solve"} & library.refused


def test_zeros_in_decompositions_with_pivots():
    A = torch.tensor([[[0.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]]])
    compare(torch.linalg.ldl_factor_ex, A)
    with pytest.raises(torch.linalg.LinAlgError, match="is zero"):
        torch.linalg.ldl_factor(A.cuda())
    assert torch.linalg.ldl_factor_ex(torch.zeros(0, 3, 3).cuda()).LD.shape == (0, 3, 3)


def test_right_sides_broadcast():
    A = torch.tensor([[1.0, 3.0], [3.0, 2.0]]).cuda()
    B = torch.ones(3, 2, 1).cuda()
    X = torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A), B)
    assert torch.allclose(A @ X, B)


def test_rows_after_swaps():
    """Without a copy to the host, and with torch's words for swaps that are none."""
    rng = np.random.default_rng(0)
    A = torch.tensor(rng.standard_normal((20, 4, 6)))
    for x in (A, A.mT.contiguous()):
        factors = [torch.linalg.lu_factor(y) for y in (x.cuda(), x)]
        before = driver().waits
        found = torch.lu_unpack(*factors[0])
        assert driver().waits == before
        for own, other in zip(found, torch.lu_unpack(*factors[1]), strict=True):
            assert torch.allclose(own.cpu(), other)
    LU, pivots = torch.linalg.lu_factor(A[0, :, :4].cuda())
    with pytest.raises(torch.AcceleratorError, match="a pivot is out of bounds"):
        torch.lu_unpack(LU, pivots + 4)
        torch.cuda.synchronize()
    with pytest.raises(RuntimeError, match="must be between 1 and LU"):
        torch.lu_unpack(LU.cpu(), pivots.cpu() * 0)


def test_first_zero_pivots():
    A = torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]])
    compare(lambda a: torch.linalg.solve_ex(a, torch.ones(2, 2, 1, device=a.device)), A)


def test_complex_functions_of_the_array_namespace():
    """With the special values of the C standard."""
    values = [0.0, -0.0, 1.5, -2.0, 1e-9, np.inf, -np.inf, np.nan]
    x = torch.tensor([complex(a, b) for a in values for b in values])
    namespace = x.__array_namespace__()
    for name in ("acos", "acosh", "asinh", "atanh", "cosh", "exp", "expm1", "sinh", "tanh"):
        own, other = [getattr(namespace, name)(y) for y in (x.cuda(), x)]
        assert own.is_cuda
        for part in ("real", "imag"):
            found, expected = [getattr(y.cpu().numpy(), part) for y in (own, other)]
            np.testing.assert_allclose(found, expected, 1e-6, 0, err_msg=name)
    assert not [x for x in library.refused if x.startswith("complex_")]


def test_sparse_tensors_are_refused():
    """They are on the CPU only, and nothing makes one elsewhere without a word."""
    coo = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    dense = torch.ones(2, 2, device="cuda", requires_grad=True)
    for call in (
        coo.cuda,
        lambda: coo.to("cuda"),
        coo.to_sparse_csr().cuda,
        lambda: torch.sparse_coo_tensor([[0], [0]], [1.0], (1, 1), device="cuda"),
        lambda: torch.sparse_coo_tensor([[0], [0]], torch.ones(1), (1, 1), device="cuda"),
        lambda: torch.sparse_csr_tensor([0, 1], [0], torch.ones(1).cuda(), (1, 1)),
        dense.to_sparse,
        dense.to_sparse_csr,
        lambda: dense.sparse_mask(coo),
        lambda: torch.nn.functional.embedding(torch.ones(2).long().cuda(), dense, sparse=True),
    ):
        with pytest.raises(NotImplementedError, match="sparse tensors on the CPU only"):
            call()
    with pytest.raises(RuntimeError, match="same device"):
        torch.sparse.mm(coo, dense)
