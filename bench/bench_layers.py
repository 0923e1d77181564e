"""Many small layers and nodes: what an eager training step costs beside its arithmetic."""

import torch

import numbagrad

TABLE = "Small tensors, eager"


def training_step(library):
    """50 layers of Linear(32, 32) and tanh, batch 8: forward, backward and a step of SGD."""
    library.manual_seed(0)
    layers = [f() for _ in range(50) for f in (lambda: library.nn.Linear(32, 32), library.nn.Tanh)]
    net = library.nn.Sequential(*layers)
    x, y = library.randn(8, 32), library.randn(8, 32)
    optimizer = library.optim.SGD(net.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_fifty_layers(race):
    race(
        TABLE,
        "50 layers of Linear(32, 32) and tanh, batch 8: forward, backward, SGD",
        bar=0.6,
        numbagrad=training_step(numbagrad),
        torch=training_step(torch),
    )


def identity_step(library):
    """Forward and backward of a Function that returns its input."""

    class Identity(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    x, grad = library.randn(8, 8, requires_grad=True), library.ones(8, 8)
    return lambda: Identity.apply(x).backward(grad)


def test_identity_function(race):
    race(
        TABLE,
        "Function.apply of an identity on 8×8, forward and backward",
        bar=0.6,
        numbagrad=identity_step(numbagrad),
        torch=identity_step(torch),
    )
