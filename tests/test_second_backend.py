"""Operators on the arrays of a second backend: equal to the CPU's, or refused by name.

The cases are those of the operator table, so that an operator that is added is run here as well.
``second_backend.py`` has the backend; its arrays raise for whoever reads them through NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest
from device_cases import *  # noqa: F403 - tests of every device
from device_cases import F, by_name, compare, compare_or_name, network
from operator_table import ENTRIES, POINTWISE_ENTRIES
from second_backend import BACKEND, PythonArray, ReadByNumPy

import numbagrad as torch
from numbagrad import backend
from numbagrad.executor.mode import NATIVE

DEVICE = BACKEND.device_type
#: Operators of which the backend has no kernels, as errors call them.
MISSING = {
    "block_diag", "cholesky_inverse", "cholesky_solve", "fft_c2c", "fft_c2r",
    "fft_r2c", "frexp", "gcd", "igamma", "igammac", "index_copy", "index_fill", "index_reduce",
    "is_singular", "lcm", "linalg_cholesky_ex", "linalg_cross", "linalg_det",
    "linalg_eig", "linalg_eigh", "linalg_inv_ex", "linalg_lstsq", "linalg_lu_factor_ex",
    "linalg_matrix_exp", "linalg_pinv", "linalg_qr", "linalg_slogdet", "linalg_solve_ex",
    "linalg_solve_triangular", "linalg_svd", "lu_info", "masked_scatter", "median",
    "nanmedian", "sort",
    "pdist", "quantile", "roll", "scatter", "scatter_reduce", "special_zeta", "topk",
    "trace", "tril", "triu", "unfold_backward",
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _registered():
    """The backend is there for these tests alone: others run without a second one."""
    backend.register(BACKEND)
    yield
    backend.unregister(BACKEND)


@pytest.fixture
def device():
    """The device of the tests that are imported."""
    return DEVICE


@pytest.mark.parametrize("entry", POINTWISE_ENTRIES, ids=by_name)
def test_every_formula_and_its_gradient(entry):
    dtype = next(x for x in ("float32", "int64") if entry.admits(x))
    compare(entry, DEVICE, dtype, int(entry.differentiable))


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_every_other_operator_or_the_name_of_what_is_missing(entry):
    """Equal results, or one error that says which operator does not run on which device."""
    compare_or_name(entry, DEVICE, MISSING)


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
    with pytest.raises(NotImplementedError, match="Could not run 'sort' on the device 'python'"):
        torch.ones(3, device=DEVICE).sort()
    with pytest.raises(NotImplementedError, match="'convolve' on the device 'python'"):
        F.conv2d(torch.ones(1, 1, 3, 3, device=DEVICE), torch.ones(1, 1, 2, 2, device=DEVICE))


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


# --- compiled -------------------------------------------------------------------------------------


#: Without launchers compiled functions run as they are.
records = pytest.mark.skipif(not NATIVE, reason="nothing is recorded without launchers")


def runs_of(call):
    """How many programs and how many single operations the backend runs in a call."""
    before = BACKEND.runs.copy()
    call()
    after = BACKEND.runs - before
    return after["program"], after["operation"]


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
