"""save and load: what comes back, what is refused, and what lies on disk when a save is killed."""

import io
import os
import pathlib
import pickle
import signal
import stat
import subprocess
import sys
import time
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor

import checkpoint_fuzz
import former_checkpoints
import numpy as np
import pytest

import numbagrad as ng
from numbagrad import nn, optim
from numbagrad.serialization import values


def test_containers_of_tensors_come_back(tmp_path):
    weight = nn.Parameter(ng.randn(2, 3))
    weight.grad = ng.ones(2, 3)
    saved = {
        "tensors": [ng.arange(3), ng.tensor(True), ng.randn(2, 2).half(), ng.zeros(0, 3)],
        "view": ng.randn(4, 4).t()[:, 1:],
        "weight": weight,
        "rest": (1, 2.5, "text", None, ng.float64, ng.Size([2]), ng.device("cpu"), {3}),
    }
    path = tmp_path / "data.pt"
    ng.save(saved, path)
    loaded = ng.load(path)
    for a, b in zip(saved["tensors"], loaded["tensors"], strict=True):
        assert a.dtype is b.dtype and a.shape == b.shape and ng.equal(a, b)
    assert ng.equal(saved["view"], loaded["view"])
    assert type(loaded["weight"]) is nn.Parameter and loaded["weight"].requires_grad
    assert loaded["weight"].grad is None and ng.equal(loaded["weight"], weight)
    assert loaded["rest"] == saved["rest"]
    assert loaded["rest"][4] is ng.float64
    assert os.listdir(tmp_path) == ["data.pt"]


def test_training_goes_on_from_a_checkpoint(tmp_path):
    def start():
        ng.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer = optim.Adam(net.parameters(), lr=0.05)
        return net, optimizer, optim.lr_scheduler.StepLR(optimizer, 2), ng.randn(8, 3)

    def train(net, optimizer, scheduler, x, steps):
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        return losses

    parts = start()
    train(*parts, 3)
    ng.save([part.state_dict() for part in parts[:3]], tmp_path / "c.pt")
    going_on = train(*parts, 4)
    parts = start()
    for part, state in zip(parts[:3], ng.load(tmp_path / "c.pt"), strict=True):
        part.load_state_dict(state)
    assert train(*parts, 4) == going_on


def test_shared_tensors_stay_shared(tmp_path):
    x = ng.ones(3)
    ng.save({"a": x, "b": x, "c": x.detach()}, tmp_path / "x.pt")
    loaded = ng.load(tmp_path / "x.pt")
    assert loaded["a"] is loaded["b"]
    loaded["a"][0] = 7
    assert loaded["c"].tolist() == [7, 1, 1]


def test_views_share_memory_again():
    x = ng.arange(12.0).reshape(3, 4)
    other = ng.arange(3)
    saved = {"row": x[1], "even": x[:, ::2], "turned": x.t(), "bytes": x.view(ng.int32), "x": [x]}
    file = io.BytesIO()
    ng.save((saved, other), file)
    file.seek(0)
    (loaded, _) = ng.load(file)
    for name in ("row", "even", "turned"):
        assert loaded[name].stride() == saved[name].stride()
        assert ng.equal(loaded[name], saved[name])
    loaded["x"][0][1] = -5
    assert loaded["row"].tolist() == [-5] * 4 == loaded["turned"][:, 1].tolist()
    assert loaded["even"][1].tolist() == [-5, -5]
    assert ng.equal(loaded["bytes"], loaded["x"][0].view(ng.int32))


@pytest.mark.parametrize("seed", range(20))
def test_arrays_of_any_strides(seed):
    """Steps back, no steps, lengths of one and none, as tensors where those can be made."""
    draw = np.random.default_rng(seed)
    saved = []
    for kind in ("f4", "i8", "?", "c16", ">f4", "U3", "S5", "M8[s]", "V3", "f2"):
        array = np.zeros(draw.integers(0, 5, 3) + draw.integers(0, 2), "u1").astype(kind)
        for _ in range(3):
            axis = draw.integers(3)
            step = int(draw.choice([-2, -1, 1, 2, 3]))
            keys = [slice(None)] * 3
            keys[axis] = slice(None, None, step) if draw.random() < 0.7 else slice(0, 1, step)
            array = array[tuple(keys)].transpose(draw.permutation(3))
            saved.append(array)
        saved += [np.broadcast_to(array, (2, *array.shape)), array[:0, ..., ::-1]]
        saved += [array[..., None][..., ::-1], array.reshape(-1)[:1][::-1]]
    saved += [ng.from_numpy(np.ascontiguousarray(x)).transpose(0, -1) for x in saved[:3]]
    for protocol in (2, 5):
        file = io.BytesIO()
        ng.save(saved, file, pickle_protocol=protocol)
        for a, b in zip(ng.load(io.BytesIO(file.getvalue())), saved, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


def test_elements_that_no_tensor_shows_are_not_written():
    x = ng.arange(100_000.0)
    for shown in (x[::1000], x[5:15], x[:1].expand(1000), [x[:10], x[5:20], x[-3:]]):
        file = io.BytesIO()
        ng.save(shown, file)
        assert len(file.getvalue()) < 3000
        file.seek(0)
        for a, b in zip(ng.load(file), shown, strict=True):
            assert ng.equal(a, b)


def test_views_of_other_dtypes_begin_where_their_elements_may():
    # The whole memory begins at a multiple of 16 bytes, what is shown 4 bytes later.
    x = ng.zeros(9)
    doubles, singles = x[2:8].view(ng.float64), x[1:]
    file = io.BytesIO()
    ng.save((singles, doubles), file)
    file.seek(0)
    singles, doubles = ng.load(file)
    doubles[0] = 1.0
    assert singles.tolist() == [0, 0, 1.875, 0, 0, 0, 0, 0]


def test_attributes_and_classes_of_tensors():
    plain, weight = ng.ones(2, requires_grad=True), nn.Parameter(ng.ones(2), requires_grad=False)
    plain.grad = ng.full((2,), 3.0)
    plain.tag, weight._no_decay = {"of": weight}, True
    buffer = nn.Buffer(ng.ones(1), persistent=False)
    file = io.BytesIO()
    ng.save([plain, weight, buffer, buffer], file)
    file.seek(0)
    plain, weight, buffer, again = ng.load(file)
    assert plain.requires_grad and plain.grad is None and plain.tag == {"of": weight}
    assert type(weight) is nn.Parameter and not weight.requires_grad and weight._no_decay
    assert type(buffer) is nn.Buffer and buffer is again and not buffer.persistent
    plain.sum = 5
    with pytest.raises(pickle.PicklingError, match="'sum', which hides Tensor.sum"):
        ng.save(plain, file)


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_holds_every_kind_of_data(protocol):
    """Also in the two formats that this package had of its own."""
    for value in checkpoint_fuzz.samples():
        file = io.BytesIO()
        ng.save(value, file, pickle_protocol=protocol)
        files = [file.getvalue()]
        if protocol >= 3:
            files.append(checkpoint_fuzz.in_first_format(value, protocol))
        former = io.BytesIO()
        former_checkpoints.save(value, former, protocol)
        files.append(former.getvalue())
        for content in files:
            loaded = ng.load(io.BytesIO(content))
            assert _described(loaded) == _described(value)
        assert _described(ng.load(io.BytesIO(file.getvalue()), weights_only=False)) == _described(
            value
        )


def _described(value):
    """What can be compared of data, with the types of all of it."""
    if isinstance(value, ng.Tensor):
        own = {
            name: _described(v) for name, v in vars(value).items() if not hasattr(ng.Tensor, name)
        }
        return type(value), value.requires_grad, value.dtype, value.shape, own, value.tolist()
    if isinstance(value, np.ndarray):
        # NumPy turns the bytes around when it reads its own pickles.
        dtype = value.dtype.newbyteorder("=")
        return type(value), dtype, value.shape, value.tolist()
    if isinstance(value, dict):
        items = [(_described(k), _described(value[k])) for k in value]
        attributes = vars(value) if type(value) is OrderedDict else {}
        return type(value), items, {name: _described(v) for name, v in attributes.items()}
    if isinstance(value, (list, tuple, deque)):
        return type(value), [_described(each) for each in value], getattr(value, "maxlen", None)
    return type(value), value


def test_file_objects():
    file = io.BytesIO()
    ng.save(OrderedDict(a=ng.ones(2)), file)
    file.seek(0)
    assert ng.load(file, map_location="cpu")["a"].tolist() == [1, 1]


def test_modules_need_trust(tmp_path):
    ng.save(nn.Linear(2, 1), tmp_path / "m.pt")
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        ng.load(tmp_path / "m.pt")
    assert repr(ng.load(tmp_path / "m.pt", weights_only=False)) == repr(nn.Linear(2, 1))


def test_a_file_runs_no_code(tmp_path):
    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    ng.save(Attack(), tmp_path / "a.pt")
    with pytest.raises(pickle.UnpicklingError, match="not data"):
        ng.load(tmp_path / "a.pt")
    assert not (tmp_path / "made").exists()


class _Written:
    """Written as a call of ``function``, with the state of what that makes."""

    def __init__(self, function, arguments, state=None):
        self.parts = function, arguments, state

    def __reduce__(self):
        return self.parts


def _object_from_bytes():
    """Eight bytes of a file as the address of an object: NumPy's dtype believes its state."""
    kind = _Written(np.dtype, ("V8", False, True), (
        3, "|", None, ("f",), {"f": (np.dtype("O"), 0)}, 8, 1, 0,
    ))  # fmt: skip
    return _Written(
        np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"), (1, (1,), kind, False, bytes(8))
    )


def _slots_of_a_tensor():
    x = ng.ones(2)
    rebuild, arguments = x.__reduce_ex__(4)
    return _Written(rebuild, arguments, (None, {"_array": "no array", "_version_cell": 3}))


@pytest.mark.parametrize("head", checkpoint_fuzz.HEADS)
@pytest.mark.parametrize("make", [_object_from_bytes, _slots_of_a_tensor])
def test_nothing_sets_the_state_of_arrays_and_tensors(make, head):
    content = checkpoint_fuzz.packed(pickle.dumps(make()), head)
    with pytest.raises(pickle.UnpicklingError, match="not data|no dtype"):
        ng.load(io.BytesIO(content))


_RECONSTRUCT = np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b")
_UNBUILT = pickle.dumps(_Written(*_RECONSTRUCT))
_AGAIN = b"h" + bytes([_UNBUILT.count(b"\x94") - 1])  # the last value that was remembered


@pytest.mark.parametrize(
    "written",
    [
        _UNBUILT,
        pickle.dumps({"array": [_Written(*_RECONSTRUCT)]}),
        pickle.dumps(_Written(np.dtype, ("f4", False, True))),
        _UNBUILT[:-1] + b"2\x86.",  # twice in a tuple
        _UNBUILT[:-1] + _AGAIN + b"\x86.",
    ],
    ids=["an array", "inside", "a dtype", "twice", "remembered"],
)
@pytest.mark.parametrize("head", checkpoint_fuzz.HEADS, ids=range(len(checkpoint_fuzz.HEADS)))
def test_arrays_without_a_state_are_none(written, head):
    """Nor may a file use one before it has set the state."""
    with pytest.raises(pickle.UnpicklingError, match="whose state it|not data"):
        ng.load(io.BytesIO(checkpoint_fuzz.packed(written, head)))


_MEMORY = values.memory, (bytes(16),)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ((ng.Tensor, "float32", 0, (5,), (4,), False, {}), "does not fit 16 bytes"),
        ((ng.Tensor, "float32", 4, (4,), (4,), False, {}), "does not fit 16 bytes"),
        ((ng.Tensor, "float32", 0, (2,), (-4,), False, {}), "negative"),
        ((ng.Tensor, "float32", -4, (2,), (4,), False, {}), "negative"),
        ((ng.Tensor, "float32", 2, (2,), (4,), False, {}), "multiples of 4"),
        ((ng.Tensor, "float32", 0, (2,), (2,), False, {}), "multiples of 4"),
        ((ng.Tensor, "float32", 0, (2**61, 2), (0, 0), False, {}), "too large"),
        ((ng.Tensor, "float32", 0, (1,) * 65, (0,) * 65, False, {}), "64 at most"),
        ((ng.Tensor, "float32", 0, (2,), (4, 4), False, {}), "as many sizes as strides"),
        ((ng.Tensor, "float32", 0, [2], (4,), False, {}), "all of them integers"),
        ((ng.Tensor, "float32", 0, (2.0,), (4,), False, {}), "all of them integers"),
        ((ng.Tensor, "object", 0, (2,), (4,), False, {}), "KeyError: 'object'"),
        ((ng.Tensor, "int32", 0, (2,), (4,), True, {}), "requires no gradient"),
        ((ng.Tensor, "float32", 0, (2,), (4,), 1, {}), "no bool"),
        ((ng.Tensor, "float32", 0, (2,), (4,), False, {"_array": 1}), "attribute '_array'"),
        ((ng.Tensor, "float32", 0, (2,), (4,), False, {"_grad": 1}), "attribute '_grad'"),
        ((ng.Tensor, "float32", 0, (2,), (4,), False, {"__class__": 1}), "attribute '__class__'"),
        ((ng.Tensor, "float32", 0, (2,), (4,), False, {1: 1}), "is text"),
        ((int, "float32", 0, (2,), (4,), False, {}), "a class of tensors"),
    ],
)
def test_the_parts_of_a_tensor_have_to_fit(arguments, text):
    cls, *rest = arguments
    content = pickle.dumps(_Written(values.tensor, (cls, _Written(*_MEMORY), *rest)))
    with pytest.raises(pickle.UnpicklingError, match=text):
        ng.load(io.BytesIO(checkpoint_fuzz.packed(content)))


def test_values_that_a_dtype_does_not_have_are_refused():
    memory = _Written(values.memory, (bytes(range(16)),))
    for arguments in (("|b1", 0, (4,), (1,)), ("<U1", 4, (1,), (4,))):
        content = pickle.dumps(_Written(values.array, (memory, *arguments)))
        with pytest.raises(pickle.UnpicklingError, match="neither 0 nor 1|there is not"):
            ng.load(io.BytesIO(checkpoint_fuzz.packed(content)))


def _deep_key(depth):
    return b"\x80\x04}" + b")" + b"\x85" * depth + b"Ns."


def _shared_key(depth):
    """A key with 2**depth parts, of which each holds the one before twice."""
    return b"\x80\x04})" + b"2\x86" * depth + b"Ns."


def _copies(count):
    """Copies of one large value, which the file holds once."""
    value = b"\x80\x04(B" + (10_000).to_bytes(4, "little") + bytes(10_000) + b"\x940"
    name = b"cnumbagrad.serialization.values\nmemory\n\x940"
    return value + name + b"h\x01h\x00\x85R" * count + b"l."


@pytest.mark.parametrize(
    "content, text",
    [
        (_deep_key(1_000_000), "too large"),
        (_shared_key(60), "too large"),
        (b"\x80\x04)" + b"2\x86" * 60 + b")R.", "calls a tuple|too large"),
        (_copies(100), "more copies"),
        (b"\x80\x04r\xff\xff\xff\xff.", "cannot be followed"),
        (b"\x80\x04\x8e" + b"\xff" * 8, "ends in the middle"),
        (b"\x80\x04cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "not made of"),
        (b"\x80\x04N", "ends in the middle"),
        (b"\x80\x04(N.", "within a container"),
        (b"\x80\x04NN.", "cannot be followed"),
        (b"\x80\x06N.", "version 6"),
        (b"\x80\x04Pid\n.", "outside of it"),
    ],
)
def test_a_file_takes_no_more_than_its_size_justifies(content, text):
    with pytest.raises(pickle.UnpicklingError, match=text):
        ng.load(io.BytesIO(checkpoint_fuzz.packed(content)))


def test_much_is_shared_but_not_copied():
    """What is refused above is none of what pickle writes, however often values recur."""
    shape, key = (3, 4), ("a", ("b", 1))
    saved = [{key: [shape, ng.Size(shape)] * 50, k: ng.ones(1)} for k in range(100)]
    file = io.BytesIO()
    ng.save(saved, file)
    file.seek(0)
    assert _described(ng.load(file)) == _described(saved)


def test_a_file_with_another_byte_raises_or_reads_the_same():
    file = io.BytesIO()
    ng.save({"x": ng.arange(100.0)}, file)
    refused = 0
    for position in range(0, len(file.getvalue()), 7):
        content = bytearray(file.getvalue())
        content[position] ^= 1 << position % 8
        try:
            loaded = ng.load(io.BytesIO(content))
        except (RuntimeError, pickle.UnpicklingError):
            refused += 1
        else:
            assert list(loaded) == ["x"] and ng.equal(loaded["x"], ng.arange(100.0)), position
    assert refused > 50


@pytest.mark.parametrize("save", [ng.save, former_checkpoints.save])
def test_a_damaged_file_is_recognised(tmp_path, save):
    path, file = tmp_path / "x.pt", io.BytesIO()
    save(ng.ones(100), file)
    content = file.getvalue()
    for changed in (content[:60], content[:-1], content.replace(b"\x80\x3f", b"\x80\x3e")):
        path.write_bytes(changed)
        with pytest.raises(RuntimeError, match="damaged"):
            ng.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(RuntimeError, match="no checkpoint"):
        ng.load(path)
    path.write_bytes(b"")
    with pytest.raises(EOFError):
        ng.load(path)


def test_what_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    ng.save(1, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        ng.save(lambda: None, path)
    assert ng.load(path) == 1 and os.listdir(tmp_path) == ["x.pt"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.pt"
    ng.save(1, path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        ng.save(2, path)
    monkeypatch.undo()
    assert ng.load(path) == 1 and os.listdir(tmp_path) == ["x.pt"]


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "x.pt"
    program = (
        "import sys, numbagrad as ng\n"
        "for step in range(10**6):\n"
        "    ng.save({'step': step, 'x': ng.full((200_000,), step)}, sys.argv[1])\n"
        "    print(step, flush=True)\n"
    )
    for extra in (0.0, 0.003, 0.007):
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3):
            child.stdout.readline()
        time.sleep(extra)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        loaded = ng.load(path)
        assert loaded["step"] >= 2
        assert (loaded["x"] == loaded["step"]).all()


def test_links_are_followed(tmp_path):
    (tmp_path / "deep").mkdir()
    target, link, chain = tmp_path / "deep" / "x.pt", tmp_path / "link", tmp_path / "chain"
    link.symlink_to(target)
    chain.symlink_to("link")
    for value in (1, 2):  # the first makes the file that the link leads to
        ng.save(value, chain)
        assert chain.is_symlink() and link.is_symlink() and not target.is_symlink()
        assert ng.load(target) == value
    target.chmod(0o640)
    ng.save(3, link)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["chain", "deep", "link"]
    assert os.listdir(tmp_path / "deep") == ["x.pt"]


def test_a_pipe_is_written_to(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with ThreadPoolExecutor() as threads:
            found = threads.submit(pipe.read_bytes)
            ng.save([1, 2], path)
        assert ng.load(io.BytesIO(found.result())) == [1, 2]
        assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError):
        ng.save(1, tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_next_save_removes_what_a_killed_one_left(tmp_path):
    path, other = tmp_path / "x.pt", tmp_path / ("long" * 60 + ".pt")
    program = (
        "import os, signal, sys, numbagrad as ng\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)\n"
        "ng.save([1] * 1000, sys.argv[1])\n"
    )
    for each in (path, other):
        done = subprocess.run([sys.executable, "-c", program, str(each)])
        assert done.returncode == -signal.SIGKILL and not each.exists()
    similar = tmp_path / ".x.pt.notes.saving"  # a file of somebody who has nothing to do with it
    similar.touch()
    assert len(os.listdir(tmp_path)) == 3
    ng.save(2, other)
    ng.save(2, path)
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, other.name, similar.name])


def test_a_save_leaves_the_unfinished_file_of_another_one(tmp_path, monkeypatch):
    """Two at a time: the second one starts while the first has written half."""
    path = tmp_path / "x.pt"
    real = os.fsync

    def fsync(descriptor):
        monkeypatch.setattr(os, "fsync", real)
        assert len(os.listdir(tmp_path)) == 1
        done = subprocess.run(
            [sys.executable, "-c", "import sys, numbagrad as ng; ng.save(2, sys.argv[1])", path],
            env={**os.environ, "PYTHONPATH": str(pathlib.Path(ng.__file__).parents[1])},
        )
        assert done.returncode == 0 and ng.load(path) == 2
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    ng.save(1, path)
    assert ng.load(path) == 1 and os.listdir(tmp_path) == ["x.pt"]


def test_a_class_that_overrides_functions_comes_and_goes(tmp_path):
    """While there is such a class, methods of Tensor are others than before and after."""
    code = """
import numbagrad as torch
class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs)
torch.save({"a": torch.ones(2)}, "first.pt")
torch.overrides.uninstall()
torch.save({"a": torch.ones(2)}, "second.pt")
print(torch.load("first.pt")["a"].tolist(), torch.load("second.pt")["a"].tolist())
"""
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.stdout == "[1.0, 1.0] [1.0, 1.0]\n", made.stderr


def test_storages_go_to_another_device_once():
    """The bytes are read into main memory; each storage is copied to the device in one piece."""
    code = """
import io
import second_backend
import numbagrad as torch
torch.backend.register(second_backend.BACKEND)
copied = []
real = second_backend.BACKEND.from_host
def from_host(array):
    copied.append(array.size)
    return real(array)
second_backend.BACKEND.from_host = from_host
x = torch.arange(12.0).reshape(3, 4)
file = io.BytesIO()
torch.save({"x": x, "part": x[1:, ::2], "n": torch.ones(2)}, file)
def load(where):
    file.seek(0)
    return torch.load(file, map_location=where)
for where in ("python", torch.device("python"), {"cpu": "python"}):
    copied.clear()
    read = load(where)
    assert copied == [12, 2], copied
    assert str(read["x"].device) == str(read["part"].device) == "python"
    read["x"].fill_(5)
    assert read["part"].cpu().tolist() == [[5, 5], [5, 5]]
again = io.BytesIO()
torch.save(read["n"], again)
again.seek(0)
assert str(torch.load(again).device) == "python"
again.seek(0)
assert torch.load(again, map_location="cpu").tolist() == [1, 1]
assert load(lambda storage, location: None)["x"].device.type == "cpu"
"""
    paths = (pathlib.Path(ng.__file__).parents[1], pathlib.Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
