"""two_layer: the net of the examples, with a ReLU of the user's and an update written by hand."""

from __future__ import annotations

from typing import Any

from .workload import Task, Workload, leaf, normal

BATCH, INPUTS, HIDDEN, OUTPUTS = 64, 1000, 100, 10
RATE = 1e-6


def data():
    """Input, target and the two weights."""
    shapes = (BATCH, INPUTS), (BATCH, OUTPUTS), (INPUTS, HIDDEN), (HIDDEN, OUTPUTS)
    return [normal(seed, *shape) for seed, shape in enumerate(shapes)]


def make(torch: Any) -> Task:
    """The step for a torch-like library."""

    class MyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            grad_input = grad_output.clone()
            grad_input[x < 0] = 0
            return grad_input

    x, y, w1, w2 = data()
    w1, w2 = leaf(torch, w1), leaf(torch, w2)

    def step(x, y):
        w1.grad = None
        w2.grad = None
        loss = (MyReLU.apply(x.mm(w1)).mm(w2) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            w1.sub_(RATE * w1.grad)
            w2.sub_(RATE * w2.grad)
        return loss

    return Task(step, (torch.from_numpy(x), torch.from_numpy(y)), [w1, w2])


def make_jax():
    """The step for JAX."""
    import jax.numpy as jnp

    from .jax_training import sgd, train

    def loss_of(weights, x, y):
        w1, w2 = weights
        return jnp.sum((jnp.maximum(x @ w1, 0) @ w2 - y) ** 2)

    x, y, *weights = data()
    return train(loss_of, weights, (x, y), sgd(RATE))


workload = Workload(
    "two_layer", "64-1000-100-10, own ReLU, sum of squares, SGD by hand", 0.55, make, make_jax
)
