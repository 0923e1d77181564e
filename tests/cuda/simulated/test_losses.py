"""Losses with kernels of their own on the device: of classes and of sequences; and gradcheck."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.errors import AcceleratorError

F = torch.nn.functional


@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2), (90, 3)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_classes(shape, reduction, weighted):
    """One segment and several, with weights and an ignored class."""
    torch.manual_seed(1)
    x = torch.randn(shape, dtype=torch.float64)
    target = torch.randint(shape[1], (shape[0], *shape[2:]))
    weight = torch.rand(shape[1], dtype=torch.float64) if weighted else None
    found = []
    for device in ("cpu", "cuda"):
        leaf = x.detach().to(device).requires_grad_()
        given = None if weight is None else weight.to(device)
        options = {"weight": given, "ignore_index": 1, "reduction": reduction}
        loss = F.cross_entropy(leaf, target.to(device), **options)
        loss.sum().backward()
        found.append([loss.detach().cpu().numpy(), leaf.grad.cpu().numpy()])
    for own, other in zip(*found, strict=True):
        np.testing.assert_allclose(own, other, 1e-12, 1e-14)


def sequences(dtype, in_a_row):
    torch.manual_seed(2)
    logs = torch.randn(6, 3, 5, dtype=dtype).log_softmax(2)
    targets = torch.tensor([[1, 2, 2], [3, 0, -7], [4, 1, 99]])
    if in_a_row:
        targets = torch.tensor([1, 2, 2, 3, 4, 1])
    return logs, targets, torch.tensor([6, 5, 2]), torch.tensor([3, 1, 2])


@pytest.mark.parametrize("in_a_row", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_loss(reduction, in_a_row):
    logs, targets, lengths, counts = sequences(torch.float64, in_a_row)
    found = []
    for device in ("cpu", "cuda"):
        leaf = logs.detach().to(device).requires_grad_()
        loss = F.ctc_loss(leaf, targets.to(device), lengths, counts, reduction=reduction)
        loss.sum().backward()
        found.append([loss.detach().cpu().numpy(), leaf.grad.cpu().numpy()])
    for own, other in zip(*found, strict=True):
        np.testing.assert_allclose(own, other, 1e-10, 1e-12)


def test_ctc_loss_of_bad_labels_and_infinite_losses():
    logs, _, _, _ = sequences(torch.float32, False)
    targets = torch.tensor([[1, 1, 1, 1]] * 3)
    given = logs.cuda().requires_grad_()
    loss = F.ctc_loss(given, targets.cuda(), [6, 6, 6], [4, 4, 1], zero_infinity=True)
    loss.backward()
    assert loss.isfinite().item() and (given.grad[:, :2] == 0).all().item()
    F.ctc_loss(logs.cuda(), (targets + 4).cuda(), [6, 6, 6], [4, 4, 1])
    with pytest.raises(AcceleratorError, match=r"ctc_loss\(\): a label .* size 5"):
        torch.cuda.synchronize()
    with pytest.raises(RuntimeError, match="at most 6"):
        F.ctc_loss(logs.cuda(), targets.cuda(), [9, 6, 6], [1, 1, 1])


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
def test_gradcheck(check, fast):
    x = torch.randn(3, 2, dtype=torch.float64, device="cuda", requires_grad=True)
    w = torch.randn(2, 3, dtype=torch.float64, requires_grad=True).cuda()

    def function(x, w):
        assert x.is_cuda and w.is_cuda
        return (x @ w).sin().sum(0), x * 2

    leaf = w.detach().requires_grad_()
    options = {"check_forward_ad": True} if check is torch.autograd.gradcheck else {}
    assert check(function, (x, leaf), fast_mode=fast, check_batched_grad=True, **options)

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Wrong.apply, (x,), fast_mode=fast)
