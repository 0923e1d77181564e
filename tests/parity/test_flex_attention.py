"""``flex_attention`` and block masks, beside torch's without its compiler."""

import math

import numpy as np
import pytest
import torch as oracle
from torch.nn.attention import flex_attention as theirs

import numbagrad
from numbagrad.nn.attention import flex_attention as ours

#: torch compiles the function to trace it, unless this is set.
theirs._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True

RNG = np.random.default_rng(0)
SLOPES = RNG.standard_normal(4).astype(np.float32)
TABLE = RNG.standard_normal((4, 13)).astype(np.float32)
LENGTHS = np.array([5, 3])
PARTS = np.array([0, 0, 0, 1, 1, 1, 1])


def causal(b, h, q, k):
    return q >= k


#: By name a function of the library and the tensors that it uses.
SCORES = {
    "none": lambda torch: None,
    "relative": lambda torch: lambda score, b, h, q, k: score + (q - k),
    "alibi": lambda torch: lambda score, b, h, q, k: score + torch.tensor(SLOPES)[h] * (k - q),
    "soft cap": lambda torch: lambda score, b, h, q, k: torch.tanh(score / 2) * 2,
    "causal": lambda torch: lambda score, b, h, q, k: torch.where(q >= k, score, -math.inf),
}
MASKS = {
    "none": lambda torch, flex: None,
    "causal": lambda torch, flex: causal,
    "nothing seen by the first": lambda torch, flex: lambda b, h, q, k: q > k,
    "lengths": lambda torch, flex: lambda b, h, q, k: k < torch.tensor(LENGTHS)[b],
    "documents": lambda torch, flex: (
        lambda b, h, q, k: torch.tensor(PARTS)[q] == torch.tensor(PARTS)[k]
    ),
    "window": lambda torch, flex: flex.and_masks(causal, lambda b, h, q, k: q - k <= 2),
    "either": lambda torch, flex: flex.or_masks(causal, lambda b, h, q, k: h % 2 == 0),
    "all": lambda torch, flex: flex.noop_mask,
}


def operands(torch):
    sizes = (2, 4, 7, 8), (2, 2, 7, 8), (2, 2, 7, 6)
    draws = [np.random.default_rng(seed).standard_normal(size) for seed, size in enumerate(sizes)]
    return [torch.tensor(x.astype(np.float32)) for x in draws]


def attention(torch, flex, score, mask, *operands):
    mask_mod = MASKS[mask](torch, flex)
    blocks = mask_mod and flex.create_block_mask(mask_mod, 2, 4, 7, 7, device="cpu")
    result, extra = flex.flex_attention(
        *operands, SCORES[score](torch), blocks, scale=0.3, enable_gqa=True,
        return_aux=flex.AuxRequest(lse=True),
    )  # fmt: skip
    return result, extra.lse


def written_out(score, mask, query, key, value):
    """The same by torch, which has no gradients of ``flex_attention`` on the CPU."""
    key, value = [x.repeat_interleave(2, 1) for x in (key, value)]
    scores = query @ key.transpose(-2, -1) * 0.3
    places = [
        oracle.arange(size).view([-1 if dim == here else 1 for here in range(4)])
        for dim, size in enumerate(scores.shape)
    ]
    change, mask_mod = SCORES[score](oracle), MASKS[mask](oracle, theirs)
    scores = scores if change is None else change(scores, *places)
    if mask_mod is not None:
        scores = oracle.where(mask_mod(*places), scores, -math.inf)
    hidden = (scores == -math.inf).all(-1, keepdim=True)
    return oracle.where(hidden, 0, oracle.where(hidden, 0, scores).softmax(-1)) @ value


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_results_and_gradients(score, mask):
    leaves = [x.requires_grad_() for x in operands(numbagrad)]
    found, lse = attention(numbagrad, ours, score, mask, *leaves)
    expected, their_lse = attention(oracle, theirs, score, mask, *operands(oracle))
    np.testing.assert_allclose(found.detach().numpy(), expected.numpy(), rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(lse.detach().numpy(), their_lse.numpy(), rtol=2e-5, atol=2e-6)
    their_leaves = [x.requires_grad_() for x in operands(oracle)]
    again = written_out(score, mask, *their_leaves)
    gradients = numbagrad.autograd.grad((found + 1).square().sum(), leaves)
    expected = oracle.autograd.grad((again + 1).square().sum(), their_leaves)
    for a, b in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_of_what_the_functions_use():
    x = np.random.default_rng(4).standard_normal((1, 4, 7, 8)).astype(np.float32)
    table = numbagrad.tensor(TABLE, requires_grad=True)
    query = numbagrad.tensor(x)
    ours.flex_attention(
        query, query, query, lambda score, b, h, q, k: score + table[h, q - k + 6]
    ).square().sum().backward()
    their_table, query = oracle.tensor(TABLE, requires_grad=True), oracle.tensor(x)
    bias = their_table[:, oracle.arange(7)[:, None] - oracle.arange(7) + 6]
    scores = query @ query.transpose(-2, -1) / math.sqrt(8) + bias
    (scores.softmax(-1) @ query).square().sum().backward()
    np.testing.assert_allclose(table.grad.numpy(), their_table.grad.numpy(), rtol=1e-4, atol=1e-5)


def tables(mask):
    return [
        part.tolist() if hasattr(part, "tolist") else part
        for part in mask.as_tuple()
        if not callable(part)
    ]


@pytest.mark.parametrize("sizes", [128, (64, 128), (128, 32)])
@pytest.mark.parametrize("lengths", [(300, 300), (256, 384), (130, 64)])
@pytest.mark.parametrize("separate", [True, False])
def test_block_masks(sizes, lengths, separate):
    def made(flex):
        return flex.create_block_mask(
            lambda b, h, q, k: q + 40 * h >= k, None, 2, *lengths, "cpu", sizes,
            separate_full_blocks=separate,
        )  # fmt: skip

    found, expected = made(ours), made(theirs)
    assert tables(found) == tables(expected)
    assert found.shape == expected.shape and found.numel() == expected.numel()
    assert found.sparsity() == pytest.approx(expected.sparsity())
    assert found.to_dense().tolist() == expected.to_dense().tolist()
    assert str(found) == str(expected) and repr(found) == repr(expected)
    for pick in (0, (0, 1), (slice(None), -1), (0, slice(0, 1), slice(1, 2))):
        assert tables(found[pick]) == tables(expected[pick]), pick
    shorter = [mask._adjust(100, 60) for mask in (found, expected)]
    assert shorter[0].shape == shorter[1].shape
    assert shorter[0].to_dense().tolist() == shorter[1].to_dense().tolist()


def test_masks_as_tensors():
    for mod in (causal, SCORES["causal"]):
        masks = []
        for torch, flex in ((numbagrad, ours), (oracle, theirs)):
            function = mod if mod is causal else mod(torch)
            masks.append(flex.create_mask(function, None, 2, 3, 4, device="cpu").tolist())
        assert masks[0] == masks[1]


@pytest.mark.parametrize(
    "change",
    [
        lambda torch, flex, q: dict(key=torch.zeros(2, 2, 7, 8)),
        lambda torch, flex, q: dict(key=torch.zeros(2, 3, 7, 8), enable_gqa=True),
        lambda torch, flex, q: dict(query=q[0]),
        lambda torch, flex, q: dict(key=torch.zeros(2, 4, 7, 5)),
        lambda torch, flex, q: dict(
            block_mask=flex.create_block_mask(causal, None, None, 9, 9, device="cpu")
        ),
        lambda torch, flex, q: dict(
            block_mask=flex.create_block_mask(causal, None, None, 5, 7, device="cpu")
        ),
        lambda torch, flex, q: dict(return_lse=True, return_aux=flex.AuxRequest(lse=True)),
    ],
)
def test_wrong_arguments(change):
    texts = []
    for torch, flex in ((numbagrad, ours), (oracle, theirs)):
        q = torch.zeros(2, 4, 7, 8)
        with pytest.raises(Exception) as caught:  # noqa: PT011
            flex.flex_attention(**{"query": q, "key": q, "value": q, **change(torch, flex, q)})
        texts.append((type(caught.value), str(caught.value)))
    assert texts[0] == texts[1]


def test_bfloat16_is_computed_in_float32():
    x = np.random.default_rng(5).standard_normal((1, 1, 5, 4)).astype(np.float32)
    results = []
    for torch, flex in ((numbagrad, ours), (oracle, theirs)):
        half = torch.tensor(x).bfloat16()
        result = flex.flex_attention(half, half, half)
        assert result.dtype == torch.bfloat16
        results.append(result.float().numpy())
    np.testing.assert_allclose(*results, rtol=1e-2)
