"""The examples that train: each improves, and ends with the same bits when it is killed."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

import numbagrad as torch

ROOT = pathlib.Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"

#: Each example, and the number of its history that has to fall (or to rise).
TRAINED = {
    "digits_cnn": "held_out",
    "sine_lstm": "loss",
    "digits_vae": "held_out",
    "pinn": "loss",
    "char_gpt": "held_out",
}


def command(name: str, folder: pathlib.Path, epochs: int) -> list[str]:
    return [
        sys.executable, str(EXAMPLES / f"{name}.py"), "--epochs", str(epochs),
        "--checkpoint", str(folder / "checkpoint.pt"), "--plot", str(folder / "plot.png"),
    ]  # fmt: skip


def environment() -> dict[str, str]:
    path = [str(ROOT), str(EXAMPLES), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def plain(value):
    """What a checkpoint holds, tensors as bytes, so that equal means equal to the last bit."""
    if isinstance(value, torch.Tensor):
        return value.numpy().tobytes()
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value


#: A process of its own, as a user starts it, with shorter epochs.
SHORT = """
import sys
sys.argv = sys.argv[1:]
names = {"__name__": "example", "__file__": sys.argv[0]}
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), names)
if "STEPS" in names:
    names["STEPS"] = 8
names["main"]()
"""


def short(name, folder, epochs):
    """Run an example with shorter epochs; return what it prints."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", SHORT, *command(name, folder, epochs)[1:]],
        env=environment(), timeout=300, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", TRAINED)
def test_an_example_trains_and_goes_on_with_the_same_bits(name, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    printed = short(name, whole, 3)
    assert (whole / "plot.png").read_bytes().startswith(b"\x89PNG")
    state = torch.load(whole / "checkpoint.pt")
    curve = state["history"][TRAINED[name]]
    assert len(curve) == state["epochs"] == 3
    assert curve[-1] > curve[0] if name == "digits_cnn" else curve[-1] < curve[0]

    short(name, stopped, 1)
    resumed = short(name, stopped, 3)
    assert re.search(r"going on from .*, after epoch 1", resumed)
    assert resumed.splitlines()[1] == printed.splitlines()[0]
    assert plain(torch.load(stopped / "checkpoint.pt")) == plain(state)


def test_a_run_that_is_killed_goes_on(tmp_path):
    """SIGKILL, when a checkpoint has just been written or is being written."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    run = {"env": environment(), "timeout": 300, "check": True, "capture_output": True}
    subprocess.run(command("digits_vae", whole, 40), **run)

    checkpoint, kills = killed / "checkpoint.pt", 0
    while kills < 3:
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen(
            command("digits_vae", killed, 40), env=environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while process.poll() is None:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                process.kill()
        assert process.returncode == -signal.SIGKILL, "every run was killed before its end"
        kills += 1
    done = subprocess.run(command("digits_vae", killed, 40), **run)
    assert b"going on from" in done.stdout
    assert plain(torch.load(checkpoint)) == plain(torch.load(whole / "checkpoint.pt"))


def test_options(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import training

    monkeypatch.setattr(sys, "argv", ["example.py", "--epochs", "7"])
    options = training.parse("What it does.\n\nMore.", "waves", 10)
    assert (options.epochs, options.fresh) == (7, False)
    assert (options.checkpoint.name, options.plot.name) == ("waves_checkpoint.pt", "waves.png")


def test_fresh_forgets_what_was_saved(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import training

    options = ["--checkpoint", str(tmp_path / "c.pt"), "--epochs", "2"]
    for extra, epochs in ((), 2), (("--fresh",), 2), (("--epochs", "3"), 1):
        monkeypatch.setattr(sys, "argv", ["example.py", *options, *extra])
        run = training.Training(model=torch.nn.Linear(1, 1))
        called = []
        run.run(lambda called=called: {"loss": float(called.append(1) is None)},
                training.parse("", "x", 1))  # fmt: skip
        assert len(called) == epochs
