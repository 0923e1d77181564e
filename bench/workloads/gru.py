"""gru: a gated recurrent unit with its cell written out (Cho et al., 2014), unrolled in time."""

from __future__ import annotations

from typing import Any

from .workload import Task, Workload, leaf, normal

STEPS, BATCH, INPUTS, HIDDEN = 50, 16, 64, 64
RATE = 0.1


def data():
    """The sequence and the target of the last state."""
    return normal(100, STEPS, BATCH, INPUTS), normal(101, BATCH, HIDDEN, scale=0.5)


def weights():
    """Weights of input and state and their biases, for the three gates side by side."""
    return [
        normal(1, INPUTS, 3 * HIDDEN, scale=INPUTS**-0.5),
        normal(2, HIDDEN, 3 * HIDDEN, scale=HIDDEN**-0.5),
        normal(3, 3 * HIDDEN, scale=0.1),
        normal(4, 3 * HIDDEN, scale=0.1),
    ]


def make(torch: Any) -> Task:
    """The step for a torch-like library."""
    parameters = [leaf(torch, array) for array in weights()]
    optimizer = torch.optim.SGD(parameters, lr=RATE)

    def cell(x, state):
        w_input, w_state, b_input, b_state = parameters
        from_input = x @ w_input + b_input
        from_state = state @ w_state + b_state
        reset_x, update_x, new_x = from_input.chunk(3, 1)
        reset_h, update_h, new_h = from_state.chunk(3, 1)
        update = torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
        return new + update * (state - new)

    def step(sequence, target):
        optimizer.zero_grad()
        state = torch.zeros(BATCH, HIDDEN)
        for x in sequence.unbind(0):
            state = cell(x, state)
        loss = (state - target).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return Task(step, tuple([torch.from_numpy(each) for each in data()]), parameters)


def make_jax():
    """The step for JAX."""
    import jax
    import jax.numpy as jnp

    from .jax_training import sgd, train

    def loss_of(parameters, sequence, target):
        w_input, w_state, b_input, b_state = parameters

        def cell(state, x):
            reset_x, update_x, new_x = jnp.split(x @ w_input + b_input, 3, axis=1)
            reset_h, update_h, new_h = jnp.split(state @ w_state + b_state, 3, axis=1)
            update = jax.nn.sigmoid(update_x + update_h)
            new = jnp.tanh(new_x + jax.nn.sigmoid(reset_x + reset_h) * new_h)
            return new + update * (state - new), None

        state, _ = jax.lax.scan(cell, jnp.zeros((BATCH, HIDDEN)), sequence)
        return jnp.mean((state - target) ** 2)

    return train(loss_of, weights(), data(), sgd(RATE))


workload = Workload(
    "gru", "cell written out, 50 steps, batch 16, hidden 64, SGD", 0.6, make, make_jax
)
