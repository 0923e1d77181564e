"""small_many: a hundred small parameters whose gradients accumulate."""

from __future__ import annotations

from typing import Any

from .workload import Task, Workload, leaf, normal

COUNT, SIZE = 100, 8


def data():
    """The parameters."""
    return [normal(seed, SIZE, SIZE) for seed in range(COUNT)]


def make(torch: Any) -> Task:
    """The step for a torch-like library."""
    parameters = [leaf(torch, array) for array in data()]

    def step():
        total = (parameters[0] * parameters[0]).sum()
        for parameter in parameters[1:]:
            total = total + (parameter * parameter).sum()
        total.backward()
        return total

    return Task(step, (), parameters)


def make_jax():
    """The step for JAX, the accumulated gradients donated."""
    import functools

    import jax
    import jax.numpy as jnp

    def total_of(parameters):
        return sum([jnp.sum(parameter * parameter) for parameter in parameters])

    @functools.partial(jax.jit, donate_argnums=1)
    def step(parameters, accumulated):
        total, gradients = jax.value_and_grad(total_of)(parameters)
        return total, [a + g for a, g in zip(accumulated, gradients, strict=True)]

    parameters = [jnp.asarray(array) for array in data()]
    accumulated = [jnp.zeros_like(parameter) for parameter in parameters]

    def run():
        nonlocal accumulated
        total, accumulated = step(parameters, accumulated)
        return total.block_until_ready()

    return run


workload = Workload(
    "small_many", "100 parameters 8×8, sum of squares, backward, accumulate", 0.3, make, make_jax
)
