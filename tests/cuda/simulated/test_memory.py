"""Arrays of the device: transfers, views, dtypes, counts of memory, and errors."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn
from numbagrad.cuda import library
from numbagrad.cuda.driver import driver


def test_a_tensor_goes_there_and_back():
    x = torch.arange(6.0).reshape(2, 3).t()
    there = x.cuda()
    assert there.device == torch.device("cuda", 0)
    assert there.is_cuda
    assert there.get_device() == 0
    assert there.stride() == x.stride()
    assert there.to("cuda") is there
    assert there.to("cuda:0", non_blocking=True) is there
    assert there.cpu().equal(x)
    assert there.to("cpu", torch.float64).tolist() == x.tolist()
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        there.numpy()
    with pytest.raises(TypeError, match="copy the tensor"):
        np.asarray(there._array)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 33, 100])
@pytest.mark.parametrize("start", [0, 1, 4])
def test_formulas_of_any_size_and_alignment(size, start):
    """Groups of 16 bytes, what is left of them, and memory that is not aligned."""
    x = torch.arange(200, dtype=torch.float32)
    for kind in (torch.float32, torch.float64, torch.uint8, torch.bool, torch.float16):
        given = x.to(kind)
        own = given.cuda()[start : start + size]
        expected = given[start : start + size]
        assert (own + own).tolist() == (expected + expected).tolist()
        assert (own == own).tolist() == [True] * size


@pytest.mark.parametrize("shape", [(1, 1000), (1000, 1), (3, 300), (300, 3), (2, 50, 3), (0, 4)])
@pytest.mark.parametrize("dim", [0, 1, None])
def test_reductions_of_many_shapes(shape, dim):
    """Blocks and threads a result, and segments that a second launch joins."""
    x = torch.randn(shape, dtype=torch.float64)
    own = x.cuda()
    for call in (
        lambda t: t.sum() if dim is None else t.sum(dim),
        lambda t: t.mean() if dim is None else t.mean(dim),
        lambda t: t.var() if dim is None else t.var(dim),
        lambda t: (t > 0).all() if dim is None else (t > 0).all(dim),
    ):
        np.testing.assert_allclose(call(own).cpu().numpy(), call(x).numpy(), rtol=1e-12)
    if x.numel():
        for name in ("max", "min"):
            found, expected = [getattr(t, name)(dim or 0) for t in (own, x)]
            assert found.indices.tolist() == expected.indices.tolist()
            assert found.values.tolist() == expected.values.tolist()


def test_extrema_with_nan_and_equals():
    x = torch.tensor([1.0, 7.0, float("nan"), 7.0, float("nan")] * 5)
    for part in (x, x[:2].repeat(9), x[3:4].repeat(9)):
        found, expected = part.cuda().max(0), part.max(0)
        assert found.indices.item() == expected.indices.item()
        assert str(found.values.item()) == str(expected.values.item())


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 4, 5), (4, 9, 4), (7, 1, 2), (5, 0, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_products(shape, dtype):
    rows, depth, columns = shape
    kind = getattr(torch, dtype)
    a, b = torch.randn(rows, depth).to(kind), torch.randn(depth, columns).to(kind)
    for first, second in ((a, b), (a.t().contiguous().t(), b), (a, b.t().contiguous().t())):
        found, expected = first.cuda() @ second.cuda(), first @ second
        tolerance = {"float64": 1e-12, "float32": 1e-5}.get(dtype, 2e-2)
        np.testing.assert_allclose(
            found.cpu().double().numpy(), expected.double().numpy(), tolerance, tolerance
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shapes", [((12, 10), (10, 11)), ((3, 1, 9, 8), (2, 8, 9))])
def test_large_products_are_those_of_the_library(monkeypatch, dtype, shapes):
    monkeypatch.setattr(driver(), "large_product", 1000)
    a, b = [torch.randn(x).to(getattr(torch, dtype)) for x in shapes]
    first, second = a.cuda(), b.transpose(-1, -2).contiguous().cuda().transpose(-1, -2)
    before = driver().launches
    found = first @ second
    assert driver().launches == before
    tolerance = {"float64": 1e-12, "float32": 1e-4, "float16": 2e-2}[dtype]
    np.testing.assert_allclose(found.cpu().numpy(), (a @ b).numpy(), tolerance, tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_products_of_programs_are_those_of_the_library(monkeypatch, dtype):
    """But for those that a formula is fused with, and gradients that are added to."""
    monkeypatch.setattr(driver(), "large_product", 1000)
    a, b = [torch.randn(x, dtype=getattr(torch, dtype)).cuda() for x in ((12, 10), (10, 11))]
    alone, fused = torch.compile(lambda x, y: x @ y.t()), torch.compile(lambda x, y: (x @ y).relu())
    for turn in range(5):
        if turn == 4:  # which are programs now
            monkeypatch.setattr(library, "product", None)
        before = driver().launches
        found = alone(a, b.t())
        between = driver().launches
        rectified = fused(a, b)
        counts = between - before, driver().launches - between
    assert counts == (0, 1)
    tolerance = {"float64": 1e-12, "float32": 1e-4}[dtype]
    expected = (a.cpu() @ b.cpu()).numpy()
    np.testing.assert_allclose(found.cpu().numpy(), expected, tolerance, tolerance)
    np.testing.assert_allclose(rectified.cpu().numpy(), expected.clip(0), tolerance, tolerance)


def test_functions_of_the_library_refuse_nothing():
    """Special functions by CuPy's arrays, and pseudoinverses, at ends of their domains as well."""
    special = torch.special
    x = torch.tensor([-np.inf, -30.0, -1.0, 0.0, 0.3, 1.0, 7.0, 100.0, np.inf, np.nan]).double()
    library.refused.clear()
    for name in (
        "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "erfcx", "log_ndtr", "ndtri",
        "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
        "scaled_modified_bessel_k1", "spherical_bessel_j0", "i0", "i0e", "i1", "i1e",
    ):  # fmt: skip
        for given in (x, x[4]):
            found, expected = [getattr(special, name)(t) for t in (given.cuda(), given)]
            np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), 1e-10, 1e-12, name)
    degrees = torch.arange(10) - 1
    for name in ("chebyshev_polynomial_t", "hermite_polynomial_he", "legendre_polynomial_p"):
        for n in (degrees, 3):
            there = n.cuda() if isinstance(n, torch.Tensor) else n
            found = getattr(special, name)(x.cuda(), there).cpu()
            np.testing.assert_allclose(found.numpy(), getattr(special, name)(x, n).numpy(), 1e-10)
    for name in ("igamma", "igammac"):
        for a in (0.0, 0.4, 3.0, 1e6):
            found, expected = [
                getattr(torch, name)(torch.full_like(t, a), t) for t in (x.cuda(), x)
            ]
            np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), 1e-9, 1e-12)
    for shape in ((2, 4, 3), (3, 5), (0, 3)):
        A = torch.randn(shape, dtype=torch.float64)
        found = torch.linalg.pinv(A.cuda(), rtol=0.2).cpu()
        np.testing.assert_allclose(
            found.numpy(), torch.linalg.pinv(A, rtol=0.2).numpy(), 1e-9, 1e-12
        )
    assert not library.refused


def test_copies_that_do_not_wait():
    x = torch.arange(6.0).reshape(2, 3)
    for given in (x.pin_memory(), x.pin_memory().t(), x, x[:, 1:]):
        there = given.cuda(non_blocking=True)
        back = (there * 2).to("cpu", non_blocking=True)
        torch.cuda.synchronize()
        assert back.is_pinned()
        assert back.tolist() == (given * 2).tolist()
    assert x.requires_grad_().to("cuda", non_blocking=True).requires_grad


def test_products_of_stacks():
    a, b = torch.randn(2, 3, 4, 5), torch.randn(3, 5, 2)
    np.testing.assert_allclose((a.cuda() @ b.cuda()).cpu().numpy(), (a @ b).numpy(), 1e-5, 1e-6)


def test_devices_do_not_mix():
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    text = "Expected all tensors to be on the same device, but found at least two devices, "
    for call in (
        lambda: x + y, lambda: y * x, lambda: torch.cat([x, y]), lambda: x.mul_(y),
        lambda: nn.functional.linear(x.reshape(1, 3), torch.ones(2, 3), torch.ones(2)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text + "(cuda:0 and cpu|cpu and cuda:0)!"):
            call()
    assert (x + torch.tensor(2.0)).tolist() == [3.0] * 3  # which counts as a number


def test_devices_that_are_not_there():
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        torch.ones(2, device=f"cuda:{torch.cuda.device_count()}")


def test_memory_is_given_back():
    gc.collect()
    before = torch.cuda.memory_allocated()
    x = torch.zeros(1000, device="cuda")
    assert torch.cuda.memory_allocated() - before >= 4000
    view = x[10:]
    del x
    assert torch.cuda.memory_allocated() - before >= 4000
    del view
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_out_of_memory_leaves_nothing(monkeypatch):
    gc.collect()
    before = torch.cuda.memory_allocated()
    if driver().is_simulated:
        monkeypatch.setattr(driver(), "limit", before + 10_000)
    _, total = torch.cuda.mem_get_info()
    for _ in range(2):
        with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory"):
            torch.empty(total + 1, dtype=torch.uint8, device="cuda")
    x = torch.ones(1000, device="cuda")
    if driver().is_simulated:
        with pytest.raises(torch.cuda.OutOfMemoryError):
            (x + x) * (x + 1)
    del x
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_other_libraries_see_the_memory():
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    described = x._array.__cuda_array_interface__
    assert described["shape"] == (2, 3)
    assert described["typestr"] == "<f4"
    assert described["data"] == (x.data_ptr(), False)
    assert x.t()._array.__cuda_array_interface__["strides"] == (4, 12)
    assert x._array.__dlpack_device__() == (2, 0)


# --- torch.cuda -----------------------------------------------------------------------------------


def test_devices():
    assert torch.cuda.is_available()
    count = torch.cuda.device_count()
    assert count >= 1
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(0), torch.cuda.device_of(torch.ones(1)):
        torch.cuda.set_device("cuda:0")
    torch.cuda.synchronize()
    assert torch.cuda.get_device_name() == torch.cuda.get_device_properties(0).name
    assert len(torch.cuda.get_device_capability()) == 2
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.cuda.set_device(count)
    with pytest.raises(ValueError, match="Expected a cuda device"):
        torch.cuda.synchronize("cpu")


def test_streams_and_events():
    stream = torch.cuda.Stream()
    start, end = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        start.record()
        made = torch.ones(3, device="cuda") * 2
        end.record()
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
    torch.cuda.current_stream().wait_stream(stream)
    end.synchronize()
    stream.synchronize()
    assert end.query() and stream.query()
    assert start.elapsed_time(end) >= 0
    assert made.tolist() == [2.0] * 3
    with pytest.raises(ValueError, match="enable_timing"):
        torch.cuda.Event().elapsed_time(end)


def test_counts_of_memory():
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    x = torch.zeros(1 << 16, device="cuda")
    del x
    gc.collect()
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + (4 << 16)
    assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == before
    assert "allocated_bytes.all.peak" in torch.cuda.memory_summary()
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    assert free <= total


def test_types():
    x = torch.cuda.FloatTensor([1.0, 2.0])
    assert x.is_cuda and x.dtype is torch.float32
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor)
    assert x.type() == "torch.cuda.FloatTensor"


def test_autocast_and_the_scaler():
    net = nn.Linear(3, 2).cuda()
    steps = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    before = net.weight.detach().cpu()
    with torch.autocast("cuda"):
        made = net(torch.ones(4, 3, device="cuda"))
        assert made.dtype is torch.float16
        loss = made.float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(steps)
    scaler.update()
    assert not torch.equal(before, net.weight.detach().cpu())
