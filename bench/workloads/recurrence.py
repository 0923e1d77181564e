"""recurrence: y[t] = a y[t-1] + b x[t], an operator that its user writes as loops for Numba."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .workload import Task, Workload, leaf, normal, uniform

TIMES, CHANNELS = 4096, 64


def data():
    """The sequence, and the factors a and b of each channel."""
    return (
        normal(1, TIMES, CHANNELS),
        uniform(2, 0.5, 0.95, CHANNELS),
        normal(3, CHANNELS),
    )


def forward_loops(a, b, x, y):
    """Write y, given a, b and x."""
    state = np.zeros_like(a)
    for t in range(x.shape[0]):
        for k in range(a.size):
            state[k] = a[k] * state[k] + b[k] * x[t, k]
            y[t, k] = state[k]


def backward_loops(a, b, x, y, grad_y, grad_a, grad_b, grad_x):
    """Write the gradients of a, b and x, given that of y. Loops of one statement vectorise."""
    flow = np.zeros_like(a)  # what reaches y[t]
    grad_a[:] = 0
    grad_b[:] = 0
    for t in range(x.shape[0] - 1, -1, -1):
        for k in range(a.size):
            flow[k] = grad_y[t, k] + a[k] * flow[k]
        for k in range(a.size):
            grad_x[t, k] = flow[k] * b[k]
        for k in range(a.size):
            grad_b[k] += flow[k] * x[t, k]
        if t > 0:
            for k in range(a.size):
                grad_a[k] += flow[k] * y[t - 1, k]


@functools.cache
def compiled_loops(fastmath: bool = False):
    """The loops as Numba compiles them."""
    import numba

    compiler = numba.njit(fastmath=fastmath)
    return compiler(forward_loops), compiler(backward_loops)


def kernel_operator(torch: Any, fastmath: bool = False) -> Any:
    """``y = apply(a, b, x)``, declared with ``kernel()`` of numbagrad."""
    return torch.kernel(
        *compiled_loops(fastmath), shapes=lambda a, b, x: x, name="recurrence"
    )  # fmt: skip


def function_operator(torch: Any, fastmath: bool = False) -> Any:
    """The same as a ``Function`` of numbagrad or torch around the loops."""
    forward_kernel, backward_kernel = compiled_loops(fastmath)

    class Recurrence(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, x):
            y = torch.empty_like(x)
            forward_kernel(*[each.detach().numpy() for each in (a, b, x, y)])
            ctx.save_for_backward(a, b, x, y)
            return y

        @staticmethod
        def backward(ctx, grad_y):
            saved = ctx.saved_tensors
            gradients = [torch.empty_like(each) for each in saved[:3]]
            backward_kernel(*[each.detach().numpy() for each in (*saved, grad_y, *gradients)])
            return tuple(gradients)

    return Recurrence.apply


def step_with(torch: Any, operator: Any) -> Task:
    """The step of a torch-like library with one of these operators."""
    x, a, b = [leaf(torch, array) for array in data()]

    def step():
        for each in (x, a, b):
            each.grad = None
        loss = operator(a, b, x).pow(2).mean()
        loss.backward()
        return loss

    return Task(step, (), [x, a, b])


def make(torch: Any) -> Task:
    """The step for a torch-like library."""
    operator = kernel_operator if hasattr(torch, "kernel") else function_operator
    return step_with(torch, operator(torch))


def make_jax():
    """The step for JAX. Nothing is donated, since no input is used up."""
    import jax
    import jax.numpy as jnp

    def loss_of(x, a, b):
        def one(y, x):
            y = a * y + b * x
            return y, y

        _, y = jax.lax.scan(one, jnp.zeros_like(a), x)
        return jnp.mean(y**2)

    step = jax.jit(jax.value_and_grad(loss_of, argnums=(0, 1, 2)))
    arguments = [jnp.asarray(each) for each in data()]
    return lambda: jax.block_until_ready(step(*arguments))[0]


workload = Workload(
    "recurrence", "y[t] = a y[t-1] + b x[t], 4096×64, the user's loops, all gradients", 0.7,
    make, make_jax, torch_compiles=False,
)  # fmt: skip
