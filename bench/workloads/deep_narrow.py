"""deep_narrow: fifty small layers, where everything but overhead is nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .workload import Task, Workload, linear_weights, mlp, normal

LAYERS, WIDTH, BATCH = 50, 32, 8
RATE = 0.01


def data():
    """Input and target."""
    return normal(1000, BATCH, WIDTH), normal(1001, BATCH, WIDTH)


def make(torch: Any) -> Task:
    """The step for a torch-like library."""
    net = mlp(torch, [WIDTH] * (LAYERS + 1), torch.nn.Tanh, activate_last=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)

    def step(x, y):
        optimizer.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    arguments = tuple([torch.from_numpy(each) for each in data()])
    return Task(step, arguments, list(net.parameters()))


def make_jax():
    """The step for JAX."""
    import jax
    import jax.numpy as jnp

    from .jax_training import sgd, train

    def loss_of(layers, x, y):
        def layer(x, weight_and_bias):
            weight, bias = weight_and_bias
            return jnp.tanh(x @ weight + bias), None

        # A scan over stacked weights: in JAX quicker than fifty layers one by one.
        x, _ = jax.lax.scan(layer, x, layers)
        return jnp.mean((x - y) ** 2)

    weights, biases = zip(*linear_weights([WIDTH] * (LAYERS + 1)), strict=True)
    return train(loss_of, (np.stack(weights), np.stack(biases)), data(), sgd(RATE))


workload = Workload("deep_narrow", "50 layers of width 32, tanh, batch 8, SGD", 0.4, make, make_jax)
