"""DLPack and buffers: memory shared with others, freed by whoever has it last."""

import array
import gc
import sys
import warnings
import weakref

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.tensor import dlpack
from numbagrad.utils.dlpack import from_dlpack, to_dlpack

DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64,
    torch.complex128, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
def test_capsules_share_memory(dtype, version):
    x = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    for each in (x, x.t(), x[:, 1:], x[0, 0], x[:0], x[0].expand(3, 3)):
        made = from_dlpack(each.__dlpack__(max_version=version))
        assert made.dtype is dtype and made.shape == each.shape and torch.equal(made, each)
        if each.numel():
            assert made.data_ptr() == each.data_ptr() and made.stride() == each.stride()
    made = from_dlpack(to_dlpack(x))
    made[0, 0] = 1
    assert x[0, 0] == 1


def test_a_capsule_is_taken_once():
    capsule = to_dlpack(torch.ones(2))
    from_dlpack(capsule)
    for wrong in (capsule, 3, None):
        with pytest.raises(RuntimeError, match="invalid capsule"):
            from_dlpack(wrong)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_memory_is_freed_with_the_last_that_shows_it(version):
    held = len(dlpack._handed_out)
    x = torch.ones(1000)
    watched = weakref.ref(x._array)
    made = from_dlpack(x.__dlpack__(max_version=version))
    part = made[10:]
    del x, made
    gc.collect()
    assert watched() is not None and part.sum() == 990
    del part
    gc.collect()
    assert watched() is None
    capsule = torch.ones(3).__dlpack__(max_version=version)  # which nobody takes
    assert len(dlpack._handed_out) == held + 1
    del capsule
    gc.collect()
    assert len(dlpack._handed_out) == held


def test_numpy_both_ways():
    x = torch.arange(6.0).reshape(2, 3)
    shown = np.from_dlpack(x)
    shown[0, 1] = 7
    assert x[0, 1] == 7
    a = np.arange(6.0).reshape(2, 3)
    for each in (a, a.T, a[:, ::2], np.array([True, False]), np.array([1 + 2j]), np.zeros((0, 2))):
        made = torch.from_dlpack(each)
        assert made.tolist() == each.tolist() and made.shape == each.shape
    torch.from_dlpack(a)[0, 0] = 5
    assert a[0, 0] == 5
    counted = sys.getrefcount(a)
    made = torch.from_dlpack(a)
    assert sys.getrefcount(a) == counted + 1
    del made
    assert sys.getrefcount(a) == counted
    with pytest.raises(ValueError, match="negative"):
        torch.from_dlpack(a[::-1])
    with pytest.raises(BufferError, match="no dtype with the code 1 of 16 bits"):
        torch.from_dlpack(np.zeros(2, np.uint16))


def test_memory_that_must_not_be_written():
    a = np.arange(3.0)
    a.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of the process says that it is not writable
        made = torch.from_dlpack(a)
    assert made.tolist() == [0, 1, 2]
    copied = torch.from_dlpack(a, copy=True)
    copied[0] = 5
    assert a[0] == 0


def test_copies_and_devices():
    x = torch.arange(3.0)
    assert x.__dlpack_device__() == (1, 0)
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
    assert torch.from_dlpack(x, device="cpu", copy=False).data_ptr() == x.data_ptr()
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert from_dlpack(x.__dlpack__(copy=True)).data_ptr() != x.data_ptr()
    assert from_dlpack(x.__dlpack__(stream=-1, dl_device=(1, 0))).tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="to the device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(AssertionError, match="stream should be None"):
        x.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="1")
    for wrong in (x.requires_grad_(), torch.tensor([1j]).conj(), torch.tensor([1j]).conj().imag):
        with pytest.raises(BufferError, match="Can't export"):
            wrong.__dlpack__()


class Elsewhere:
    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **options):
        raise AssertionError("it was asked although it is elsewhere")


class Old:
    """An object of before version 1 of the protocol."""

    def __dlpack__(self, stream=None):
        return torch.ones(2).__dlpack__()


def test_other_objects():
    with pytest.raises(BufferError, match="device type 2"):
        torch.from_dlpack(Elsewhere())
    assert torch.from_dlpack(Old()).tolist() == [1, 1]


def test_structures_of_another_version_and_without_strides():
    x = torch.arange(6.0).reshape(2, 3)
    capsule = x.__dlpack__(max_version=(1, 0))
    managed = dlpack._Versioned.from_address(dlpack._pointer(capsule, b"dltensor_versioned"))
    managed.tensor.strides = None
    made = from_dlpack(capsule)
    assert made.stride() == (3, 1) and made.tolist() == x.tolist()
    capsule = x.__dlpack__(max_version=(1, 0))
    managed = dlpack._Versioned.from_address(dlpack._pointer(capsule, b"dltensor_versioned"))
    managed.major = 2
    with pytest.raises(BufferError, match="version 2"):
        from_dlpack(capsule)


@pytest.mark.parametrize(
    "change", [{"ndim": -1}, {"ndim": 1 << 30}, {"shape": None}, {"data": None}, {"shape": -2}]
)
def test_structures_that_are_no_tensors(change):
    x = torch.arange(6.0).reshape(2, 3)
    capsule = x.__dlpack__(max_version=(1, 0))
    managed = dlpack._Versioned.from_address(dlpack._pointer(capsule, b"dltensor_versioned"))
    for name, value in change.items():
        if value == -2:
            managed.tensor.shape[0] = -2
        else:
            setattr(managed.tensor, name, value)
    with pytest.raises(BufferError, match="is no tensor"):
        from_dlpack(capsule)


def test_buffers():
    held = bytearray(8)
    made = torch.frombuffer(held, dtype=torch.float32, count=1, offset=4)
    made += 1
    assert held == bytes(4) + b"\0\0\x80\x3f"
    shown = torch.asarray(array.array("d", [1, 2]), dtype=torch.float64)
    assert shown.tolist() == [1, 2]
    assert torch.asarray(memoryview(held)[4:]).tolist() == [1]
    assert torch.asarray(held, dtype=torch.uint8, copy=True).sum() == 0x80 + 0x3F
    assert held[7] == 0x3F
    assert torch.asarray(to_dlpack(torch.ones(2))).tolist() == [1, 1]
    assert torch.asarray([1, 2]).tolist() == [1, 2]
    assert torch.frombuffer(held, dtype=torch.float32, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    "size, options, text",
    [
        (6, {}, "must be a multiple of element size"),
        (0, {}, "must not be 0"),
        (8, {"count": 0}, "must not be 0"),
        (8, {"count": 3}, "requested buffer length"),
        (8, {"offset": 8}, "must be non-negative"),
        (8, {"offset": -1}, "must be non-negative"),
        (8, {"offset": 4, "count": 2}, "requested buffer length"),
    ],
)
def test_what_does_not_fit_a_buffer(size, options, text):
    with pytest.raises(ValueError, match=text):
        torch.frombuffer(bytearray(size), dtype=torch.float32, **options)
    with pytest.raises(ValueError, match="buffer protocol"):
        torch.frombuffer([1], dtype=torch.float32)
