"""lenet: LeNet-5 on images of 28×28, cross entropy, SGD with momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .workload import Task, Workload, linear_weights, normal, set_values

BATCH, SIZE, CLASSES = 64, 28, 10
SIZES = [400, 120, 84, CLASSES]
RATE, MOMENTUM = 0.01, 0.9


def data():
    """A batch of images and their classes."""
    labels = np.random.default_rng(1).integers(0, CLASSES, BATCH)
    return normal(100, BATCH, 1, SIZE, SIZE), labels


def kernels() -> list[tuple[np.ndarray, np.ndarray]]:
    """Weight (out, in, 5, 5) and bias of both convolutions."""
    shapes = ((6, 1, 5, 5), (16, 6, 5, 5))
    return [
        (normal(50 + 2 * k, *shape, scale=0.1), normal(51 + 2 * k, shape[0], scale=0.1))
        for k, shape in enumerate(shapes)
    ]


def make(torch: Any) -> Task:
    """The step for a torch-like library."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, CLASSES),
    )  # fmt: skip
    layers = [*kernels(), *[(weight.T.copy(), bias) for weight, bias in linear_weights(SIZES)]]
    set_values(torch, net.parameters(), [array for layer in layers for array in layer])
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM)

    def step(images, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
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

    from .jax_training import momentum, train

    def convolved(x, kernel, bias, padding):
        made = jax.lax.conv(x, kernel, (1, 1), padding)
        return jnp.maximum(made + bias[:, None, None], 0)

    def pooled(x):
        window = (1, 1, 2, 2)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")

    def loss_of(layers, images, labels):
        first, second, *linear = layers
        x = pooled(convolved(images, *first, "SAME"))
        x = pooled(convolved(x, *second, "VALID")).reshape(BATCH, -1)
        for weight, bias in linear[:-1]:
            x = jnp.maximum(x @ weight + bias, 0)
        scores = x @ linear[-1][0] + linear[-1][1]
        return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(BATCH), labels])

    parameters = [*kernels(), *linear_weights(SIZES)]
    return train(loss_of, parameters, data(), momentum(RATE, MOMENTUM))


workload = Workload("lenet", "LeNet-5, batch 64, cross entropy, momentum", 0.5, make, make_jax)
