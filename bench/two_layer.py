"""The two-layer net of the examples, as a function of the library that runs it.

Also a script: ``python bench/two_layer.py numbagrad|torch|jax [STEPS]`` trains it once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

BATCH, INPUTS, HIDDEN, OUTPUTS = 64, 1000, 100, 10
LEARNING_RATE = 1e-6


def make_step(torch: Any) -> Callable[[], Any]:
    """A training step on data from seed 0; each call returns the loss as a Tensor."""

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

    torch.manual_seed(0)
    x = torch.randn(BATCH, INPUTS)
    y = torch.randn(BATCH, OUTPUTS)
    w1 = torch.randn(INPUTS, HIDDEN, requires_grad=True)
    w2 = torch.randn(HIDDEN, OUTPUTS, requires_grad=True)

    def step():
        loss = (MyReLU.apply(x.mm(w1)).mm(w2) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            w1.sub_(LEARNING_RATE * w1.grad)
            w2.sub_(LEARNING_RATE * w2.grad)
            w1.grad.zero_()
            w2.grad.zero_()
        return loss

    return step


def train_jax(steps: int) -> float:
    """The same net, jitted whole, with its buffers donated."""
    import functools

    import jax
    import jax.numpy as jnp
    import numpy as np

    rng = np.random.default_rng(0)
    x, y, *weights = (
        jnp.asarray(rng.standard_normal(shape), dtype=jnp.float32)
        for shape in ((BATCH, INPUTS), (BATCH, OUTPUTS), (INPUTS, HIDDEN), (HIDDEN, OUTPUTS))
    )

    def loss_of(weights):
        w1, w2 = weights
        return jnp.sum((jnp.maximum(x @ w1, 0) @ w2 - y) ** 2)

    @functools.partial(jax.jit, donate_argnums=0)
    def step(weights):
        loss, gradients = jax.value_and_grad(loss_of)(weights)
        updated = [w - LEARNING_RATE * g for w, g in zip(weights, gradients, strict=True)]
        return loss, updated

    for _ in range(steps):
        loss, weights = step(weights)
    return float(loss)


def main(library: str, steps: int) -> None:
    """Train for so many steps and print the last loss."""
    if library == "jax":
        print(train_jax(steps))
        return
    step = make_step(__import__(library))
    for _ in range(steps):
        loss = step().item()
    print(loss)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500)
