"""fused_rows: layer_norm, softmax and gelu of long rows, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from .workload import Task, Workload, leaf, normal

ROWS, WIDTH = 4096, 1024


def data():
    """Input, weight, bias, and the gradient of the result."""
    return (
        normal(1, ROWS, WIDTH),
        1 + normal(2, WIDTH, scale=0.1),
        normal(3, WIDTH, scale=0.1),
        normal(4, ROWS, WIDTH),
    )


def make(torch: Any) -> Task:
    """The step for a torch-like library; returns the result and all gradients."""
    functional = torch.nn.functional

    def step(x, weight, bias, gradient):
        normed = functional.layer_norm(x, (WIDTH,), weight, bias)
        result = functional.gelu(torch.softmax(normed, 1))
        gradients = torch.autograd.grad(result, (x, weight, bias), gradient)
        return result.detach(), *gradients

    x, weight, bias, gradient = data()
    leaves = [leaf(torch, each) for each in (x, weight, bias)]
    return Task(step, (*leaves, torch.from_numpy(gradient)), leaves)


def make_jax():
    """The step for JAX. Nothing is donated, since no input is used up."""
    import jax
    import jax.numpy as jnp

    def result_of(x, weight, bias):
        centred = x - x.mean(1, keepdims=True)
        variance = jnp.mean(centred**2, 1, keepdims=True)
        normed = centred * jax.lax.rsqrt(variance + np.float32(1e-5)) * weight + bias
        return jax.nn.gelu(jax.nn.softmax(normed, 1), approximate=False)

    @jax.jit
    def step(x, weight, bias, gradient):
        result, pull = jax.vjp(result_of, x, weight, bias)
        return result, *pull(gradient)

    arguments = [jnp.asarray(each) for each in data()]
    return lambda: jax.block_until_ready(step(*arguments))[0]


workload = Workload(
    "fused_rows", "layer_norm, softmax, gelu, forward and backward, 4096×1024", 0.5, make, make_jax
)
