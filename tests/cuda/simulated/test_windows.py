"""Convolutions and poolings on the device: values, gradients and their gradients of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn
from numbagrad.cuda.driver import driver

F = nn.functional


def agree(call, *shapes, order=2, dtype=torch.float64):
    """Results and derivatives up to an order are those of the CPU."""
    torch.manual_seed(0)
    given = [torch.randn(shape, dtype=dtype) for shape in shapes]
    found = []
    for device in ("cpu", "cuda"):
        inputs = [x.to(device).requires_grad_() for x in given]
        made = call(*inputs)
        values, roots = [made], [made]
        for level in range(order):
            total = sum([(x * x).sum() for x in roots])
            roots = torch.autograd.grad(total, inputs, create_graph=level + 1 < order)
            values += roots
        found.append([x.detach().cpu().numpy() for x in values])
        assert made.device.type == device
    for own, other in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("input", "weight", "options"),
    [
        ((2, 3, 7), (4, 3, 3), {}),
        ((1, 2, 5, 6), (3, 2, 3, 2), {"stride": 2, "padding": 1}),
        ((2, 4, 5, 5), (4, 2, 3, 3), {"groups": 2, "dilation": 2, "padding": 2}),
        ((1, 2, 3, 3, 4), (2, 2, 2, 2, 2), {"stride": (1, 2, 1)}),
        ((2, 3, 4, 4), (5, 3, 1, 1), {}),
        ((3, 2, 4), (2, 1, 3), {"groups": 2, "padding": "same"}),
    ],
)
def test_convolutions(input, weight, options):
    convolve = getattr(F, f"conv{len(input) - 2}d")
    agree(lambda x, w, b: convolve(x, w, b, **options), input, weight, (weight[0],))


@pytest.mark.parametrize(
    ("input", "weight", "options"),
    [
        ((2, 3, 4), (3, 2, 3), {"stride": 2, "output_padding": 1}),
        ((1, 4, 3, 3), (4, 2, 2, 3), {"groups": 2, "padding": 1, "stride": (2, 1)}),
        ((1, 2, 3, 3), (2, 2, 2, 2), {"dilation": 2}),
    ],
)
def test_transposed_convolutions(input, weight, options):
    convolve = getattr(F, f"conv_transpose{len(input) - 2}d")
    agree(lambda x, w: convolve(x, w, None, **options), input, weight)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_other_dtypes(dtype):
    kind = getattr(torch, dtype)
    x, w = torch.randn(1, 2, 5, 5).to(kind), torch.randn(2, 2, 3, 3).to(kind)
    found, expected = F.conv2d(x.cuda(), w.cuda()), F.conv2d(x, w)
    assert found.dtype is kind
    tolerance = 1e-5 if dtype == "float32" else 5e-2
    np.testing.assert_allclose(
        found.float().tolist(), expected.float().tolist(), tolerance, tolerance
    )


def test_many_positions_are_summed_in_parts():
    agree(lambda x, w: F.conv1d(x, w), (2, 1, 70), (1, 1, 3), order=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: F.max_pool2d(x, 2, 1, 0, 2, ceil_mode=True),
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, (3, 2), (2, 1), 1, count_include_pad=False),
        lambda x: F.lp_pool2d(x, 2, 2),
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
        lambda x: F.adaptive_max_pool2d(x, 2),
    ],
)
def test_poolings(call):
    agree(call, (2, 2, 5, 6))


def test_pooling_finds_the_first_nan():
    x = torch.tensor([[[1.0, float("nan"), 3.0, float("nan"), 2.0, 2.0]]])
    found = [F.max_pool1d(x.to(d), 2, return_indices=True) for d in ("cuda", "cpu")]
    assert found[0][1].tolist() == found[1][1].tolist() == [[[1, 3, 4]]]
    assert str(found[0][0].tolist()) == str(found[1][0].tolist())


def test_lines_and_volumes():
    agree(lambda x: F.max_pool1d(x, 2), (1, 2, 5))
    agree(lambda x: F.avg_pool3d(x, 2, 1), (1, 1, 3, 3, 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_windows_of_random_places_are_those_of_the_cpu(dtype):
    """By the same random numbers, without a copy to the host; a NaN is the largest."""
    for shape, kernel, counts in (((2, 1, 7, 6), (2, 3), (3, 1)), ((1, 1, 4, 3, 5), 2, (2, 1, 3))):
        x = torch.randn(shape, dtype=dtype)
        x[0, 0, 1, 1] = float("nan")
        samples = torch.rand(*shape[:2], len(shape) - 2, dtype=dtype)
        pool = F.fractional_max_pool2d if len(shape) == 4 else F.fractional_max_pool3d
        found = []
        for device in ("cpu", "cuda"):
            given = x.to(device).requires_grad_()
            drawn, before = samples.to(device), driver().waits
            made, where = pool(given, kernel, counts, return_indices=True, _random_samples=drawn)
            (grad,) = torch.autograd.grad(made.sum(), given)
            assert driver().waits == before
            found.append([str(y.tolist()) for y in (made, where, grad)])
        assert found[0] == found[1]


def test_a_net_of_convolutions_is_trained():
    def losses(device):
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(8, 3),
        ).to(device)  # fmt: skip
        steps = torch.optim.Adam(net.parameters(), lr=0.05)
        torch.manual_seed(1)
        x, y = torch.randn(3, 1, 4, 4).to(device), torch.tensor([0, 1, 2]).to(device)
        made = []
        for _ in range(3):
            steps.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            steps.step()
            made.append(loss.item())
        return made

    np.testing.assert_allclose(losses("cuda"), losses("cpu"), rtol=1e-4)
