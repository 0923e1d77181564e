"""What programs do on the device besides operators: transformations, files, libraries, layers."""

from __future__ import annotations

import copy
import io
import pickle
import types

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn
from numbagrad.utils.checkpoint import checkpoint
from numbagrad.utils.data import DataLoader, TensorDataset

F = nn.functional


def equal(found, expected, rtol=1e-5):
    """A tensor of the device has the elements of one of the CPU."""
    assert found.is_cuda
    np.testing.assert_allclose(found.detach().cpu().numpy(), expected.detach().numpy(), rtol, 1e-6)


# --- transformations ------------------------------------------------------------------------------


def test_vmap():
    x, w = torch.randn(4, 3, 3), torch.randn(3)
    for function in (
        lambda a, b: (a * b).sum().exp(),
        lambda a, b: (a @ a).softmax(0) + torch.zeros_like(a) + a.new_ones(3) * b,
        lambda a, b: torch.linalg.inv(a + 3 * torch.eye(3, device=a.device)) @ b,
    ):
        call = torch.vmap(function, (0, None))
        equal(call(x.cuda(), w.cuda()), call(x, w), 1e-4)
    torch.vmap(lambda a: a if a.device.type == "cuda" else 1 / 0)(x.cuda())


def test_derivatives_of_functions():
    x, v = torch.randn(3), torch.randn(3)
    function = lambda a: (a.exp() @ a).sin() * a.cumsum(0)  # noqa: E731
    found = torch.func.jvp(function, (x.cuda(),), (v.cuda(),))
    for own, other in zip(found, torch.func.jvp(function, (x,), (v,)), strict=True):
        equal(own, other, 1e-4)
    for kind in (torch.func.jacrev, torch.func.jacfwd):
        equal(kind(function)(x.cuda()), kind(function)(x), 1e-4)
    cubes = lambda a: (a**3).sum()  # noqa: E731
    equal(torch.func.hessian(cubes)(x.cuda()), torch.func.hessian(cubes)(x), 1e-4)
    each = torch.func.vmap(torch.func.grad(lambda w, a: (a * w).sum().sin()), (None, 0))
    rows = torch.randn(4, 3)
    equal(each(x.cuda(), rows.cuda()), each(x, rows))


def test_checkpoint_draws_the_same_again():
    x = torch.randn(9).cuda().requires_grad_()
    y = checkpoint(lambda a: F.dropout(a.exp(), 0.5), x, use_reentrant=False)
    y.sum().backward()
    assert ((x.grad != 0) == (y != 0)).all()


def test_hooks():
    x, seen = torch.ones(3).cuda().requires_grad_(), []
    x.register_hook(lambda g: g * 2)
    y = x * 3
    y.register_hook(lambda g: seen.append(g.device.type))
    y.retain_grad()
    y.sum().backward()
    assert (x.grad.tolist(), seen, y.grad.is_cuda) == ([6.0] * 3, ["cuda"], True)
    with torch.autograd.graph.save_on_cpu():
        z = torch.zeros(2).cuda().requires_grad_()
        z.exp().sum().backward()
    assert z.grad.is_cuda and z.grad.tolist() == [1.0, 1.0]


# --- files and other libraries --------------------------------------------------------------------


def test_files():
    x, net = torch.randn(3).cuda(), nn.Linear(2, 2).cuda()
    file = io.BytesIO()
    torch.save({"x": x, "net": net.state_dict()}, file)
    for where, kind in ((None, "cuda"), ("cpu", "cpu"), ("cuda:0", "cuda")):
        file.seek(0)
        found = torch.load(file, map_location=where)
        assert found["x"].device.type == found["net"]["weight"].device.type == kind
        assert found["x"].tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x)).is_cuda
    assert copy.deepcopy(net).weight.is_cuda


def test_states_of_other_devices():
    there, here = nn.Linear(2, 2).cuda(), nn.Linear(2, 2)
    here.load_state_dict(there.state_dict())
    assert here.weight.is_cpu and here.weight.tolist() == there.weight.tolist()
    steps = torch.optim.Adam(here.parameters())
    here(torch.ones(1, 2)).sum().backward()
    steps.step()
    others = torch.optim.Adam(there.parameters())
    others.load_state_dict(copy.deepcopy(steps.state_dict()))
    assert others.state[there.weight]["exp_avg"].is_cuda


def test_memory_of_other_libraries():
    x = torch.arange(6.0).cuda().reshape(2, 3)
    other = types.SimpleNamespace(__cuda_array_interface__=x.t().__cuda_array_interface__, keep=x)
    shared = torch.as_tensor(other, device="cuda")
    assert (shared.data_ptr(), shared.stride()) == (x.data_ptr(), (1, 3))
    assert torch.tensor(other, device="cuda").data_ptr() != x.data_ptr()
    with pytest.raises(RuntimeError, match="requires grad"):
        x.requires_grad_().__cuda_array_interface__  # noqa: B018
    assert not hasattr(torch.ones(2), "__cuda_array_interface__")


def test_pinned_memory():
    x = torch.arange(6.0).reshape(2, 3)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned.pin_memory() is pinned and not x.is_pinned()
    assert pinned.to("cuda", non_blocking=True).tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="cannot pin"):
        x.cuda().pin_memory()
    for rows, names in DataLoader(TensorDataset(x, x), batch_size=2, pin_memory=True):
        assert rows.is_pinned() and names.is_pinned()


# --- random numbers, indices, layers --------------------------------------------------------------


def test_distributions():
    x = torch.empty(5, device="cuda").uniform_()
    assert torch.bernoulli(x).is_cuda and torch.multinomial(x, 2).is_cuda
    normal = torch.distributions.Normal(torch.zeros(2).cuda(), torch.ones(2).cuda())
    assert normal.log_prob(normal.rsample()).is_cuda


def test_indices():
    for device in ("cpu", "cuda"):
        x = torch.arange(6.0, device=device).reshape(2, 3)
        x[x > 2] = 0
        x[[0, 1], [1, 2]] = torch.tensor([5.0, 6.0], device=device)
        x[torch.tensor([0])] += 1
        assert x.tolist() == [[1, 6, 3], [0, 0, 6]]
        assert x[:, torch.tensor([True, False, True])].tolist() == [[1, 3], [0, 6]]
        assert x[torch.tensor([1, 1, 0]), torch.tensor([2, 0, 1])].tolist() == [6, 0, 6]
        positions = torch.tensor([0, 0, 1], device=device)
        y = torch.zeros(2, 2, 2, device=device)
        y.index_put_((positions, positions), torch.ones(3, 2, device=device), accumulate=True)
        assert y.tolist() == [[[2, 2], [0, 0]], [[0, 0], [1, 1]]]
        y[positions, :, positions] = torch.ones(2, device=device)
        assert y[:, :, 0].tolist() == [[1, 1], [0, 1]]
        values = torch.tensor([2, 1, 2], device=device)
        assert values.unique().tolist() == [1, 2]
        assert values.repeat_interleave(values).tolist() == [2, 2, 1, 2, 2]


def test_layers():
    torch.manual_seed(0)
    tokens, x = torch.tensor([[1, 2, 1]]), torch.randn(2, 1, 3)
    layers = [
        (nn.Sequential(nn.Embedding(5, 4), nn.TransformerEncoderLayer(4, 2, 8, 0.0)), tokens),
        (nn.LSTM(3, 2), x),
        (nn.GRU(3, 2), x),
        (nn.Sequential(nn.LayerNorm(3), nn.RMSNorm(3), nn.Softmax(-1)), x),
    ]
    for layer, given in layers:
        expected = layer(given)
        found = layer.cuda()(given.cuda())
        if isinstance(found, tuple):
            found, expected = found[0], expected[0]
        equal(found, expected, 1e-4)
        found.square().sum().backward()
        assert all([p.grad.is_cuda for p in layer.parameters()])


@pytest.mark.parametrize("name", ["SGD", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam"])
def test_optimizers(name):
    found = []
    for device in ("cpu", "cuda"):
        p = nn.Parameter(torch.tensor([1.0, -2.0, 3.0], device=device))
        steps = getattr(torch.optim, name)([p], lr=0.1)
        for _ in range(3):
            steps.zero_grad()
            (p * p).sum().backward()
            nn.utils.clip_grad_norm_([p], 2.0)
            steps.step()
        found.append(p.tolist())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_loops_of_users():
    @torch.kernel
    def doubled(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * 2

    assert doubled(torch.arange(4.0).cuda()).tolist() == [0, 2, 4, 6]


def test_the_default_device():
    torch.set_default_device("cuda")
    try:
        for made in (nn.Linear(2, 2).weight, torch.randn(2), torch.randint(3, (2,)),
                     torch.randperm(3), torch.tensor(1.0)):  # fmt: skip
            assert made.is_cuda
    finally:
        torch.set_default_device(None)
