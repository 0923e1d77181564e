"""mlp_adam: a small classifier, cross entropy and Adam."""

from __future__ import annotations

from typing import Any

import numpy as np

from .workload import Task, Workload, linear_weights, mlp, normal

BATCH, SIZES = 32, [784, 128, 10]
RATE = 1e-3


def data():
    """A batch of images and their classes."""
    labels = np.random.default_rng(1).integers(0, SIZES[-1], BATCH)
    return normal(100, BATCH, SIZES[0]), labels


def make(torch: Any) -> Task:
    """The step for a torch-like library."""
    net = mlp(torch, SIZES, torch.nn.ReLU)
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)

    def step(images, labels):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    images, labels = data()
    arguments = torch.from_numpy(images), torch.from_numpy(labels)
    return Task(step, arguments, list(net.parameters()))


def make_jax():
    """The step for JAX."""
    import jax
    import jax.numpy as jnp

    from .jax_training import adam, train

    def loss_of(layers, images, labels):
        (w1, b1), (w2, b2) = layers
        scores = jnp.maximum(images @ w1 + b1, 0) @ w2 + b2
        return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(BATCH), labels])

    return train(loss_of, linear_weights(SIZES), data(), adam(RATE))


workload = Workload("mlp_adam", "784-128-10, batch 32, cross entropy, Adam", 0.5, make, make_jax)
