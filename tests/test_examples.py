"""Every example runs, and prints what it promises: as a newcomer runs it, with few steps or all."""

from __future__ import annotations

import itertools
import os
import pathlib
import random
import re
import runpy
import subprocess
import sys
import time

import numpy as np
import pytest
import soft_dtw  # from examples/: what Numba caches on disk needs a module that has a name

import numbagrad as torch
from numbagrad import numba_extension

ROOT = pathlib.Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"

# Numba does this by itself where the package is installed, which a source tree is not.
numba_extension.register()


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """``run(name, *arguments)``: run an example in an empty folder and return what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def trace(printed: str) -> list[float]:
    """The losses of a program that prints a line with step and loss for every step."""
    steps, losses = zip(*[line.split() for line in printed.splitlines()], strict=True)
    assert [int(step) for step in steps] == list(range(len(steps)))
    return [float(loss) for loss in losses]


# --- the two-layer net ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["tensors", "autograd", "legacy_function"])
def test_forms_with_weights_of_their_own(form, run):
    losses = trace(run(f"two_layer_{form}.py"))
    assert len(losses) == 500
    # The numbers that torch prints for this seed.
    assert losses[:3] == pytest.approx([29428664, 22739448, 20605262], rel=1e-5)
    assert losses[-1] < 1e-4
    assert all([after < before for before, after in itertools.pairwise(losses[:300])])


def test_the_modern_function(run, tmp_path):
    printed = run("two_layer_net.py", "101")
    losses = dict(re.findall(r"step +(\d+)  loss (\S+)", printed))
    assert list(losses) == ["0", "50", "100"]
    assert float(losses["0"]) == pytest.approx(29428664, rel=1e-5)
    assert re.search(r"kernels: \d+ compiled, \d+ loaded from the disk cache", printed)
    assert (tmp_path / "two_layer_net_loss.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("form", ["nn", "optim", "module"])
def test_forms_with_modules(form, run):
    losses = trace(run(f"two_layer_{form}.py"))
    assert len(losses) == 500
    assert losses[0] == pytest.approx(628.28394, rel=1e-5)  # torch's number for this seed
    assert losses[-1] < 1e-4


# --- handwritten digits ---------------------------------------------------------------------------


def digits(folder: pathlib.Path) -> list[str]:
    """The command that trains on the digits, with its files in ``folder``."""
    return [
        sys.executable, str(EXAMPLES / "digits.py"),
        "--checkpoint", str(folder / "checkpoint.pt"), "--plot", str(folder / "curves.png"),
    ]  # fmt: skip


def environment() -> dict[str, str]:
    path = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def train_to_the_end(folder: pathlib.Path) -> str:
    done = subprocess.run(
        digits(folder), env=environment(), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kill_after(folder: pathlib.Path, seconds: float) -> bool:
    """Train until a checkpoint was written, and ``seconds`` more; False if training ended first."""
    checkpoint = folder / "checkpoint.pt"
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    process = subprocess.Popen(
        digits(folder), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None:
        if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
            time.sleep(seconds)
            process.kill()
            return process.wait() != 0
        time.sleep(0.001)
    return False


def state(folder: pathlib.Path) -> dict[str, object]:
    """What a checkpoint holds, tensors as bytes, so that equal means equal to the last bit."""

    def plain(value):
        if isinstance(value, torch.Tensor):
            return value.numpy().tobytes()
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items()}
        return [plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value

    return plain(torch.load(folder / "checkpoint.pt"))


def test_digits_are_recognised_whenever_training_is_killed(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    printed = train_to_the_end(whole)
    accuracy = float(re.search(r"right on (\S+)% of 360 images", printed)[1])
    assert accuracy >= 97
    assert (whole / "curves.png").read_bytes().startswith(b"\x89PNG")

    moments = random.Random(0)
    kills = [kill_after(killed, moments.uniform(0, 0.06)) for _ in range(4)]
    assert all(kills), "every run was killed before its end"
    resumed = train_to_the_end(killed)
    epochs = int(re.search(r"going on from .*, after epoch (\d+)", resumed)[1])
    assert 4 <= epochs < 60
    assert resumed.splitlines()[1:3] == printed.splitlines()[:2]
    assert state(killed) == state(whole)


# --- soft-DTW -------------------------------------------------------------------------------------


def all_paths(rows: int, columns: int):
    """Every way through a table from the first cell to the last, by steps right, down or both."""
    if rows == 0 or columns == 0:
        return
    here = (rows - 1, columns - 1)
    if here == (0, 0):
        yield [here]
    for row, column in ((rows - 1, columns), (rows, columns - 1), (rows - 1, columns - 1)):
        for path in all_paths(row, column):
            yield [*path, here]


def test_soft_dtw_is_the_soft_minimum_over_all_paths():
    torch.manual_seed(0)
    cost = torch.rand(2, 3, 4, dtype=torch.double, requires_grad=True)
    gamma = 0.3
    distances = soft_dtw.SoftDTW.apply(cost, gamma)
    distances.sum().backward()

    for table, distance, gradient in zip(cost.detach(), distances.detach(), cost.grad, strict=True):
        paths = list(all_paths(3, 4))
        lengths = np.array([sum(table[cell].item() for cell in path) for path in paths])
        weights = np.exp(-lengths / gamma)
        assert distance.item() == pytest.approx(-gamma * np.log(weights.sum()))
        expected = np.zeros((3, 4))
        for path, weight in zip(paths, weights / weights.sum(), strict=True):
            for cell in path:
                expected[cell] += weight
        np.testing.assert_allclose(gradient.numpy(), expected)


def test_soft_dtw_averages_and_reports(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["soft_dtw.py", "--steps", "20", "--turns", "1"])
    monkeypatch.setattr(soft_dtw.importlib.util, "find_spec", lambda name: None)  # no rival
    threads = torch.get_num_threads()
    soft_dtw.main()
    torch.set_num_threads(threads)
    printed = capsys.readouterr().out
    assert "gradcheck: True" in printed
    first, last = [float(number) for number in re.findall(r"mean distance (\S+)", printed)]
    assert last < first
    assert re.search(r"^numbagrad: \S+ ms a step", printed, re.MULTILINE)
