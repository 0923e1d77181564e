"""pinn: a net that solves Burgers' equation, its second derivatives inside the loss.

After Raissi, Perdikaris and Karniadakis (2019): u_t + u u_x = ν u_xx at random points (t, x).
"""

from __future__ import annotations

import math
from typing import Any

from .workload import Task, Workload, linear_weights, mlp, uniform

POINTS, SIZES = 256, [2, 32, 32, 1]
RATE = 1e-3
VISCOSITY = 0.01 / math.pi


def data():
    """Points (t, x)."""
    return uniform(100, -1, 1, POINTS, 2)


def make(torch: Any) -> Task:
    """The step for a torch-like library."""
    net = mlp(torch, SIZES, torch.nn.Tanh)
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)

    def step(points):
        optimizer.zero_grad()
        u = net(points)
        (slope,) = torch.autograd.grad(u.sum(), points, create_graph=True)
        u_t, u_x = slope[:, 0:1], slope[:, 1:2]
        (curvature,) = torch.autograd.grad(u_x.sum(), points, create_graph=True)
        u_xx = curvature[:, 1:2]
        loss = (u_t + u * u_x - VISCOSITY * u_xx).pow(2).mean()
        loss.backward(inputs=parameters)
        optimizer.step()
        return loss

    parameters = list(net.parameters())
    return Task(step, (torch.from_numpy(data()).requires_grad_(),), parameters)


def make_jax():
    """The step for JAX."""
    import jax
    import jax.numpy as jnp

    from .jax_training import adam, train

    def u_of(layers, points):
        for weight, bias in layers[:-1]:
            points = jnp.tanh(points @ weight + bias)
        weight, bias = layers[-1]
        return points @ weight + bias

    def loss_of(layers, points):
        def value_and_slope(points):
            value, pull = jax.vjp(lambda points: u_of(layers, points), points)
            return value, *pull(jnp.ones_like(value))

        # Forward over reverse: in JAX quicker than two reverse passes, or two forward ones.
        along_x = jnp.zeros_like(points).at[:, 1].set(1)
        (u, slope), (_, curvature) = jax.jvp(value_and_slope, (points,), (along_x,))
        residual = slope[:, 0:1] + u * slope[:, 1:2] - VISCOSITY * curvature[:, 1:2]
        return jnp.mean(residual**2)

    return train(loss_of, linear_weights(SIZES), (data(),), adam(RATE))


workload = Workload(
    "pinn", "2-32-32-1 tanh, 256 points, second derivatives in the loss, Adam", 0.7, make, make_jax,
    torch_compiles=False,
)  # fmt: skip
