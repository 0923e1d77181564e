"""What tests of devices share: entries of the operator table there and on the CPU, a net, tests.

``test_second_backend.py`` runs the tests on a backend of Python, ``cuda/simulated`` on ``cuda``.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from operator_entry import as_tuple

import numbagrad as torch
from numbagrad import nn

F = nn.functional


def by_name(entry):
    """The identifier of a test."""
    return entry.name


def on(device, arrays, requires_grad):
    """Leaves on a device with the elements of ndarrays."""
    made = [torch.tensor(x).to(device) for x in arrays]
    return [
        x.requires_grad_(requires_grad and (x.is_floating_point() or x.is_complex())) for x in made
    ]


def outcome(entry, device, dtype, order):
    """Where results of an entry are; they, and derivatives of its inputs up to an order."""
    inputs = on(device, entry.draw(dtype), order > 0)
    with torch.device(device):  # for what the call itself makes
        made = as_tuple(entry.call(torch, *inputs))
    results = [x for x in made if isinstance(x, torch.Tensor)]
    positions = {x.device.type for x in results}
    found, roots = list(results), [x for x in results if x.requires_grad]
    for level in range(order):
        leaves = [x for x in inputs if x.requires_grad]
        if not roots:
            break
        weights = [torch.ones_like(x) for x in roots]
        gradients = torch.autograd.grad(
            roots, leaves, weights, create_graph=level + 1 < order, allow_unused=True
        )
        found += gradients
        roots = [x for x in gradients if x is not None and x.requires_grad]
        roots = [(x * x).sum() for x in roots]
    return positions, [x if x is None else x.numpy(force=True) for x in found]


def compare(entry, device, dtype, order, rtol=1e-5, atol=1e-6):
    """Results and derivatives on the device are those of the CPU, and lie there."""
    positions, found = outcome(entry, device, dtype, order)
    _, expected = outcome(entry, "cpu", dtype, order)
    assert positions <= {device}
    for own, other in zip(found, expected, strict=True):
        assert (own is None) == (other is None)
        if own is not None:
            assert own.dtype == other.dtype
            np.testing.assert_allclose(own, other, rtol=rtol, atol=atol)


def missing_name(error, device):
    """The operator that an error says does not run on the device."""
    found = re.match(rf"Could not run '(.+)' on the device '{device}'", str(error))
    assert found is not None, error
    return found[1]


def compare_or_name(entry, device, missing):
    """Results and gradients of an entry, or one error that names an operator that is missing."""
    dtype = next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))
    try:
        compare(entry, device, dtype, int(entry.differentiable))
    except NotImplementedError as error:
        assert missing_name(error, device) in missing


def network():
    """The two-layer net, with the same parameters each time."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


def trained(device, optimizer, loss, compiled=False):
    """Losses of four steps of the two-layer net, and its parameters after them."""
    net = network().to(device)
    steps = getattr(torch.optim, optimizer)(net.parameters(), lr=0.1)
    generator = np.random.default_rng(1)
    x = torch.tensor(generator.normal(size=(6, 3)).astype(np.float32), device=device)
    y = torch.tensor([0, 1, 0, 1, 1, 0], device=device)
    target = y if loss is F.cross_entropy else torch.stack([y, 1 - y], 1).float()

    def step(x, target):
        steps.zero_grad()
        value = loss(net(x), target)
        value.backward()
        steps.step()
        return value

    run = torch.compile(step) if compiled else step
    losses = [run(x, target).item() for _ in range(4)]
    return losses, [p.detach().cpu().numpy() for p in net.parameters()]


# --- tests of every device, which files of tests import and give a fixture ``device`` -----------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "uint8", "bool"])
def test_other_dtypes(device, dtype):
    x = torch.tensor([[1, 0, 3], [2, 5, 0]]).to(getattr(torch, dtype))
    own = x.to(device)
    for call in (
        lambda t: t + t,
        lambda t: (t == 0).sum(),
        lambda t: t.float().mean(0),
        lambda t: t.t().contiguous(),
        lambda t: t.double() @ t.double().t(),
    ):
        found, expected = call(own), call(x)
        assert found.dtype is expected.dtype
        assert found.tolist() == expected.tolist()


def test_a_copy_to_another_device_has_a_gradient(device):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(device) * 3).sum().backward()
    assert x.grad.is_cpu
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda **where: torch.zeros(2, 3, **where),
        lambda **where: torch.ones(2, dtype=torch.int64, **where),
        lambda **where: torch.full((2, 2), 1.5, **where),
        lambda **where: torch.arange(5, **where),
        lambda **where: torch.linspace(0, 1, 5, **where),
        lambda **where: torch.eye(3, **where),
        lambda **where: torch.tensor([[1.0, 2.0]], **where),
        lambda **where: torch.as_tensor(np.arange(3), **where),
        lambda **where: torch.tril_indices(3, 3, **where),
    ],
)
def test_creation(device, make):
    made = make(device=device)
    assert made.device.type == device
    assert made.tolist() == make().tolist()
    with torch.device(device):
        assert make().device.type == device


def test_what_is_made_like_a_tensor_is_where_that_is(device):
    x = torch.ones(2, 3, device=device)
    for made in (
        torch.zeros_like(x), torch.full_like(x, 2), torch.empty_like(x), x.new_zeros(2),
        x.new_tensor([1.0]), x.new_full((2,), 3), x.clone(), x.detach(), torch.rand_like(x),
    ):  # fmt: skip
        assert made.device.type == device
    assert torch.zeros_like(x, device="cpu").is_cpu


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1:, ::2],
        lambda x: x[-1],
        lambda x: x[None, ..., 1],
        lambda x: x.t(),
        lambda x: x.reshape(2, 6),
        lambda x: x.view(12)[3:9].view(2, 3),
        lambda x: x.unsqueeze(1).expand(3, 5, 4),
        lambda x: x.narrow(1, 1, 2),
        lambda x: x.diagonal(),
        lambda x: x.unfold(1, 2, 1),
        lambda x: x.as_strided((2, 2), (4, 1), 1),
        lambda x: torch.stack(x.unbind(1)),
        lambda x: x.split(2)[0],
        lambda x: x[1:1],
    ],
)
def test_views(device, view):
    source = torch.arange(12.0).reshape(3, 4)
    own = source.to(device).requires_grad_()
    source.requires_grad_()
    made, expected = view(own), view(source)
    assert made.stride() == expected.stride()
    assert made.storage_offset() == expected.storage_offset()
    assert made.tolist() == expected.tolist()
    try:
        (made * made).sum().backward()
    except NotImplementedError as error:
        assert "'unfold_backward'" in str(error)
        return
    (expected * expected).sum().backward()
    assert own.grad.tolist() == source.grad.tolist()


def test_writes_through_views(device):
    for where in ("cpu", device):
        x = torch.zeros(3, 4, device=where)
        x[1] = 2
        x[:, 1:3] += torch.ones(2, device=where)
        x.t()[3].fill_(5)
        x.diagonal().mul_(10)
        x[0, 0] = torch.tensor(7.0)
        assert x.tolist() == [[7, 1, 1, 5], [2, 30, 3, 5], [0, 1, 10, 5]]


def test_gradients_of_writes(device):
    gradients = []
    for where in ("cpu", device):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=where, requires_grad=True)
        y = x * 1
        y[0].mul_(x[1])
        y.t()[1] = 3
        y.sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


def test_indices_are_checked(device):
    x, index = torch.ones(3, 2, device=device), torch.tensor([3], device=device)
    with pytest.raises(IndexError, match="out of range"):
        x.index_select(0, index)
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.gather(0, index.reshape(1, 1))
    with pytest.raises(IndexError, match="out of bounds"):
        F.cross_entropy(torch.ones(1, 3, device=device), index)


def test_gradients_accumulate(device):
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    for _ in range(2):
        (x * x + x).sum().backward()
    assert x.grad.tolist() == [6.0, 10.0]
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    gradient.sum().backward()
    assert x.grad.tolist() == [12.0, 22.0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("loss", [F.mse_loss, F.cross_entropy])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_net_is_trained(device, optimizer, loss, compiled):
    losses, parameters = trained(device, optimizer, loss, compiled)
    expected, others = trained("cpu", optimizer, loss)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for own, other in zip(parameters, others, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_compiled_module_under_an_eager_loss(device):
    net = nn.Linear(3, 2).to(device)
    compiled = torch.compile(net)
    x = torch.arange(12.0, device=device).reshape(4, 3)
    expected = torch.autograd.grad(net(x).square().sum(), list(net.parameters()))
    for _ in range(3):
        found = torch.autograd.grad(compiled(x).square().sum(), list(net.parameters()))
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own.tolist(), other.tolist(), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:compile")
def test_what_no_program_does_runs_uncompiled(device):
    x = torch.ones(3, device=device)
    for function in (
        lambda x: F.dropout(x, 0.5) + torch.ones(3, device=device),
        lambda x: (x.cpu() * 2).to(device) + x,
        lambda x: x + torch.tensor(2.0),
        lambda x: x.scatter_add(0, torch.tensor([0, 0, 2], device=device), x) + 1,
    ):
        compiled = torch.compile(function)
        for seed in range(4):
            torch.manual_seed(seed)
            found = compiled(x)
            torch.manual_seed(seed)
            assert found.tolist() == function(x).tolist()


def test_a_compiled_call_looks_at_the_device(device):
    f = torch.compile(lambda x: (x + 1).exp())
    for where in ("cpu", device, "cpu", device):
        made = f(torch.zeros(2, device=where))
        assert made.device.type == where
        np.testing.assert_allclose(made.tolist(), [np.e] * 2, rtol=1e-6)
