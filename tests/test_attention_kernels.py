"""Attention by blocks against its definition, and against torch's rules for masks."""

import math
import threading

import pytest

import numbagrad as torch
from numbagrad.dispatch import layers
from numbagrad.executor.families import attention as executor
from numbagrad.nn import functional as F
from numbagrad.nn.functional import attention

#: Shapes of queries, lengths of keys, widths of values: whole blocks, parts of them, several.
SHAPES = {
    "one block": ((2, 2, 48, 16), 48, 16),
    "parts of blocks": ((1, 2, 70, 7), 101, 33),
    "few queries": ((2, 2, 3, 5), 200, 4),
    "wide": ((1, 1, 65, 130), 100, 250),
}
MASKS = {
    "none": lambda *shape: None,
    "every head": lambda n, h, queries, keys: torch.randn(n, h, queries, keys),
    "all heads": lambda n, h, queries, keys: torch.randn(queries, keys),
    "keys": lambda n, h, queries, keys: torch.randn(n, 1, 1, keys),
}


@pytest.fixture(autouse=True)
def blocks_for_few_scores_too(monkeypatch):
    monkeypatch.setattr(executor, "_FEW", 0)


def outcome(attend, operands, grad):
    made = attend(*operands)
    return [made, *torch.autograd.grad(made, operands[:3], grad)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_blocks_give_what_the_definition_gives(shape, mask, dtype):
    torch.manual_seed(0)
    (n, heads, queries, width), keys, wide = SHAPES[shape]
    shapes = (queries, width), (keys, width), (keys, wide)
    q, k, v = [torch.randn(n, heads, *x, dtype=dtype, requires_grad=True) for x in shapes]
    made = MASKS[mask](n, heads, queries, keys)
    made = None if made is None else made.to(dtype)
    grad = torch.randn(n, heads, queries, wide, dtype=dtype)
    rough = 1e-5 if dtype == torch.float32 else 1e-12
    for causal in (True, False) if made is None else (False,):
        operands = q, k, v, made, causal, 0.3
        ours = outcome(attention._blockwise, operands, grad)
        expected = outcome(attention._attention, operands, grad)
        for x, y in zip(ours, expected, strict=True):
            torch.testing.assert_close(x, y, rtol=rough, atol=rough)


def test_operands_that_are_not_contiguous():
    torch.manual_seed(0)
    q, k, v = [torch.randn(2, 20, 3, 8).transpose(1, 2).requires_grad_() for _ in range(3)]
    grad = torch.randn(2, 20, 3, 8).transpose(1, 2)
    operands = q, k, v, None, True, 0.5
    pairs = zip(
        outcome(attention._blockwise, operands, grad),
        outcome(attention._attention, operands, grad),
        strict=True,
    )
    for x, y in pairs:
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5)


def test_a_query_that_sees_nothing_gets_zeros():
    q, k, v = [torch.randn(1, 2, 60, 4, requires_grad=True) for _ in range(3)]
    for nothing in (torch.arange(60).unsqueeze(1) != 7, torch.zeros(60, 60)):
        mask = nothing.expand(60, 60)
        if mask.dtype != torch.bool:
            mask = mask.clone()
            mask[7] = -math.inf
        made = F.scaled_dot_product_attention(q, k, v, mask)
        grads = torch.autograd.grad(made.sum(), (q, k, v))
        assert not made[:, :, 7].any() and not grads[0][:, :, 7].any()
        assert all([bool(x.isfinite().all()) for x in (made, *grads)])


def test_not_a_number_stays_in_its_row():
    q, k, v = [torch.randn(1, 1, 50, 4) for _ in range(3)]
    q[0, 0, 3, 1] = math.nan
    made = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert made[0, 0, 3].isnan().all() and made.isnan().sum() == 4


def test_gradients_of_gradients():
    torch.manual_seed(0)
    operands = [torch.randn(1, 2, 5, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    mask = torch.randn(5, 5) > -1
    for options in ({"is_causal": True}, {"attn_mask": mask}):

        def attend(*given, options=options):
            return F.scaled_dot_product_attention(*given, **options)

        assert torch.autograd.gradcheck(attend, operands)
        assert torch.autograd.gradgradcheck(attend, operands)


def test_a_mask_that_learns_has_a_gradient():
    q, k, v = [torch.randn(1, 2, 9, 4) for _ in range(3)]
    mask = torch.zeros(9, 9, requires_grad=True)
    F.scaled_dot_product_attention(q, k, v, mask).square().sum().backward()
    assert mask.grad.abs().sum() > 0


def test_no_matrix_of_all_scores_is_kept():
    q, k, v = [torch.randn(1, 1, 300, 4, requires_grad=True) for _ in range(3)]
    node = F.scaled_dot_product_attention(q, k, v, is_causal=True).grad_fn
    assert max([x.size for x in node.kept]) == 300


def test_layers_that_others_need_do_not_change_the_way_of_a_call():
    q, k, v = [torch.randn(1, 1, 300, 4, requires_grad=True) for _ in range(3)]
    lstm = torch.nn.LSTM(4, 5)
    stop, entered = threading.Event(), threading.Event()

    def casts():
        with torch.autocast("cpu"):
            entered.set()
            stop.wait(60)

    other = threading.Thread(target=casts)
    other.start()
    try:
        assert entered.wait(60) and layers.active
        node = F.scaled_dot_product_attention(q, k, v, is_causal=True).grad_fn
        assert max([x.size for x in node.kept]) == 300
        names = {type(x).__name__ for x in graph_of(lstm(torch.randn(6, 2, 4))[0])}
        assert "MkldnnRnnLayerBackward0" in names
    finally:
        stop.set()
        other.join()


def graph_of(tensor):
    """All nodes behind a tensor."""
    found, pending = [], [tensor.grad_fn]
    while pending:
        node = pending.pop()
        if node is not None and node not in found:
            found.append(node)
            pending += [x for x, _ in node.next_functions]
    return found


def test_compiled_attention_follows_eager_attention():
    torch.manual_seed(0)
    q, k, v = [torch.randn(2, 2, 70, 8, requires_grad=True) for _ in range(3)]
    mask = torch.randn(70, 70)

    def step(q, k, v):
        made = F.scaled_dot_product_attention(q, k, v, mask).square().mean()
        return torch.autograd.grad(made, (q, k, v))

    run = torch.compile(step, fullgraph=True)
    for _ in range(4):
        made = run(q, k, v)
    for x, y in zip(made, step(q, k, v), strict=True):
        torch.testing.assert_close(x, y)


def test_samples_of_a_batch():
    q, k, v = [torch.randn(3, 2, 2, 40, 8) for _ in range(3)]
    made = torch.vmap(lambda *x: F.scaled_dot_product_attention(*x, is_causal=True))(q, k, v)
    for number in range(3):
        expected = F.scaled_dot_product_attention(q[number], k[number], v[number], is_causal=True)
        torch.testing.assert_close(made[number], expected)
