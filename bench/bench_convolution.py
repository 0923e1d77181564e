"""Convolutions, pooling and their kin beside torch, forward and backward; LeNet's training step."""

import pytest
import torch

import numbagrad

CONVOLUTIONS = {
    "conv2d (32, 64, 28, 28), 3×3 to 64": (
        "conv2d", (32, 64, 28, 28), (64, 64, 3, 3), {"padding": 1}
    ),
    "conv2d (16, 3, 64, 64), 7×7 to 32, stride 2": (
        "conv2d", (16, 3, 64, 64), (32, 3, 7, 7), {"padding": 3, "stride": 2}
    ),
    "conv2d (16, 96, 28, 28), 3×3, depthwise": (
        "conv2d", (16, 96, 28, 28), (96, 1, 3, 3), {"padding": 1, "groups": 96}
    ),
    "conv2d (32, 256, 14, 14), 1×1 to 64": ("conv2d", (32, 256, 14, 14), (64, 256, 1, 1), {}),
    "conv_transpose2d (16, 64, 14, 14), 4×4 to 32, stride 2": (
        "conv_transpose2d", (16, 64, 14, 14), (64, 32, 4, 4), {"padding": 1, "stride": 2}
    ),
    "conv1d (16, 64, 1000), 5 to 64": ("conv1d", (16, 64, 1000), (64, 64, 5), {"padding": 2}),
}  # fmt: skip

POOLING = {
    "max_pool2d 2, (16, 64, 56, 56)": ((16, 64, 56, 56), lambda F, x: F.max_pool2d(x, 2)),
    "max_pool2d 3, stride 2, (16, 64, 56, 56)": (
        (16, 64, 56, 56), lambda F, x: F.max_pool2d(x, 3, 2, 1)
    ),
    "avg_pool2d 2, (16, 64, 56, 56)": ((16, 64, 56, 56), lambda F, x: F.avg_pool2d(x, 2)),
    "batch_norm (16, 64, 28, 28)": (
        (16, 64, 28, 28), lambda F, x: F.batch_norm(x, None, None, training=True)
    ),
    "interpolate nearest 2, (8, 32, 28, 28)": (
        (8, 32, 28, 28), lambda F, x: F.interpolate(x, scale_factor=2, mode="nearest")
    ),
    "interpolate bilinear 2, (8, 32, 28, 28)": (
        (8, 32, 28, 28), lambda F, x: F.interpolate(x, scale_factor=2, mode="bilinear")
    ),
}  # fmt: skip


def forward_and_backward(library, function, *tensors):
    """``function(*tensors)`` and the gradients of all of them, for a gradient of ones."""
    grad = library.ones_like(function(*tensors))
    return lambda: library.autograd.grad(function(*tensors), tensors, grad)


def convolution(library, name):
    function, shape, weights, options = CONVOLUTIONS[name]
    library.manual_seed(0)
    x = library.randn(*shape, requires_grad=True)
    w = library.randn(*weights, requires_grad=True)
    convolve = getattr(library.nn.functional, function)
    return forward_and_backward(library, lambda x, w: convolve(x, w, **options), x, w)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(race, name):
    race(
        "Convolution, float32, forward and backward",
        name,
        bar=1.0,
        numbagrad=convolution(numbagrad, name),
        torch=convolution(torch, name),
    )


def pooling(library, name):
    shape, function = POOLING[name]
    x = library.randn(*shape, requires_grad=True)
    return forward_and_backward(library, lambda x: function(library.nn.functional, x), x)


@pytest.mark.parametrize("name", POOLING)
def test_pooling(race, name):
    race(
        "Pooling and its kin, float32, forward and backward",
        name,
        bar=1.0,
        numbagrad=pooling(numbagrad, name),
        torch=pooling(torch, name),
    )


def lenet_step(library, compiled=False):
    """A step of SGD with momentum, batch 64 of 28×28."""
    nn = library.nn
    library.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    optimizer = library.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x, y = library.randn(64, 1, 28, 28), library.randint(0, 10, (64,))

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = library.compile(step) if compiled else step
    return lambda: run(x, y)


@pytest.mark.parametrize("how, bar", [("eager", 0.8), ("compiled", 0.5)])
def test_lenet(race, how, bar):
    race(
        "LeNet, batch 64",
        f"{how}, over torch eager",
        bar=bar,
        numbagrad=lenet_step(numbagrad, how == "compiled"),
        torch=lenet_step(torch),
    )
