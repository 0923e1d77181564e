"""Operators that few programs call: low rank, counts drawn, cubic resampling, numbered modes."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd import gradcheck
from numbagrad.nn import functional as F


def numbers(*shape):
    return torch.tensor(np.random.default_rng(0).normal(size=shape))


class TestLowRank:
    @pytest.mark.parametrize("shape", [(8, 5), (5, 8), (2, 7, 6)])
    def test_of_a_matrix_of_that_rank(self, shape):
        rows, columns = shape[-2:]
        matrix = numbers(*shape[:-1], 3) @ numbers(*shape[:-2], 3, columns)
        U, S, V = torch.svd_lowrank(matrix, q=4)
        np.testing.assert_allclose((U * S.unsqueeze(-2)) @ V.mT, matrix, atol=1e-10)
        np.testing.assert_allclose(S, torch.linalg.svdvals(matrix)[..., :4], atol=1e-10)

    def test_principal_components_have_no_mean(self):
        samples = numbers(20, 3) + 100
        values = torch.pca_lowrank(samples, q=3)[1]
        expected = torch.linalg.svdvals(samples - samples.mean(0))
        np.testing.assert_allclose(values, expected, rtol=1e-10)

    def test_less_a_matrix(self):
        matrix, less = numbers(5, 4), numbers(1, 4)
        np.testing.assert_allclose(
            torch.svd_lowrank(matrix, q=4, M=less)[1], torch.linalg.svdvals(matrix - less)
        )

    def test_complex(self):
        matrix = torch.complex(numbers(6, 4), numbers(4, 6).mT)
        U, S, V = torch.svd_lowrank(matrix, q=4)
        np.testing.assert_allclose(((U * S) @ V.mH).numpy(), matrix.numpy(), atol=1e-10)

    def test_refused(self):
        with pytest.raises(ValueError, match="min\\(m, n\\)=4"):
            torch.pca_lowrank(numbers(5, 4), q=5)
        with pytest.raises(ValueError, match="niter"):
            torch.pca_lowrank(numbers(5, 4), niter=-1)


class TestDrawn:
    def test_counts(self):
        torch.manual_seed(0)
        rates = torch.full((4000,), 3.5, requires_grad=True)
        drawn = torch.poisson(rates)
        assert abs(drawn.mean().item() - 3.5) < 0.2 and abs(drawn.var().item() - 3.5) < 0.5
        drawn.sum().backward()
        assert not rates.grad.any()
        hits = torch.binomial(torch.full((4000,), 10.0), torch.tensor(0.3))
        assert abs(hits.mean().item() - 3) < 0.2 and hits.max().item() <= 10

    def test_the_same_from_a_seed(self):
        draws = [
            torch.poisson(torch.ones(9) * 20, torch.Generator().manual_seed(3)) for _ in range(2)
        ]
        assert torch.equal(*draws)

    def test_refused(self):
        with pytest.raises(RuntimeError, match="non-negative"):
            torch.poisson(torch.tensor([-1.0]))
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            torch.binomial(torch.ones(1), torch.tensor([1.5]))
        with pytest.raises(RuntimeError, match="Double"):
            torch.binomial(torch.ones(1), torch.ones(1).double())
        with pytest.raises(NotImplementedError, match="Long"):
            torch.poisson(torch.tensor([1]))


class TestResampling:
    @pytest.mark.parametrize("align_corners", [False, True])
    def test_cubic_keeps_constants(self, align_corners):
        image = torch.full((1, 1, 5, 4), 2.5, dtype=torch.float64)
        made = F.interpolate(image, (7, 9), mode="bicubic", align_corners=align_corners)
        np.testing.assert_allclose(made, np.full((1, 1, 7, 9), 2.5), rtol=1e-14)

    def test_cubic_meets_the_elements(self):
        image = numbers(1, 1, 4, 5)
        made = F.interpolate(image, (7, 9), mode="bicubic", align_corners=True)
        np.testing.assert_allclose(made[..., ::2, ::2], image, atol=1e-14)
        # Half way, torch's kernel has these weights.
        middle = image[0, 0, 0, :4] @ torch.tensor([-3.0, 19, 19, -3], dtype=torch.float64) / 32
        assert made[0, 0, 0, 3].item() == pytest.approx(middle.item())

    @pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
    def test_antialias_keeps_constants(self, mode):
        image = torch.full((1, 2, 9, 7), 2.5, dtype=torch.float64)
        made = F.interpolate(image, (3, 4), mode=mode, antialias=True)
        np.testing.assert_allclose(made, np.full((1, 2, 3, 4), 2.5), rtol=1e-14)

    @pytest.mark.parametrize("antialias", [False, True])
    def test_gradient(self, antialias):
        image = numbers(1, 2, 5, 4).requires_grad_()
        assert gradcheck(
            lambda x: F.interpolate(x, (3, 7), mode="bicubic", antialias=antialias), (image,)
        )

    def test_antialias_is_for_images(self):
        with pytest.raises(ValueError, match="Anti-alias"):
            F.interpolate(numbers(1, 1, 4), 2, mode="linear", antialias=True)


def test_grids_by_numbers():
    image, grid = numbers(1, 2, 4, 4), numbers(1, 3, 3, 2)
    for mode, name in enumerate(("bilinear", "nearest", "bicubic")):
        for padding, kind in enumerate(("zeros", "border", "reflection")):
            found = torch.grid_sampler_2d(image, grid, mode, padding, True)
            assert torch.equal(found, F.grid_sample(image, grid, name, kind, True))
            assert torch.equal(found, torch.grid_sampler(image, grid, mode, padding, True))
    volume, positions = numbers(1, 1, 3, 3, 3), numbers(1, 2, 2, 2, 3)
    found = torch.grid_sampler_3d(volume, positions, 0, 0, False)
    assert torch.equal(found, F.grid_sample(volume, positions, align_corners=False))
    with pytest.raises(RuntimeError, match="0, 1 or 2"):
        torch.grid_sampler(image, grid, 3, 0, True)
    with pytest.raises(RuntimeError, match="5 dimensions"):
        torch.grid_sampler_3d(image, grid, 0, 0, True)


def test_nuclear_norm():
    matrix = numbers(3, 4)
    expected = torch.linalg.svdvals(matrix).sum().item()
    assert torch.norm(matrix, "nuc").item() == pytest.approx(expected)
    assert matrix.norm("nuc", dim=(1, 0)).item() == pytest.approx(expected)
    with pytest.raises(RuntimeError, match="two"):
        torch.norm(numbers(2, 3, 4), "nuc")


def test_quotients_from_the_right():
    x = torch.tensor([2.0, 4.0])
    assert x.__rdiv__(8).tolist() == [4, 2]


def test_activations_write_into_out():
    x = numbers(2, 3)
    for name in ("gelu", "hardshrink", "logsigmoid", "softshrink"):
        out = torch.empty(0, dtype=x.dtype)
        function = getattr(F, name)
        assert function(x, out=out) is out and torch.equal(out, function(x))
    image, out = numbers(1, 1, 4, 4), torch.empty(0, dtype=torch.float64)
    assert torch.equal(F.avg_pool2d(image, 2, out=out), F.avg_pool2d(image, 2))


def test_native_norms():
    """The result of the layer, with the means and deviations that its backward would need."""
    x = numbers(3, 4, 5)
    made, mean, inverse = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    np.testing.assert_allclose(mean, x.mean((0, 2)))
    scaled = (x - mean[:, None]) * inverse[:, None]
    np.testing.assert_allclose(made, scaled, atol=1e-12)
    still = torch.native_batch_norm(x, None, None, mean, inverse, False, 0.1, 1e-5)
    assert [part.numel() for part in still[1:]] == [0, 0]
    made, mean, inverse = torch.native_group_norm(x, None, None, 3, 4, 5, 2, 1e-5)
    groups = x.reshape(3, 2, 10)
    expected = (groups - mean[..., None]) * inverse[..., None]
    np.testing.assert_allclose(made.reshape(3, 2, 10), expected, atol=1e-12)


def test_complex_softsign():
    z = torch.tensor([3 + 4j], dtype=torch.complex128, requires_grad=True)
    assert F.softsign(z).item() == pytest.approx(0.5 + 2j / 3)
    assert gradcheck(F.softsign, (z,))
