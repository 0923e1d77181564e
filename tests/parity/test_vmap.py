"""``vmap`` against ``torch.func.vmap``: error texts, and values of what has rules of its own."""

import numpy as np
import pytest
import torch
from vmap_errors import ERRORS, message

import numbagrad


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_torch_says(name):
    call, _ = ERRORS[name]
    assert message(call, numbagrad, numbagrad.vmap) == message(call, torch, torch.func.vmap)


X = np.random.default_rng(0).standard_normal((4, 3, 5))

#: Calls of both libraries, given it and arrays as tensors.
CALLS = {
    "dims": lambda t, x: t.func.vmap(lambda a: a.sum(0), in_dims=-1, out_dims=1)(x),
    "nested": lambda t, x: t.func.vmap(t.func.vmap(lambda a: a / a.norm()), in_dims=1)(x),
    "structure": lambda t, x: t.func.vmap(
        lambda d: d["a"] @ d["b"], in_dims=({"a": 0, "b": None},)
    )({"a": x, "b": x[0].T}),
    "keywords are shared": lambda t, x: t.func.vmap(lambda a, b: a * b.sum())(x, b=x),
    "chunks": lambda t, x: t.func.vmap(lambda a: a.cumsum(0), chunk_size=3, out_dims=2)(x),
    "a result for all": lambda t, x: t.func.vmap(lambda a: t.ones(2))(x),
    "gradients": lambda t, x: t.func.vmap(t.func.grad(lambda a: (a.sin() ** 2).sum()))(x),
    "hessians": lambda t, x: t.func.vmap(t.func.hessian(lambda a: a.cos().prod()))(x[:, 0]),
    "written": lambda t, x: t.func.vmap(lambda a: a.clone().mul_(2).add_(a))(x),
    "a part written": lambda t, x: t.func.vmap(lambda a: t.zeros_like(a).index_fill(1, i(t), 2.0))(
        x
    ),
    "gathered": lambda t, x: t.func.vmap(lambda a, k: a[:, k])(x, i(t).expand(4, 2)),
    "sorted": lambda t, x: t.func.vmap(lambda a: a.sort(1).values)(x),
    "batched gradients": lambda t, x: t.autograd.grad(
        (leaf(t, x) ** 2).sum((1, 2)), LEAVES[t.__name__], t.eye(4, dtype=x.dtype),
        is_grads_batched=True,
    )[0],
}  # fmt: skip

LEAVES = {}


def leaf(t, x):
    LEAVES[t.__name__] = x.clone().requires_grad_()
    return LEAVES[t.__name__]


def i(t):
    return t.tensor([0, 2])


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_torch(name):
    made = CALLS[name](numbagrad, numbagrad.from_numpy(X))
    wanted = CALLS[name](torch, torch.from_numpy(X))
    assert tuple(made.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(
        made.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, atol=1e-12
    )
