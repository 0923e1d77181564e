"""A training step in JAX as its users write it: jitted whole, state donated, gradients by grad.

The workloads give the loss; this file adds the update. Imported by them only when JAX runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

#: (parameters, gradients, state) -> (parameters, state)
Update = Callable[[Any, Any, Any], tuple[Any, Any]]


def train(
    loss_of: Callable[..., Any],
    parameters: Any,
    arguments: tuple[Any, ...],
    optimizer: tuple[Callable[[Any], Any], Update],
) -> Callable[[], Any]:
    """A function that does one step on ``loss_of(parameters, *arguments)`` and returns the loss."""
    initial, update = optimizer
    parameters = jax.tree.map(jnp.array, parameters)
    state = initial(parameters)
    arguments = tuple([jnp.asarray(each) for each in arguments])

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(parameters, state, *arguments):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *arguments)
        parameters, state = update(parameters, gradients, state)
        return loss, parameters, state

    def run():
        nonlocal parameters, state
        loss, parameters, state = step(parameters, state, *arguments)
        return loss.block_until_ready()

    return run


def sgd(rate: float) -> tuple[Callable[[Any], Any], Update]:
    """Plain gradient descent."""

    def update(parameters, gradients, state):
        return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients), state

    return lambda parameters: (), update


def momentum(rate: float, factor: float) -> tuple[Callable[[Any], Any], Update]:
    """Gradient descent with torch's momentum."""

    def update(parameters, gradients, state):
        state = jax.tree.map(lambda b, g: factor * b + g, state, gradients)
        return jax.tree.map(lambda p, b: p - rate * b, parameters, state), state

    return lambda parameters: jax.tree.map(jnp.zeros_like, parameters), update


def adam(
    rate: float, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8
) -> tuple[Callable[[Any], Any], Update]:
    """Adam (Kingma and Ba, 2015) with torch's defaults."""

    def initial(parameters):
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return zeros, jax.tree.map(jnp.zeros_like, parameters), jnp.zeros((), jnp.float32)

    def update(parameters, gradients, state):
        first, second, count = state
        count = count + 1
        first = jax.tree.map(lambda m, g: betas[0] * m + (1 - betas[0]) * g, first, gradients)
        second = jax.tree.map(lambda v, g: betas[1] * v + (1 - betas[1]) * g * g, second, gradients)
        size = rate / (1 - betas[0] ** count)
        root = jnp.sqrt(1 - betas[1] ** count)
        parameters = jax.tree.map(
            lambda p, m, v: p - size * m / (jnp.sqrt(v) / root + epsilon),
            parameters, first, second,
        )  # fmt: skip
        return parameters, (first, second, count)

    return initial, update
