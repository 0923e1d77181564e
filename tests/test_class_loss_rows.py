"""Losses of classes in the loop over the rows of scores: one pass forward, one backward."""

import numpy as np
import pytest
from compile_checks import needs_programs

import numbagrad as torch
from numbagrad.nn.functional.class_loss import _class_loss

F = torch.nn.functional
INF, NAN = float("inf"), float("nan")


def in_two_steps(x, target, *rest):
    """The same loss by operators of their own."""
    weight, ignored, reduction = rest
    logarithms = F.log_softmax(x, -1)
    return F.nll_loss(logarithms, target, weight, None, ignored, None, reduction)


def in_one(x, target, weight, ignored, reduction):
    return F.cross_entropy(x, target, weight, None, ignored, None, reduction)


def loss_and_gradient(function, scores, *arguments):
    x = torch.from_numpy(scores.copy()).requires_grad_()
    loss = function(x, *arguments)
    loss.backward(torch.arange(1, loss.numel() + 1, dtype=x.dtype).reshape(loss.shape))
    return loss.detach().numpy(), x.grad.numpy()


def agree(scores, *arguments):
    made, expected = (loss_and_gradient(f, scores, *arguments) for f in (in_one, in_two_steps))
    tolerance = 1e-5 if scores.dtype == np.float32 else 1e-12
    for a, b in zip(made, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 3), (9, 5), (40, 1000), (700, 64), (3, 1)])
def test_one_pass_is_the_two_steps(shape, dtype, reduction):
    draw = np.random.default_rng(4)
    scores = draw.standard_normal(shape).astype(dtype)
    target = torch.from_numpy(draw.integers(0, shape[1], shape[0]))
    weight = torch.from_numpy((draw.random(shape[1]) + 0.5).astype(dtype))
    for each in (None, weight):
        agree(scores, target, each, -100, reduction)
        agree(scores, target, each, int(target[0]), reduction)


@pytest.mark.parametrize("ignored", [-100, -1, 1 << 40, (1 << 32) + 2, 7])
def test_ignored_elements_count_for_nothing(ignored):
    scores = np.random.default_rng(5).standard_normal((5, 4)).astype("float32")
    scores[1] = NAN
    target = torch.tensor([2, ignored, 0, ignored, 3])
    agree(scores, target, None, ignored, "none")
    made, gradient = loss_and_gradient(in_one, scores, target, None, ignored, "none")
    assert made[1] == made[3] == 0 and np.isfinite(made).all()
    assert (gradient[3] == 0).all()
    agree(scores, torch.full((5,), ignored, dtype=torch.int64), None, ignored, "mean")


def test_rows_of_infinities_and_nan():
    scores = np.zeros((6, 5), "float32")
    scores[0, 2], scores[1, 2], scores[2, 2], scores[3, 1:] = -INF, INF, NAN, -INF
    scores[4], scores[5] = -INF, 300 * np.arange(5)
    for column in range(5):
        agree(scores, torch.full((6,), column, dtype=torch.int64), None, -100, "none")


@needs_programs
def test_scores_are_passed_over_once_each_way():
    _class_loss.composite.forget()
    x = torch.randn(11, 6, requires_grad=True)
    F.cross_entropy(x, torch.arange(11) % 6).backward()
    (pair,) = _class_loss.composite.pairs
    launches = [launch.name for launch in pair.forward.program.launches]
    assert [name for name in launches if "log_softmax" in name] == [
        "amax_log_softmax_sum_log_softmax_elements_float32"
    ]
    (backward,) = pair._backwards.values()
    assert [launch.name for launch in backward.program.launches] == [
        "log_softmax_placed_float32_log_softmax_backward"
    ]
    # What is kept has one value a row; the scores are read again.
    kept = [pair.forward.program.results[k] for k in pair.positions]
    assert all([memory.array.size == 11 for memory in kept])


@needs_programs
@pytest.mark.parametrize("step", ["one loss", "two losses", "picked twice"])
def test_in_compiled_programs(step):
    def loss_of(x, first, second):
        if step == "one loss":
            return F.cross_entropy(x * 2, first)
        if step == "two losses":
            y = x.tanh()
            return F.cross_entropy(y, first, ignore_index=1) + F.cross_entropy(y, second)
        logarithms = (x * x).log_softmax(1)
        both = F.nll_loss(logarithms, first, reduction="none")
        return (both * F.nll_loss(logarithms, second, reduction="none")).sum()

    def run(x, first, second):
        loss = loss_of(x, first, second)
        (gradient,) = torch.autograd.grad(loss, x)
        return loss.detach(), gradient

    draw = np.random.default_rng(6)
    x = torch.from_numpy(draw.standard_normal((12, 7)).astype("float32")).requires_grad_()
    targets = [torch.from_numpy(draw.integers(0, 7, 12)) for _ in range(2)]
    expected, compiled = run(x, *targets), torch.compile(run)
    for _ in range(4):
        for a, b in zip(compiled(x, *targets), expected, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=1e-6)
