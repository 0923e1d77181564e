"""Operators on the arrays of a second backend: equal to the CPU's, or refused by name.

The cases are those of the operator table, so that an operator that is added is run here as well.
``second_backend.py`` has the backend; its arrays raise for whoever reads them through NumPy.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES
from second_backend import BACKEND, PythonArray, ReadByNumPy

import numbagrad as torch
from numbagrad import backend, nn
from numbagrad.executor.mode import NATIVE

DEVICE = BACKEND.device_type
F = nn.functional

#: Operators of which the backend has no kernels, as errors call them.
MISSING = {
    "a mask as an index", "an index of tensors", "argsort", "as_strided of what repeats",
    "as_strided_scatter", "bincount", "block_diag", "cdist", "combinations", "complex", "fft_r2c",
    "frexp", "gcd", "histc", "householder_product", "i0", "igamma", "igammac", "index",
    "index_copy", "index_reduce",
    "is_singular", "isin", "lcm", "linalg_cholesky_ex", "linalg_cross", "linalg_det", "linalg_eig",
    "linalg_eigh", "linalg_inv_ex", "linalg_lstsq", "linalg_lu_factor_ex", "linalg_matrix_exp",
    "linalg_pinv", "linalg_qr", "linalg_slogdet", "linalg_solve_ex", "linalg_svd", "lu_info",
    "masked_scatter", "masked_select", "median", "nanmedian", "nanquantile", "nonzero", "pdist",
    "quantile", "roll", "scatter", "scatter_reduce", "sort", "special_i0e", "special_i1",
    "special_i1e", "special_zeta", "stft", "take", "topk", "trace", "tril", "triu",
    "unfold_backward",
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _registered():
    """The backend is there for these tests alone: others run without a second one."""
    backend.register(BACKEND)
    yield
    backend.unregister(BACKEND)


def by_name(entry):
    return entry.name


def on(device, arrays, requires_grad):
    """Leaves on a device with the elements of ndarrays."""
    made = [torch.tensor(x).to(device) for x in arrays]
    return [x.requires_grad_(requires_grad and x.is_floating_point()) for x in made]


def outcome(entry, device, dtype, differentiated):
    """Where the results of an entry are, they, and the gradients of its inputs, as ndarrays."""
    inputs = on(device, entry.draw(dtype), differentiated)
    with torch.device(device):  # for what the call itself makes
        made = as_tuple(entry.call(torch, *inputs))
    results = [x for x in made if isinstance(x, torch.Tensor)]
    places = {x.device.type for x in results}
    roots = [x for x in results if x.requires_grad]
    if roots:
        torch.autograd.backward(roots, [torch.ones_like(x) for x in roots])
    gradients = [x.grad for x in inputs if x.requires_grad]
    return places, [x if x is None else x.detach().cpu().numpy() for x in (*results, *gradients)]


def compare(entry, dtype, differentiated=True):
    places, found = outcome(entry, DEVICE, dtype, differentiated)
    _, expected = outcome(entry, "cpu", dtype, differentiated)
    assert places <= {DEVICE}
    for own, other in zip(found, expected, strict=True):
        assert (own is None) == (other is None)
        if own is not None:
            assert own.dtype == other.dtype
            np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES, ids=by_name)
def test_every_formula_and_its_gradient(entry):
    dtype = next(x for x in ("float32", "int64") if entry.admits(x))
    compare(entry, dtype, entry.differentiable)


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_every_other_operator_or_the_name_of_what_is_missing(entry):
    """Equal results, or one error that says which operator does not run on which device."""
    dtype = next(x for x in ("float32", "float64", "int64", "bool") if entry.admits(x))
    try:
        compare(entry, dtype, entry.differentiable)
    except NotImplementedError as error:
        found = re.match(rf"Could not run '(.+)' on the device '{DEVICE}'", str(error))
        assert found is not None, error
        assert found[1] in MISSING


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "uint8", "bool"])
def test_other_dtypes(dtype):
    x = torch.tensor([[1, 0, 3], [2, 5, 0]]).to(getattr(torch, dtype))
    own = x.to(DEVICE)
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


# --- memory ---------------------------------------------------------------------------------------


def test_a_tensor_goes_there_and_back():
    x = torch.arange(6.0).reshape(2, 3).t()
    there = x.to(DEVICE)
    assert there.device == torch.device(DEVICE)
    assert not there.is_cpu
    assert there.stride() == x.stride()
    assert there.to(DEVICE) is there
    assert there.cpu().equal(x)
    assert there.to("cpu", torch.float64).tolist() == x.tolist()
    assert there.to(x).is_cpu
    with pytest.raises(TypeError, match="can't convert python device type tensor to numpy"):
        there.numpy()


def test_a_copy_to_another_device_has_a_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(DEVICE) * 3).sum().backward()
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
def test_creation(make):
    made = make(device=DEVICE)
    assert isinstance(made._array, PythonArray)
    assert made.tolist() == make().tolist()
    with torch.device(DEVICE):
        assert isinstance(make()._array, PythonArray)


def test_what_is_made_like_a_tensor_is_where_that_is():
    x = torch.ones(2, 3, device=DEVICE)
    for made in (
        torch.zeros_like(x), torch.full_like(x, 2), torch.empty_like(x), x.new_zeros(2),
        x.new_tensor([1.0]), x.new_full((2,), 3), x.clone(), x.detach(), torch.rand_like(x),
    ):  # fmt: skip
        assert made.device.type == DEVICE
    assert torch.zeros_like(x, device="cpu").is_cpu


def test_a_seed_means_the_same_on_both():
    for draw in (torch.randn, torch.rand):
        torch.manual_seed(3)
        expected = draw(4, 5)
        torch.manual_seed(3)
        assert draw(4, 5, device=DEVICE).cpu().equal(expected)
    torch.manual_seed(3)
    expected = torch.rand_like(torch.empty(4))
    torch.manual_seed(3)
    assert torch.rand_like(torch.empty(4, device=DEVICE)).cpu().equal(expected)


def test_printing():
    x = torch.tensor([1.0, 2.5], device=DEVICE, requires_grad=True)
    assert repr(x) == "tensor([1.0000, 2.5000], device='python', requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 5.], device='python', grad_fn=<MulBackward0>)"
    assert f"{x[1]:.1f}" == "2.5"
    assert x[1].item() == 2.5
    assert bool(x[0] < 2)


# --- views ----------------------------------------------------------------------------------------


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
def test_views(view):
    source = torch.arange(12.0).reshape(3, 4)
    own = source.to(DEVICE).requires_grad_()
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


def test_writes_through_views():
    for device in ("cpu", DEVICE):
        x = torch.zeros(3, 4, device=device)
        x[1] = 2
        x[:, 1:3] += torch.ones(2, device=device)
        x.t()[3].fill_(5)
        x.diagonal().mul_(10)
        x[0, 0] = torch.tensor(7.0)
        assert x.tolist() == [[7, 1, 1, 5], [2, 30, 3, 5], [0, 1, 10, 5]]


def test_gradients_of_writes():
    gradients = []
    for device in ("cpu", DEVICE):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
        y = x * 1
        y[0].mul_(x[1])
        y.t()[1] = 3
        y.sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


# --- what is refused ------------------------------------------------------------------------------


def test_devices_do_not_mix():
    x, y = torch.ones(3, device=DEVICE), torch.ones(3)
    text = "Expected all tensors to be on the same device, but found at least two devices"
    for call in (
        lambda: x + y, lambda: y * x, lambda: torch.where(x > 0, x, y), lambda: torch.cat([x, y]),
        lambda: torch.ones(2, 3, device=DEVICE) @ torch.ones(3, 2), lambda: x.mul_(y),
        lambda: F.linear(x.reshape(1, 3), torch.ones(2, 3), torch.ones(2)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            call()
    assert (x + torch.tensor(2.0)).tolist() == [3.0] * 3  # which counts as a number


def test_what_is_missing_is_named():
    with pytest.raises(NotImplementedError, match="Could not run 'argsort' on the device 'python'"):
        torch.ones(3, device=DEVICE).sort()
    with pytest.raises(NotImplementedError, match="'convolution' on the device 'python'"):
        F.conv2d(torch.ones(1, 1, 3, 3, device=DEVICE), torch.ones(1, 1, 2, 2, device=DEVICE))


def test_indices_are_checked():
    x, index = torch.ones(3, 2, device=DEVICE), torch.tensor([3], device=DEVICE)
    with pytest.raises(IndexError, match="out of range"):
        x.index_select(0, index)
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.gather(0, index.reshape(1, 1))
    with pytest.raises(IndexError, match="out of bounds"):
        F.cross_entropy(torch.ones(1, 3, device=DEVICE), index)


def test_launchers_leave_other_arrays_alone():
    """Compiled launchers are warm here, and say no to what is no ndarray."""
    calls = [
        lambda t, x: x + x, lambda t, x: x.exp_(), lambda t, x: x.sum(), lambda t, x: x.sum(0),
        lambda t, x: x @ x, lambda t, x: t.softmax(x, 0), lambda t, x: t.cat([x, x]),
        lambda t, x: x[1:], lambda t, x: x.t(), lambda t, x: x.unbind(0)[0], lambda t, x: x.max(),
        lambda t, x: x[0:0], lambda t, x: x.expand(2, 2, 2), lambda t, x: x.cumsum(0),
    ]  # fmt: skip
    for call in calls:
        for _ in range(3):
            expected = call(torch, torch.ones(2, 2))
        found = call(torch, torch.ones(2, 2, device=DEVICE))
        assert isinstance(found._array, PythonArray)
        np.testing.assert_allclose(found.tolist(), expected.tolist(), rtol=1e-6)


def test_arrays_raise_for_numpy():
    array = torch.ones(2, device=DEVICE)._array
    for read in (
        np.asarray, np.exp, np.sum, lambda x: x + np.ones(2), lambda x: x.sum(),
        lambda x: x.ctypes, list, float, lambda x: np.add(np.ones(2), 1, out=x),
    ):  # fmt: skip
        with pytest.raises(ReadByNumPy):
            read(array)


def test_registering():
    with pytest.raises(ValueError, match="there is a backend"):
        backend.register(BACKEND)
    with pytest.raises(ValueError, match="are those of the CPU"):
        backend.register(type("Other", (backend.Backend,), {"array_class": np.ndarray})())
    with pytest.raises(RuntimeError, match="Expected one of"):
        torch.device("nothing")
    assert backend.array_namespace(np.ones(1)) is np


# --- training -------------------------------------------------------------------------------------


def network():
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


@pytest.mark.parametrize("loss", [F.mse_loss, F.cross_entropy])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_net_is_trained(optimizer, loss):
    losses, parameters = trained(DEVICE, optimizer, loss)
    expected, others = trained("cpu", optimizer, loss)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for own, other in zip(parameters, others, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6)


def test_gradients_accumulate():
    x = torch.tensor([1.0, 2.0], device=DEVICE, requires_grad=True)
    for _ in range(2):
        (x * x + x).sum().backward()
    assert x.grad.tolist() == [6.0, 10.0]
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    gradient.sum().backward()
    assert x.grad.tolist() == [12.0, 22.0]


# --- compiled -------------------------------------------------------------------------------------


#: Without launchers compiled functions run as they are.
records = pytest.mark.skipif(not NATIVE, reason="nothing is recorded without launchers")


def runs_of(call):
    """How many programs and how many single operations the backend runs in a call."""
    before = BACKEND.runs.copy()
    call()
    after = BACKEND.runs - before
    return after["program"], after["operation"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", [F.mse_loss, F.cross_entropy])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_compiled_step_trains_a_net(optimizer, loss):
    losses, parameters = trained(DEVICE, optimizer, loss, compiled=True)
    expected, others = trained("cpu", optimizer, loss)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for own, other in zip(parameters, others, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6)


@records
@pytest.mark.filterwarnings("error")
def test_a_compiled_step_is_a_program():
    net = network().to(DEVICE)
    steps = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile
    def step(x, y):
        steps.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        steps.step()
        return loss

    x, y = torch.ones(4, 3, device=DEVICE), torch.zeros(4, 2, device=DEVICE)
    recorded = runs_of(lambda: step(x, y))
    assert recorded[1] > 10
    step(x, y)  # whose gradients are there before
    for _ in range(3):
        assert runs_of(lambda: step(x, y)) == (1, 0)


@records
@pytest.mark.filterwarnings("error")
def test_passes_are_those_of_the_backend():
    f = torch.compile(lambda x, y: (x * y + 1).exp().sum(0))
    x, y = torch.rand(4, 3, device=DEVICE), torch.rand(4, 3, device=DEVICE)
    f(x, y)
    assert runs_of(lambda: f(x, y)) == (1, 0)
    assert f(x, y).tolist() == pytest.approx(f(x.cpu(), y.cpu()).tolist())


@pytest.mark.filterwarnings("error")
def test_a_compiled_module_under_an_eager_loss():
    net = nn.Linear(3, 2).to(DEVICE)
    compiled = torch.compile(net)
    x = torch.arange(12.0, device=DEVICE).reshape(4, 3)
    expected = torch.autograd.grad(net(x).square().sum(), list(net.parameters()))
    for _ in range(3):
        found = torch.autograd.grad(compiled(x).square().sum(), list(net.parameters()))
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own.tolist(), other.tolist(), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:compile")
def test_what_no_program_does_runs_uncompiled():
    x = torch.ones(3, device=DEVICE)
    for function in (
        lambda x: F.dropout(x, 0.5) + torch.ones(3, device=DEVICE),
        lambda x: (x.cpu() * 2).to(DEVICE) + x,
        lambda x: x + torch.tensor(2.0),
        lambda x: x.scatter_add(0, torch.tensor([0, 0, 2], device=DEVICE), x) + 1,
    ):
        compiled = torch.compile(function)
        for seed in range(4):
            torch.manual_seed(seed)
            found = compiled(x)
            torch.manual_seed(seed)
            assert found.tolist() == function(x).tolist()


def test_a_compiled_call_looks_at_the_device():
    f = torch.compile(lambda x: (x + 1).exp())
    for device in ("cpu", DEVICE, "cpu", DEVICE):
        made = f(torch.zeros(2, device=device))
        assert made.device.type == device
        np.testing.assert_allclose(made.tolist(), [np.e] * 2, rtol=1e-6)
