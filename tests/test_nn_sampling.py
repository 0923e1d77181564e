"""Sampling by grids, the inverse of max pooling, windows at random places, adaptive softmax.

Without torch: by their definitions, one number after the other, and by differences for gradients.
"""

import itertools
import math

import numpy as np
import pytest

import numbagrad as ng
from numbagrad import nn
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.nn import functional as F
from numbagrad.nn.functional import grid as samples

PADDINGS = ("zeros", "border", "reflection")


def double(*shape, seed=0):
    array = np.random.default_rng(seed).normal(size=shape)
    return ng.from_numpy(array).requires_grad_()


# --- grid_sample ----------------------------------------------------------------------------------


def reflected(position, low, high):
    """A place thrown back at two mirrors until it lies between them."""
    while high > low and not low <= position <= high:
        position = 2 * low - position if position < low else 2 * high - position
    return position if high > low else 0.0


def padded(position, size, padding, corners):
    if padding == "reflection":
        position = reflected(position, *((0, size - 1) if corners else (-0.5, size - 0.5)))
    return position if padding == "zeros" else min(max(position, 0.0), size - 1.0)


def cubic(x):
    x = abs(x)
    if x <= 1:
        return 1.25 * x**3 - 2.25 * x**2 + 1
    return -0.75 * x**3 + 3.75 * x**2 - 6 * x + 3 if x < 2 else 0.0


def taps(coordinate, size, mode, padding, corners):
    """Places of elements and their weights, for one coordinate."""
    position = (coordinate + 1) / 2 * (size - 1)
    if not corners:
        position = ((coordinate + 1) * size - 1) / 2
    if mode == "bicubic":
        first = math.floor(position)
        return [
            (padded(first + k, size, padding, corners), cubic(position - first - k))
            for k in range(-1, 3)
        ]
    position = padded(position, size, padding, corners)
    if mode == "nearest":
        return [(float(np.rint(position)), 1.0)]
    first = math.floor(position)
    return [(first, 1 - (position - first)), (first + 1, position - first)]


def naive_samples(x, grid, mode, padding, corners):
    sizes = x.shape[2:]
    made = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for sample in np.ndindex(grid.shape[0], *grid.shape[1:-1]):
        coordinates = grid[sample][::-1]
        lists = [
            taps(c, n, mode, padding, corners) for c, n in zip(coordinates, sizes, strict=True)
        ]
        for combination in itertools.product(*lists):
            where = [int(position) for position, _ in combination]
            if all(0 <= w < n for w, n in zip(where, sizes, strict=True)):
                weight = math.prod(weight for _, weight in combination)
                made[(sample[0], slice(None), *sample[1:])] += (
                    weight * x[(sample[0], slice(None), *where)]
                )
    return made


KINDS = [
    (rank, mode, padding, corners)
    for rank, mode, padding, corners in itertools.product(
        (2, 3), ("bilinear", "nearest", "bicubic"), PADDINGS, (True, False)
    )
    if (rank, mode) != (3, "bicubic")
]


def drawn(rank, reach=2.5):
    shapes = {2: ((2, 3, 4, 5), (2, 3, 4, 2)), 3: ((2, 2, 3, 4, 3), (2, 2, 3, 2, 3))}[rank]
    generator = np.random.default_rng(1)
    return generator.normal(size=shapes[0]), generator.uniform(-reach, reach, shapes[1])


@pytest.mark.parametrize(("rank", "mode", "padding", "corners"), KINDS)
class TestGridSample:
    def test_by_its_definition(self, rank, mode, padding, corners):
        x, grid = drawn(rank)
        made = F.grid_sample(ng.from_numpy(x), ng.from_numpy(grid), mode, padding, corners)
        wanted = naive_samples(x, grid, mode, padding, corners)
        np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-11, atol=1e-12)

    def test_gradients(self, rank, mode, padding, corners):
        x, grid = (ng.from_numpy(a).requires_grad_() for a in drawn(rank))
        sample = lambda *given: F.grid_sample(*given, mode, padding, corners)  # noqa: E731
        assert gradcheck(sample, (x, grid), check_forward_ad=True)
        assert gradgradcheck(sample, (x, grid), fast_mode=True)


@pytest.mark.parametrize(("rank", "mode", "padding", "corners"), KINDS)
def test_kernels_and_definition_of_samples_agree(rank, mode, padding, corners):
    x, grid = drawn(rank)
    numbers = ("bilinear", "nearest", "bicubic").index(mode), PADDINGS.index(padding), corners
    grid.reshape(-1)[:6] = 1, -1, 0, np.nan, np.inf, 1e30
    for dtype, tolerance in ((np.float32, 2e-5), (np.float64, 1e-13)):
        values = ng.from_numpy(np.swapaxes(x.astype(dtype), 0, 1).copy()).transpose(0, 1)
        places = ng.from_numpy(np.flip(grid, 1).astype(dtype)).requires_grad_()
        values.requires_grad_()
        found = []
        for sample in (samples.KERNELS[rank], samples.definition):
            made = sample(values, places, *numbers)
            grads = ng.autograd.grad((made**2).sum(), (values, places))
            found.append([a.detach().nan_to_num().numpy() for a in (made, *grads)])
        for ours, wanted in zip(*found, strict=True):
            np.testing.assert_allclose(ours, wanted, tolerance, tolerance)


class TestPlaces:
    def test_no_elements(self):
        x = ng.ones(0, 3, 4, 5, requires_grad=True)
        made = F.grid_sample(x, ng.zeros(0, 2, 2, 2), align_corners=False)
        assert made.shape == (0, 3, 2, 2)
        assert F.grid_sample(
            ng.ones(2, 0, 4, 5), ng.zeros(2, 3, 1, 2), align_corners=False
        ).shape == (2, 0, 3, 1)

    def test_far_away_and_nowhere(self):
        x = ng.ones(1, 1, 3, 3, requires_grad=True)
        positions = [float("inf"), -float("inf"), float("nan"), 1e30]
        grid = ng.tensor([[[[position, 0.0] for position in positions]]])
        for mode in ("bilinear", "nearest", "bicubic"):
            made = F.grid_sample(x, grid, mode, align_corners=False)
            made.sum().backward()
            assert made.flatten().tolist() == [0, 0, 0, 0]
            assert not ng.isnan(x.grad).any()

    def test_half_precision_is_computed_in_single(self):
        x, grid = (ng.from_numpy(a) for a in drawn(2))
        made = F.grid_sample(x.half(), grid.half(), align_corners=True)
        wanted = F.grid_sample(x.half().float(), grid.half().float(), align_corners=True)
        assert made.dtype is ng.float16
        np.testing.assert_array_equal(made.numpy(), wanted.half().numpy())

    def test_one_element_reflects_to_itself(self):
        x = ng.full((1, 1, 1, 1), 7.0)
        grid = ng.tensor([[[[-3.0, 2.0]]]], requires_grad=True)
        made = F.grid_sample(x, grid, "bilinear", "reflection", True)
        made.backward()
        assert made.item() == 7 and grid.grad.abs().sum() == 0

    def test_the_default_warns(self):
        with pytest.warns(UserWarning, match="behavior has changed to align_corners=False"):
            F.grid_sample(ng.ones(1, 1, 2, 2), ng.zeros(1, 1, 1, 2))


class TestAffineGrid:
    @pytest.mark.parametrize("corners", [True, False])
    @pytest.mark.parametrize("sizes", [(4, 5), (3, 2, 4)], ids=str)
    def test_by_its_definition(self, sizes, corners):
        rank = len(sizes)
        theta = double(2, rank, rank + 1)
        made = F.affine_grid(theta, (2, 1, *sizes), corners).detach().numpy()
        assert made.shape == (2, *sizes, rank)
        for position in np.ndindex(*sizes):
            base = [
                -1 + 2 * p / (n - 1) if corners else -1 + (2 * p + 1) / n
                for p, n in zip(position[::-1], sizes[::-1], strict=True)
            ]
            wanted = theta.detach().numpy() @ np.array([*base, 1.0])
            np.testing.assert_allclose(made[(slice(None), *position)], wanted, atol=1e-12)

    def test_the_identity_samples_the_image_itself(self):
        x = double(1, 2, 4, 5)
        theta = ng.eye(2, 3, dtype=ng.float64)[None]
        for corners in (True, False):
            grid = F.affine_grid(theta, x.shape, corners)
            made = F.grid_sample(x, grid, align_corners=corners)
            np.testing.assert_allclose(made.detach().numpy(), x.detach().numpy(), atol=1e-12)

    def test_gradients(self):
        theta = double(2, 2, 3)
        spatial = lambda t: F.affine_grid(t, (2, 1, 3, 4), False)  # noqa: E731
        assert gradcheck(spatial, theta, check_forward_ad=True)
        assert gradgradcheck(spatial, theta)


# --- max pooling ----------------------------------------------------------------------------------


class TestUnpooling:
    @pytest.mark.parametrize("rank", [1, 2, 3])
    @pytest.mark.parametrize("batched", [True, False])
    def test_puts_elements_where_they_were(self, rank, batched):
        shape = (*((2,) if batched else ()), 3, *(7, 6, 5)[:rank])
        x = double(*shape)
        pool, unpool = (getattr(F, f"max_{name}{rank}d") for name in ("pool", "unpool"))
        made, where = pool(x, 2, return_indices=True)
        back = unpool(made, where, 2, output_size=x.shape[-rank:])
        kept = back.detach().numpy() != 0
        np.testing.assert_array_equal(back.detach().numpy()[kept], x.detach().numpy()[kept])
        assert kept.sum() == made.numel() and back.shape == x.shape
        layer = getattr(nn, f"MaxUnpool{rank}d")(2)
        assert layer(made, where, x.shape[-rank:]).tolist() == back.tolist()

    def test_gradients(self):
        x = double(2, 3, 3, 2)
        where = ng.arange(6).view(3, 2).expand(2, 3, 3, 2) * 4
        unpool = lambda x: F.max_unpool2d(x, where, 2)  # noqa: E731
        assert gradcheck(unpool, x, check_forward_ad=True, check_batched_grad=True)
        assert gradgradcheck(unpool, x)

    @pytest.mark.parametrize(
        ("name", "input"), [("max_pool1d", (2, 6)), ("max_pool2d", (2, 4, 6)),
                            ("max_pool3d", (1, 2, 2, 4))])  # fmt: skip
    def test_names_with_indices(self, name, input):
        x = double(*input)
        made, where = getattr(F, f"{name}_with_indices")(x, 2, ceil_mode=True)
        wanted = getattr(F, name)(x, 2, ceil_mode=True, return_indices=True)
        assert made.tolist() == wanted[0].tolist() and where.tolist() == wanted[1].tolist()

    def test_parts_with_indices(self):
        x = double(2, 3, 5, 7)
        for name, arguments in (("adaptive_max_pool2d", (3,)), ("fractional_max_pool2d", (2, 3))):
            ng.manual_seed(0)
            made, where = getattr(F, f"{name}_with_indices")(x, *arguments)
            assert x.flatten(2).gather(2, where.flatten(2)).tolist() == made.flatten(2).tolist()


class TestFractional:
    def test_windows_by_their_definition(self):
        x = double(2, 3, 9, 7)
        samples = ng.rand(2, 3, 2, dtype=ng.float64)
        made, where = F.fractional_max_pool2d(
            x, (2, 3), (4, 3), return_indices=True, _random_samples=samples
        )
        for n, c in np.ndindex(2, 3):
            starts = []
            for size, count, width, u in (
                (9, 4, 2, samples[n, c, 1].item()), (7, 3, 3, samples[n, c, 0].item())
            ):  # fmt: skip
                step = (size - width) / (count - 1)
                found = [int((i + u) * step) - int(u * step) for i in range(count - 1)]
                starts.append([*found, size - width])
            for i, j in np.ndindex(4, 3):
                a, b = starts[0][i], starts[1][j]
                window = x[n, c, a : a + 2, b : b + 3]
                assert made[n, c, i, j].item() == window.max().item()
        assert x.flatten(2).gather(2, where.flatten(2)).tolist() == made.flatten(2).tolist()

    @pytest.mark.parametrize("rank", [2, 3])
    def test_gradients(self, rank):
        x = double(1, 2, *(6, 5, 4)[:rank])
        samples = ng.rand(1, 2, rank, dtype=ng.float64)
        layer = getattr(nn, f"FractionalMaxPool{rank}d")(2, 3, _random_samples=samples)
        assert gradcheck(layer, x, check_forward_ad=True)

    def test_share_of_the_size(self):
        layer = nn.FractionalMaxPool2d(2, output_ratio=(0.5, 0.8))
        assert layer(ng.ones(1, 6, 10)).shape == (1, 3, 8)


# --- softmax and older layers ---------------------------------------------------------------------


class TestAdaptiveSoftmax:
    @pytest.fixture
    def layer(self):
        ng.manual_seed(0)
        return nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], 2.0, True, dtype=ng.float64)

    def test_probabilities_sum_to_one(self, layer):
        made = layer.log_prob(double(5, 8))
        np.testing.assert_allclose(made.exp().sum(1).detach().numpy(), np.ones(5))

    def test_targets_have_their_probability(self, layer):
        x, target = double(9, 8), ng.tensor([0, 11, 3, 6, 7, 2, 2, 10, 5])
        made, loss = layer(x, target)
        wanted = layer.log_prob(x).gather(1, target[:, None]).squeeze(1)
        np.testing.assert_allclose(made.detach().numpy(), wanted.detach().numpy())
        assert loss.item() == pytest.approx(-wanted.mean().item())
        assert gradcheck(lambda x: layer(x, target).loss, x)
        one = layer(x[1], target[1])
        assert one.output.item() == pytest.approx(wanted[1].item())

    def test_predicts_the_most_probable(self, layer):
        x = 20 * double(30, 8)
        assert layer.predict(x).tolist() == layer.log_prob(x).argmax(1).tolist()
        assert (layer.predict(x) >= 3).any()

    @pytest.mark.parametrize("cutoffs", [[], [5, 5], [5, 20], [0], [5.5]])
    def test_no_cutoffs(self, cutoffs):
        with pytest.raises(ValueError, match="cutoffs should be a sequence"):
            nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs)


class TestOlderLayers:
    @pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
    def test_neighbouring_channels(self, size):
        x = double(2, 6, 2, 3)
        made = nn.CrossMapLRN2d(size, 0.1, 0.5, 2)(x)
        squares, reach = x.detach().numpy() ** 2, (size - 1) // 2
        for c in range(6):
            sums = squares[:, max(c - reach, 0) : c + reach + 1].sum(1)
            wanted = x.detach().numpy()[:, c] * (2 + 0.1 / size * sums) ** -0.5
            np.testing.assert_allclose(made[:, c].detach().numpy(), wanted)

    def test_names_of_earlier_years_warn(self):
        with pytest.warns(FutureWarning, match="`NLLLoss2d` has been deprecated"):
            loss = nn.NLLLoss2d()
        x, target = double(2, 3, 4, 4), ng.zeros(2, 4, 4, dtype=ng.int64)
        assert loss(x, target).item() == nn.NLLLoss()(x, target).item()
        with pytest.warns(FutureWarning, match="`nn.Container` is deprecated"):
            made = nn.Container(first=nn.Linear(2, 3))
        assert [name for name, _ in made.named_children()] == ["first"]
