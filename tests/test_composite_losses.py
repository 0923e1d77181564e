"""Losses as composite operators: what their definitions compute, as one node."""

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.ops.operators.composite import Composite, CompositeNode

F = torch.nn.functional
SHAPE = 6, 5


def signs(y):
    return torch.where(y > 0.5, 1.0, -1.0).to(y.dtype)


#: (scores, numbers in (0, 1), weights, reduction) -> loss.
LOSSES = {
    "mse": lambda x, y, w, r: F.mse_loss(x, y, reduction=r),
    "mse weighted": lambda x, y, w, r: F.mse_loss(x, y, reduction=r, weight=w),
    "l1": lambda x, y, w, r: F.l1_loss(x, y, reduction=r),
    "smooth l1": lambda x, y, w, r: F.smooth_l1_loss(x, y, reduction=r, beta=0.7),
    "huber": lambda x, y, w, r: F.huber_loss(x, y, reduction=r, delta=0.6),
    "huber weighted": lambda x, y, w, r: F.huber_loss(x, y, r, 0.6, w),
    "bce": lambda x, y, w, r: F.binary_cross_entropy(x.sigmoid(), y, reduction=r),
    "bce weighted": lambda x, y, w, r: F.binary_cross_entropy(x.sigmoid(), y, w, reduction=r),
    "bce logits": lambda x, y, w, r: F.binary_cross_entropy_with_logits(x, y, reduction=r),
    "bce logits weighted": lambda x, y, w, r: F.binary_cross_entropy_with_logits(
        x, y, w, reduction=r, pos_weight=w[0] + 1
    ),
    "kl": lambda x, y, w, r: F.kl_div(x, y, reduction="batchmean" if r == "mean" else r),
    "kl log": lambda x, y, w, r: F.kl_div(x, y.log(), reduction="sum", log_target=True),
    "poisson": lambda x, y, w, r: F.poisson_nll_loss(x, y * 4, full=True, reduction=r),
    "poisson plain": lambda x, y, w, r: F.poisson_nll_loss(x.exp(), y, False, reduction=r),
    "gaussian": lambda x, y, w, r: F.gaussian_nll_loss(x, y, w, full=True, reduction=r, eps=0.6),
    "hinge": lambda x, y, w, r: F.hinge_embedding_loss(x, signs(y), 0.8, reduction=r),
    "ranking": lambda x, y, w, r: F.margin_ranking_loss(x, w, signs(y), 0.1, reduction=r),
    "soft margin": lambda x, y, w, r: F.soft_margin_loss(x, signs(y), reduction=r),
    "cosine": lambda x, y, w, r: F.cosine_embedding_loss(x, w, signs(y[:, 0]), 0.1, reduction=r),
    "triplet": lambda x, y, w, r: F.triplet_margin_loss(x, y, w, swap=True, reduction=r),
    "soft margin of classes": lambda x, y, w, r: F.multilabel_soft_margin_loss(
        x, signs(y) / 2 + 0.5, w, reduction=r
    ),
    "probabilities": lambda x, y, w, r: F.cross_entropy(x, y, w[0], reduction=r),
    "smoothed probabilities": lambda x, y, w, r: F.cross_entropy(
        x, y, reduction=r, label_smoothing=0.2
    ),
    "probabilities of places": lambda x, y, w, r: F.cross_entropy(
        x.reshape(3, 2, 5), y.reshape(3, 2, 5), reduction=r
    ),
}


def operands(dtype, transposed):
    torch.manual_seed(3)
    shape = SHAPE[::-1] if transposed else SHAPE
    x, y, w = torch.randn(shape), torch.rand(shape) * 0.9 + 0.05, torch.rand(shape) + 0.3
    x, y, w = (z.to(dtype).t() if transposed else z.to(dtype) for z in (x, y, w))
    return x.requires_grad_(), y, w


def values(loss, reduction, dtype, transposed=False):
    """The loss, its gradient, and one of that."""
    x, y, w = operands(dtype, transposed)
    made = loss(x, y, w, reduction)
    factors = torch.arange(1, made.numel() + 1, dtype=dtype).reshape(made.shape)
    (plain,) = torch.autograd.grad(made, x, factors, retain_graph=True)
    (first,) = torch.autograd.grad(made, x, factors, create_graph=True)
    second = torch.zeros(SHAPE)
    if first.requires_grad:
        (second,) = torch.autograd.grad((first * first.detach().cos()).sum(), x, allow_unused=True)
    return [z if z is None else z.detach().numpy() for z in (made, plain, first, second)]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_what_its_definition_computes(name, reduction, monkeypatch):
    loss = LOSSES[name]
    cases = [
        (torch.float32, False, 2e-5),
        (torch.float64, False, 1e-12),
        (torch.float32, True, 2e-5),
    ]
    found = [values(loss, reduction, dtype, turned) for dtype, turned, _ in cases]
    monkeypatch.setattr(Composite, "_pair_for", lambda self, form, arguments: None)
    for made, (dtype, turned, tolerance) in zip(found, cases, strict=True):
        for a, b in zip(made, values(loss, reduction, dtype, turned), strict=True):
            if a is None or b is None:
                assert a is None and b is None
            else:
                assert a.dtype == b.dtype and a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(not NATIVE, reason="without kernels definitions run")
@pytest.mark.usefixtures("traced_at_once")
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_one_node(name):
    x, y, w = operands(torch.float32, False)
    node = LOSSES[name](x, y, w, "mean").grad_fn
    assert isinstance(node, CompositeNode)


def test_the_variance_of_a_gaussian_is_cut_off_and_its_gradient_is_not():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0])
    var = torch.tensor([1e-9, 4.0], requires_grad=True)
    F.gaussian_nll_loss(x, y, var, eps=0.5, reduction="sum").backward()
    cut = np.array([0.5, 4.0])
    np.testing.assert_allclose(var.grad.numpy(), 0.5 * (1 / cut - np.array([1, 4]) / cut**2))
