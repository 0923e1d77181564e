"""Attention on the device: kernels that keep no matrix of scores, against the CPU's definition."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn

F = nn.functional
TOLERANCES = {"float64": 1e-10, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


def agree(given, mask=None, order=1, **options):
    """Results and gradients are those of the CPU, and the kernels made them."""
    found = []
    for device in ("cpu", "cuda"):
        inputs = [x.detach().to(device).requires_grad_() for x in given]
        own = None if mask is None else mask.to(device)
        made = F.scaled_dot_product_attention(*inputs, own, **options)
        grads = torch.autograd.grad(
            made.double().sin().sum(), inputs, create_graph=order > 1
        )  # of different sign and size
        values = [made, *grads]
        if order > 1:
            values += torch.autograd.grad(sum([(x * x).sum() for x in grads]), inputs)
        found.append([x.detach().cpu().double().numpy() for x in values])
    assert type(made.grad_fn).__mro__[1].__name__ == "KernelNode"
    tolerance = TOLERANCES[str(given[0].dtype).removeprefix("torch.")]
    for own, other in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(own, other, tolerance, tolerance)


def drawn(queries, keys, width=3, wide=None, heads=(2, 2), dtype="float64"):
    """Queries, keys and values."""
    torch.manual_seed(0)
    shapes = [(queries, width), (keys, width), (keys, width if wide is None else wide)]
    return [torch.randn(*heads, *x).to(getattr(torch, dtype)) for x in shapes]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys", "wide"), [(5, 7, 5), (6, 6, 2), (9, 4, 3), (1, 9, 1)])
def test_values_and_gradients(queries, keys, wide, causal):
    """More tiles than one, and such as are not full."""
    agree(drawn(queries, keys, 3, wide), is_causal=causal)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_other_dtypes(dtype):
    agree(drawn(5, 6, 4, dtype=dtype, heads=(1, 2)), scale=0.3)


@pytest.mark.parametrize("shape", [(5, 6), (2, 1, 5, 1), (1, 2, 1, 6), (6,)])
def test_masks_broadcast(shape):
    agree(drawn(5, 6), torch.randn(shape).double())


def test_a_mask_of_booleans_and_queries_that_see_nothing():
    mask = torch.rand(5, 6) > 0.5
    mask[2] = False
    agree(drawn(5, 6), mask)


def test_heads_that_lie_behind_positions():
    """As layers lay them out: nothing is copied first."""
    agree([x.transpose(1, 2).contiguous().transpose(1, 2) for x in drawn(5, 6)])


def test_gradients_of_gradients():
    agree(drawn(3, 4, heads=(1, 1)), order=2)


def test_no_matrix_of_scores_is_kept():
    q = torch.zeros(1, 1, 48, 2, device="cuda", requires_grad=True)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    F.scaled_dot_product_attention(q, q, q)
    assert torch.cuda.max_memory_allocated() - before < 48 * 48 * 4


def test_masks_that_learn_and_dropout_are_composed():
    q, k, v = [x.cuda() for x in drawn(3, 4, heads=(1, 1))]
    mask = torch.zeros(3, 4, dtype=torch.float64, device="cuda", requires_grad=True)
    F.scaled_dot_product_attention(q, k, v, mask).sum().backward()
    assert mask.grad.shape == (3, 4)
    assert F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).is_cuda


def test_wide_heads_have_a_kernel_for_keys_and_one_for_values():
    agree(drawn(3, 5, 32, 30, heads=(1, 1), dtype="float32"))


def test_a_program_has_attention():
    def losses(compiled):
        torch.manual_seed(0)
        layer = nn.Linear(4, 4).to("cuda")
        steps = torch.optim.SGD(layer.parameters(), lr=0.01)
        x = torch.randn(1, 2, 5, 4).to("cuda")

        def step(x):
            steps.zero_grad()
            q = layer(x)
            loss = F.scaled_dot_product_attention(q, q, q).square().sum()
            loss.backward()
            steps.step()
            return loss

        run = torch.compile(step) if compiled else step
        return [run(x).item() for _ in range(4)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that a step runs uncompiled is a warning
        found = losses(True)
    np.testing.assert_allclose(found, losses(False), rtol=1e-5)
