"""Memory that other libraries share, users' own kernels, and several devices."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from cuda.bindings.driver import CUstream
from cuda.core.utils import StridedMemoryView
from numba import cuda

import numbagrad as torch
from numbagrad.cuda.backend import BACKEND
from numbagrad.cuda.driver import chosen, driver


class _Tensors:
    """Numba's simulator hands arguments over as they are, so here tensors become its arrays."""

    def prepare_args(self, type_, value, stream, retr):
        if isinstance(value, torch.Tensor):
            value = driver().as_cupy(value._array).hidden
        return type_, value


def jitted(function):
    """``cuda.jit``, on a GPU as it is."""
    made = cuda.jit(function)
    if driver().is_simulated:
        made.extensions.append(_Tensors())
    return made


@pytest.mark.parametrize("turned", [False, True])
def test_tensors_are_arguments_of_kernels_of_users(turned):
    @jitted
    def doubled(x, out):
        i = cuda.grid(1)
        if i < x.shape[0]:
            for j in range(x.shape[1]):
                out[i, j] = 2 * x[i, j]

    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    x = x.t() if turned else x
    out = torch.zeros(x.shape, device="cuda")
    doubled[1, 4](x, out)
    assert out.tolist() == (x * 2).tolist()


def test_dlpack_both_ways():
    x = torch.arange(6.0, device="cuda").reshape(2, 3)[:, 1:]

    shared = torch.from_dlpack(Asked(x))
    assert (shared.data_ptr(), shared.stride()) == (x.data_ptr(), x.stride())
    shared.add_(1)
    assert x.tolist() == shared.tolist() == [[2.0, 3.0], [5.0, 6.0]]
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
    assert tuple(x.__dlpack_device__()) == (2, 0)
    with pytest.raises(BufferError, match="require gradient"):
        x.clone().requires_grad_().__dlpack__()


def view_for_a_kernel(tensor, stream):
    """What a launch of Numba's on a stream makes of an argument (``_to_strided_memory_view``)."""
    return StridedMemoryView.from_dlpack(tensor, stream_ptr=CUstream(stream))


@pytest.mark.parametrize("is_read_beside", [False, True])
@pytest.mark.parametrize("is_made_beside", [False, True])
def test_a_kernel_of_a_user_waits_on_its_stream_and_the_host_for_nothing(
    is_made_beside, is_read_beside
):
    default, beside, other = torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()
    torch.zeros(1, device="cuda").item()
    before = driver().waits
    with torch.cuda.stream(beside if is_made_beside else default):
        x = torch.arange(6.0, device="cuda").reshape(2, 3).t() * 2
        reading = other if is_read_beside else default
        view = view_for_a_kernel(x, reading.cuda_stream)
        assert driver().waits == before
        named = x.__cuda_array_interface__["stream"]
        assert named == (beside.cuda_stream if is_made_beside else None)
    assert (view.ptr, view.shape, view.strides) == (x.data_ptr(), (3, 2), x.stride())
    assert (view.dtype, view.device_id) == (np.dtype("float32"), 0)
    # A copy that is queued where the kernel would be sees what was queued before.
    copy = np.zeros(6, np.float32)
    with torch.cuda.stream(reading):
        driver().download(copy.ctypes.data, view.ptr, copy.nbytes)
    assert copy.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_what_a_reader_of_dlpack_may_ask_for():
    x = torch.arange(6.0, device="cuda").reshape(2, 3).t()
    for stream in (None, 1, 2, -1):
        assert torch.utils.dlpack.to_dlpack(x) is not None
        assert x.__dlpack__(stream=stream, max_version=(1, 0)) is not None
    with pytest.raises(BufferError, match="unsupported stream on CUDA: 0"):
        x.__dlpack__(stream=0)
    with pytest.raises(BufferError, match="to the device"):
        x.__dlpack__(dl_device=(2, 9))
    with pytest.raises(BufferError, match="to the device"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    host = torch.from_dlpack(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
    assert host.device.type == "cpu" and host.tolist() == x.tolist()
    copy = view_for_a_kernel(Asked(x, copy=True), 0)
    assert copy.ptr != x.data_ptr() and copy.strides == (1, 3)
    half = torch.ones(3, dtype=torch.bfloat16, device="cuda")
    shared = torch.from_dlpack(Asked(half))
    assert shared.dtype == torch.bfloat16 and shared.data_ptr() == half.data_ptr()


class Asked:
    """A tensor as another library's array, asked for something more than its reader asks."""

    def __init__(self, tensor, **asked):
        self.tensor, self.asked = tensor, asked

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **given):
        return self.tensor.__dlpack__(**{**given, **self.asked})


def test_a_capsule_holds_memory_until_its_reader_lets_it_go():
    gc.collect()
    before = torch.cuda.memory_allocated()
    x = torch.zeros(5000, device="cuda")
    taken, left = torch.from_dlpack(Asked(x)), x.__dlpack__()
    del x
    gc.collect()
    assert torch.cuda.memory_allocated() >= before + 20000
    del left
    gc.collect()
    assert torch.cuda.memory_allocated() >= before + 20000
    assert taken.sum().item() == 0
    del taken
    gc.collect()
    assert torch.cuda.memory_allocated() == before


# --- several devices ------------------------------------------------------------------------------


@pytest.fixture
def two_devices():
    """A driver of two devices, in the simulator; on a GPU whatever is there."""
    if not driver().is_simulated:
        yield
        return
    from numbagrad.cuda.driver.simulated import Simulated

    with chosen(Simulated(2)):
        yield


@pytest.mark.usefixtures("two_devices")
def test_several_devices():
    count = torch.cuda.device_count()
    if count < 2:
        assert torch.cuda.current_device() == 0
        return
    x = torch.ones(3, device="cuda:1")
    assert (x.device.index, x.get_device(), torch.cuda.current_device()) == (1, 1, 0)
    y = x * 2 + 1
    assert y.device == torch.device("cuda", 1) and y.tolist() == [3.0] * 3
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1
        assert torch.zeros(2, device="cuda").device.index == 1
        assert torch.zeros(2).cuda().device.index == 1
    assert torch.zeros(2, device="cuda").device.index == 0
    with torch.cuda.device_of(x):
        assert torch.cuda.current_device() == 1
    for call in (lambda: x + torch.ones(3, device="cuda:0"), lambda: x @ torch.ones(3).cuda(0)):
        with pytest.raises(RuntimeError, match="cuda:1 and cuda:0"):
            call()
    there = x.to("cuda:0")
    assert there.device.index == 0 and there.tolist() == [1.0] * 3
    z = torch.ones(3, device="cuda:1", requires_grad=True)
    (z.to("cuda:0") * 3).sum().backward()
    assert z.grad.device.index == 1 and z.grad.tolist() == [3.0] * 3
    assert torch.cuda.memory_allocated(1) > 0
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device=f"cuda:{count}")
    assert not torch.cuda.can_device_access_peer(0, 0)  # as CUDA says it


@pytest.mark.usefixtures("two_devices")
def test_a_stream_brings_its_device():
    if torch.cuda.device_count() < 2:
        return
    stream = torch.cuda.Stream("cuda:1")
    with torch.cuda.stream(stream):
        assert torch.cuda.current_device() == 1
        x = torch.ones(3, device="cuda") * 2
        assert x.device.index == 1
        done = stream.record_event()
    assert torch.cuda.current_device() == 0
    torch.cuda.current_stream(0).wait_event(done)
    assert x.to("cuda:0").tolist() == [2.0] * 3


def test_the_backend_of_a_device_is_one():
    assert BACKEND.on(0) is BACKEND.on(0)
    assert BACKEND.on(None) is BACKEND


# --- memory that is not there ---------------------------------------------------------------------


def test_no_memory_in_the_middle_of_a_step_leaks_nothing(monkeypatch):
    """The allocator fails at each allocation in turn: an error, nothing held, and it goes on."""
    if not driver().is_simulated:
        return
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).cuda()
    x, y = torch.randn(5, 3, device="cuda"), torch.tensor([0, 1, 0, 1, 1], device="cuda")

    def step():
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        net.zero_grad()

    step()
    before, allocate = torch.cuda.memory_allocated(), driver().allocate
    for allowed in range(100):
        count = 0

        def failing(nbytes, device=0, allowed=allowed):
            nonlocal count
            count += 1
            if count > allowed:
                raise torch.cuda.OutOfMemoryError("CUDA out of memory")
            return allocate(nbytes, device)

        monkeypatch.setattr(driver(), "allocate", failing)
        try:
            step()
            break
        except torch.cuda.OutOfMemoryError:
            pass
        finally:
            monkeypatch.setattr(driver(), "allocate", allocate)
        net.zero_grad()
        gc.collect()  # what the traceback of the error held
        assert torch.cuda.memory_allocated() == before, allowed
    assert 5 < allowed < 99
    assert np.isfinite(net(x).sum().item())
