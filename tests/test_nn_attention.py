"""Attention and transformers without torch: the definition in NumPy, masks, gradients."""

import math

import numpy as np
import pytest

import numbagrad as ng
from numbagrad import nn
from numbagrad.autograd import gradcheck, gradgradcheck
from numbagrad.nn import functional as F


def double(*shape):
    return ng.randn(*shape, dtype=ng.float64, requires_grad=True)


def attention(q, k, v, mask=0.0):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("causal", [False, True])
def test_attention_by_its_definition(causal):
    ng.manual_seed(0)
    q, k, v = double(2, 3, 4, 5), double(2, 3, 4, 5), double(2, 3, 4, 6)
    made = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    mask = np.where(np.tri(4), 0, -np.inf) if causal else 0.0
    expected = attention(*[tensor.detach().numpy() for tensor in (q, k, v)], mask)
    np.testing.assert_allclose(made.detach().numpy(), expected, rtol=1e-12)


def test_gradients():
    ng.manual_seed(0)
    inputs = double(2, 3, 4), double(2, 5, 4), double(2, 5, 2)
    mask = ng.arange(5) < 4
    assert gradcheck(lambda *qkv: F.scaled_dot_product_attention(*qkv, mask), inputs)
    assert gradgradcheck(lambda *qkv: F.scaled_dot_product_attention(*qkv, mask), inputs)


def test_a_query_that_sees_nothing_gets_zeros():
    q = ng.randn(1, 2, 3, requires_grad=True)
    mask = ng.tensor([[True, False], [False, False]])
    made = F.scaled_dot_product_attention(q, q, q, mask)
    made.sum().backward()
    assert made[0, 1].tolist() == [0, 0, 0]
    assert bool(q.grad.isfinite().all())


def test_one_head_is_the_product():
    ng.manual_seed(0)
    layer = nn.MultiheadAttention(4, 1, batch_first=True).double()
    x = double(2, 3, 4)
    made, weights = layer(x, x, x)
    projections = layer.in_proj_weight.detach().numpy().reshape(3, 4, 4)
    q, k, v = [x.detach().numpy() @ projection.T for projection in projections]
    expected = attention(q, k, v) @ layer.out_proj.weight.detach().numpy().T
    np.testing.assert_allclose(made.detach().numpy(), expected, rtol=1e-10)
    assert weights.shape == (2, 3, 3)
    np.testing.assert_allclose(weights.sum(-1).detach().numpy(), 1, rtol=1e-12)


def test_weights_of_all_heads_or_none():
    layer = nn.MultiheadAttention(6, 3)
    x = ng.randn(4, 2, 6)
    assert layer(x, x, x, average_attn_weights=False)[1].shape == (2, 3, 4, 4)
    assert layer(x, x, x, need_weights=False)[1] is None
    np.testing.assert_allclose(
        layer(x, x, x)[0].detach().numpy(),
        layer(x, x, x, need_weights=False)[0].detach().numpy(),
        rtol=1e-5, atol=1e-6,
    )  # fmt: skip


def test_padding_does_not_matter():
    ng.manual_seed(0)
    layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True)
    x = ng.randn(1, 5, 6)
    longer = ng.cat([x, ng.randn(1, 2, 6)], 1)
    padding = ng.tensor([[False] * 5 + [True] * 2])
    short, long = layer(x), layer(longer, src_key_padding_mask=padding)
    np.testing.assert_allclose(
        short.detach().numpy(), long[:, :5].detach().numpy(), rtol=1e-4, atol=1e-5
    )


def test_a_causal_encoder_does_not_look_ahead():
    ng.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8), 2).eval()
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    x = ng.randn(4, 1, 6)
    changed = x.clone()
    changed[-1] = 5.0
    before, after = encoder(x, mask), encoder(changed, mask)
    # One of the calls may be the first that is fused, if the process has met many forms.
    ng.testing.assert_close(before[:-1], after[:-1], rtol=1e-5, atol=1e-5)
    assert not ng.allclose(before[-1], after[-1], rtol=1e-2)


def test_layers_of_a_stack_have_weights_of_their_own():
    stack = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2, nn.LayerNorm(4))
    assert stack.layers[0].linear1.weight is not stack.layers[1].linear1.weight
    assert len(list(stack.parameters())) == 2 * 18 + 2
