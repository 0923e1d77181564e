"""save and load: what comes back, what is refused, and that a kill leaves a whole file."""

import io
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import OrderedDict

import pytest

import numbagrad as ng
from numbagrad import nn, optim, serialization


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


@pytest.mark.parametrize("where", [30, -5, -40])
def test_a_damaged_file_is_recognised(tmp_path, where):
    path = tmp_path / "x.pt"
    ng.save(ng.ones(100), path)
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match="damaged"):
        ng.load(path)
    path.write_bytes(content[:60])
    with pytest.raises(RuntimeError, match="damaged"):
        ng.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(RuntimeError, match="no numbagrad checkpoint"):
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

    monkeypatch.setattr(serialization.os, "fsync", full)
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
