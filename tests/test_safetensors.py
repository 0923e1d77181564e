"""Files of safetensors: what comes back, what lies in them, and what is refused."""

import json
import os
import random
import struct

import numpy as np
import pytest

import numbagrad as ng
from numbagrad.serialization import safetensors
from numbagrad.serialization.safetensors import SafetensorError, load, save

DTYPES = (
    ng.float64, ng.float32, ng.float16, ng.bfloat16, ng.int64, ng.int32, ng.int16, ng.int8,
    ng.uint8, ng.bool, ng.complex64,
)  # fmt: skip


def _file(header, content=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def _entry(dtype="F32", shape=(2,), position=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(position), **more}


def _tensors():
    values = ng.tensor([[0, 1, 1], [1, 0, 1]])
    made = {str(dtype): values.to(dtype) for dtype in DTYPES}
    return {**made, "none": ng.zeros(0, 3), "number": ng.tensor(2.5), "": ng.ones(1)}


def test_tensors_of_every_dtype_come_back(tmp_path):
    tensors, path = _tensors(), tmp_path / "x.safetensors"
    safetensors.save_file(tensors, path, metadata={"format": "pt", "é": "ü"})
    assert path.read_bytes() == save(tensors, {"format": "pt", "é": "ü"})
    assert os.listdir(tmp_path) == [path.name]
    for read in (load(path.read_bytes()), safetensors.load_file(path)):
        assert set(read) == set(tensors)
        for name, tensor in tensors.items():
            found = read[name]
            assert found.dtype is tensor.dtype and found.shape == tensor.shape
            assert ng.equal(found, tensor) and not found.requires_grad
    with safetensors.safe_open(path, framework="pt", device="cpu") as file:
        assert file.keys() == sorted(tensors) == list(file)
        assert file.metadata() == {"format": "pt", "é": "ü"}
        part = file.get_slice("torch.bfloat16")
        assert part.get_shape() == [2, 3] and part.get_dtype() == "BF16"
        assert part[:, 1].tolist() == [1, 0]
        with pytest.raises(SafetensorError, match="does not contain tensor x"):
            file.get_tensor("x")
    with pytest.raises(SafetensorError, match="closed"):
        file.get_tensor("number")
    with safetensors.safe_open(path, framework="np") as file:
        assert type(file.get_tensor("number")) is np.ndarray


def test_the_bytes_of_a_file():
    """As the format is described: the header is padded to a multiple of 8."""
    content = save({"b": ng.tensor([1, 2], dtype=ng.int16), "a": ng.tensor([1.0])})
    (size,) = struct.unpack("<Q", content[:8])
    assert size % 8 == 0
    assert json.loads(content[8 : 8 + size]) == {
        "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "b": {"dtype": "I16", "shape": [2], "data_offsets": [4, 8]},
    }
    assert content[8 + size :] == b"\0\0\x80\x3f\x01\0\x02\0"


def test_files_of_others_are_read():
    """Elements that begin anywhere, fields in any order, spaces."""
    header = (
        b' {"x":{"shape":[2],"data_offsets":[1,9],"dtype":"F32"},"y":'
        + json.dumps(_entry("U8", (), (0, 1))).encode()
        + b"}  "
    )
    read = load(_file(header, b"\x07\0\0\x80\x3f\0\0\0\x40"))
    assert read["x"].tolist() == [1, 2] and read["y"].item() == 7


def test_what_is_mapped_stays_out_of_the_file(tmp_path):
    path = tmp_path / "x"
    safetensors.save_file({"x": ng.arange(3.0)}, path)
    read = safetensors.load_file(path)["x"]
    read += 1
    assert read.tolist() == [1, 2, 3]
    assert safetensors.load_file(path)["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "content, text",
    [
        (b"", "shorter"),
        (b"\xff" * 8, "too large"),
        (struct.pack("<Q", 100) + b"{}", "ends in its header"),
        (_file(b"{"), "no JSON"),
        (_file(b"[" * 100_000), "no JSON"),
        (_file(b"\xff{}"), "no JSON"),
        (_file([]), "no object"),
        (_file(b'{"x":{},"x":{}}'), "twice"),
        (_file({"x": 1}), "says nothing"),
        (_file({"x": _entry(more=1)}, bytes(8)), "other fields"),
        (_file({"x": {"dtype": "F32", "shape": [2]}}, bytes(8)), "other fields"),
        (_file({"x": _entry("F33")}, bytes(8)), "which is unknown"),
        (_file({"x": _entry(["F32"])}, bytes(8)), "which is unknown"),
        (_file({"x": _entry(shape=(-2,))}, bytes(8)), "no list of sizes"),
        (_file({"x": _entry(shape=(2.0,))}, bytes(8)), "no list of sizes"),
        (_file({"x": _entry(shape=(True, 2))}, bytes(8)), "no list of sizes"),
        (_file({"x": _entry(shape=(2**40, 2**40), position=(0, 2**82))}), "too large"),
        (_file({"x": _entry(shape=(1,) * 65, position=(0, 4))}, bytes(4)), "too large"),
        (_file({"x": _entry(shape=(3,))}, bytes(8)), "another number of bytes"),
        (_file({"x": _entry(position=(8, 0))}, bytes(8)), "another number of bytes"),
        (_file({"x": _entry(position=(0, 8, 8))}, bytes(8)), "no two numbers"),
        (_file({"x": _entry(position=(0, 8.0))}, bytes(8)), "no two numbers"),
        (_file({"x": _entry(position=(-8, 0))}, bytes(8)), "overlap"),
        (_file({"x": _entry(position=(4, 12))}, bytes(12)), "leave a gap"),
        (_file({"x": _entry(), "y": _entry(position=(4, 12))}, bytes(12)), "overlap"),
        (_file({"x": _entry()}, bytes(7)), "other bytes"),
        (_file({"x": _entry()}, bytes(9)), "other bytes"),
        (_file({"x": _entry("BOOL", (2,), (0, 2))}, b"\x01\x02"), "neither 0 nor 1"),
        (_file({"__metadata__": {"a": 1}}), "no texts"),
        (_file({"__metadata__": ["a"]}), "no texts"),
    ],
)
def test_what_is_not_of_the_format_is_refused(content, text, tmp_path):
    with pytest.raises(SafetensorError, match=text):
        load(content)
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(SafetensorError, match=text if content else "is empty"):
        safetensors.load_file(tmp_path / "x")


def test_altered_files_raise_or_hold_tensors():
    content, draw = save(_tensors()), random.Random(0)
    refused = 0
    for _ in range(2000):
        changed = bytearray(content)
        for _ in range(draw.choice((1, 2, 5))):
            changed[draw.randrange(len(changed))] = draw.choice(
                (0, 34, 48, 57, draw.getrandbits(8))
            )
        if draw.random() < 0.1:
            del changed[draw.randrange(len(changed)) :]
        try:
            read = load(bytes(changed))
        except SafetensorError:
            refused += 1
        else:
            assert sum(x.nbytes for x in read.values()) <= len(content)
    assert refused > 500


@pytest.mark.parametrize(
    "tensors, error, text",
    [
        ([ng.ones(1)], TypeError, "a dict of tensors"),
        ({1: ng.ones(1)}, TypeError, "a text as its name"),
        ({"__metadata__": ng.ones(1)}, TypeError, "a text as its name"),
        ({"x": np.ones(1)}, TypeError, "no tensor but a ndarray"),
        ({"x": ng.ones(1, dtype=ng.complex128)}, ValueError, "has no torch.complex128"),
        ({"x": ng.ones(2, 3).t()}, RuntimeError, "not contiguous"),
    ],
)
def test_what_the_format_cannot_say(tensors, error, text):
    with pytest.raises(error, match=text):
        save(tensors)


def test_shared_memory_is_refused():
    x = ng.ones(4)
    with pytest.raises(RuntimeError, match="'a' and 'b' share memory"):
        save({"a": x, "b": x[2:]})
    assert set(load(save({"a": x[:2], "b": x[2:]}))) == {"a", "b"}
    with pytest.raises(TypeError, match="metadata are texts"):
        save({"a": x}, {"epoch": 1})


def test_parameters_and_what_is_still_to_be_conjugated():
    weight = ng.nn.Parameter(ng.ones(2))
    read = load(save({"w": weight, "c": ng.tensor([1 + 2j], dtype=ng.complex64).conj()}))
    assert type(read["w"]) is ng.Tensor and read["c"].tolist() == [1 - 2j]


def test_storages_of_files(tmp_path):
    """As a library reads a part of a mapped file: bytes of a storage, seen as another dtype."""
    path = tmp_path / "x"
    path.write_bytes(bytes(8) + np.arange(4, dtype="f4").tobytes())
    storage = ng.UntypedStorage.from_file(str(path), shared=False, nbytes=24)
    assert storage.nbytes() == 24 and storage[14] == 0x80 and storage.untyped() is storage
    part = storage[8:24]
    assert part.nbytes() == 16 and part.data_ptr() == storage.data_ptr() + 8
    tensor = ng.asarray(part, dtype=ng.uint8).view(ng.float32)
    tensor += 1
    assert tensor.tolist() == [1, 2, 3, 4]
    assert ng.asarray(part, dtype=ng.uint8).view(ng.float32).tolist() == [1, 2, 3, 4]
    assert path.read_bytes()[8:] == np.arange(4, dtype="f4").tobytes()
    ng.asarray(ng.UntypedStorage.from_file(path, True, 32), dtype=ng.uint8)[31] = 7
    assert path.read_bytes()[24:] == bytes(7) + b"\x07"
    with pytest.raises(RuntimeError, match="has 32 bytes, not 40"):
        ng.UntypedStorage.from_file(path, False, 40)
    with pytest.raises(RuntimeError, match="step of 2"):
        storage[::2]
