"""Memory goes between torch and this package by DLPack, both ways and of every dtype."""

import array

import numpy as np
import pytest
import torch

import numbagrad as ng

DTYPES = (
    "float64 float32 float16 bfloat16 complex64 complex128 int64 int32 int16 int8 uint8 bool"
).split()


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("writer, reader", [(ng, torch), (torch, ng)])
def test_both_ways(name, writer, reader):
    x = writer.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(writer, name))
    for each in (x, x.t(), x[:, 1:], x[0, 0], x[:0]):
        for source in (each, each.__dlpack__(), each.__dlpack__(max_version=(1, 0))):
            made = reader.from_dlpack(source)
            assert str(made.dtype) == str(each.dtype) and made.tolist() == each.tolist()
            assert tuple(made.shape) == tuple(each.shape)
            assert not each.numel() or made.data_ptr() == each.data_ptr()
            assert not each.numel() or made.stride() == each.stride()
    reader.from_dlpack(x)[0, 0] = 1
    assert x[0, 0] == 1


OUTCOMES = {
    "stream": lambda t, x: x.__dlpack__(stream=1), "text": lambda t, x: x.__dlpack__(stream="1"),
    "device": lambda t, x: tuple(x.__dlpack_device__()),
    "grad": lambda t, x: x.requires_grad_().__dlpack__(),
    "from grad": lambda t, x: t.from_dlpack(x.requires_grad_()),
    "conjugated": lambda t, x: x.to(t.complex64).conj().__dlpack__(),
    "number": lambda t, x: t.from_dlpack(3), "copy": lambda t, x: t.from_dlpack(x, copy=True),
    "capsule as array": lambda t, x: t.asarray(x.__dlpack__()),
    "buffer": lambda t, x: t.frombuffer(bytearray(b"abcdefgh"), dtype=t.float32, offset=4),
    "bytes": lambda t, x: t.frombuffer(bytearray(b"abcd"), dtype=t.uint8, count=2),
    "buffer of halves": lambda t, x: t.frombuffer(bytearray(8), dtype=t.bfloat16),
    "odd buffer": lambda t, x: t.frombuffer(bytearray(6), dtype=t.float32),
    "no buffer": lambda t, x: t.frombuffer([1], dtype=t.float32),
    "empty buffer": lambda t, x: t.frombuffer(bytearray(0), dtype=t.float32),
    "far": lambda t, x: t.frombuffer(bytearray(8), dtype=t.float32, offset=8),
    "long": lambda t, x: t.frombuffer(bytearray(8), dtype=t.float32, count=3),
    "array": lambda t, x: t.asarray(array.array("f", [1, 2])),
    "bytearray": lambda t, x: t.asarray(bytearray(b"abcd")),
    "bytearray of a dtype": lambda t, x: t.asarray(bytearray(b"abcd"), dtype=t.int16),
    "memoryview": lambda t, x: t.asarray(memoryview(np.arange(3.0)), dtype=t.float64),
    "list": lambda t, x: t.asarray([1, 2]), "NumPy's": lambda t, x: t.asarray(np.float64(2)),
}  # fmt: skip


def _outcome(function, module):
    try:
        found = function(module, module.arange(3.0))
    except Exception as error:
        return type(error).__name__, str(error).partition(".")[0]
    if isinstance(found, (ng.Tensor, torch.Tensor)):
        return str(found.dtype), found.tolist()
    return found


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcomes(name):
    assert _outcome(OUTCOMES[name], ng) == _outcome(OUTCOMES[name], torch)
