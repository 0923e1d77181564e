"""Decompositions that CuPy has for one matrix, for stacks; what is returned lies on the device."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.cuda import library


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
