"""The examples are scripts for torch: with its import they print the same losses under torch."""

from __future__ import annotations

import pathlib
import sys
import types

import numpy as np
import pytest
import soft_dtw  # from examples/
import torch

import numbagrad
from numbagrad import numba_extension

EXAMPLES = pathlib.Path(__file__).parent.parent.parent / "examples"

# Numba does this by itself where the package is installed, which a source tree is not.
numba_extension.register()


@pytest.mark.parametrize("form", ["tensors", "autograd", "nn", "optim", "module"])
def test_two_layer_net(form, monkeypatch, capsys):
    script = EXAMPLES / f"two_layer_{form}.py"
    monkeypatch.setattr(sys, "argv", [script.name, "50"])
    ours = script.read_text()
    losses = []
    for source in (ours, ours.replace("import numbagrad as torch", "import torch")):
        exec(compile(source, str(script), "exec"), {"__name__": "__main__"})
        losses.append([float(line.split()[1]) for line in capsys.readouterr().out.splitlines()])
    assert ours.count("import numbagrad as torch") == 1
    np.testing.assert_allclose(losses[0], losses[1], rtol=2e-5)


@pytest.mark.parametrize("rival", soft_dtw.RIVALS)
def test_soft_dtw(rival):
    loss, gradient = soft_dtw.step_function(numbagrad, soft_dtw.SoftDTW.apply)()
    expected, expected_gradient = soft_dtw.step_function(torch, soft_dtw.torch_rivals()[rival])()
    assert loss == pytest.approx(expected, rel=1e-5)
    scale = abs(expected_gradient).max()
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-3 * scale)


# --- examples that train --------------------------------------------------------------------------


def trained(name, library, folder, monkeypatch, imported="training"):
    """Train an example for a while under a library; return its last checkpoint.

    Under torch its source, and that of what it imports, is read with torch's name.
    """
    monkeypatch.setattr(
        sys, "argv", [name, "--epochs", "2", "--fresh", "--checkpoint", str(folder / f"{name}.pt"),
                      "--plot", str(folder / f"{name}.png")]
    )  # fmt: skip

    def read(module):
        path = EXAMPLES / f"{module}.py"
        text = path.read_text()
        if library is torch:
            assert text.count("import numbagrad as torch") == 1
            text = text.replace("import numbagrad as torch", "import torch")
            text = text.replace("from numbagrad", "from torch")
            text = text.replace("import numbagrad.", "import torch.")
        return compile(text, str(path), "exec")

    shared = types.ModuleType(imported)
    exec(read(imported), vars(shared))
    monkeypatch.setitem(sys.modules, imported, shared)
    names = {"__name__": name, "__file__": str(EXAMPLES / f"{name}.py")}
    exec(read(name), names)
    if "STEPS" in names:
        names["STEPS"] = 5
    names["main"]()
    return library.load(folder / f"{name}.pt")


@pytest.mark.parametrize(
    "name, tolerance",
    [
        ("digits_cnn", 2e-2),
        ("sine_lstm", 1e-3),
        ("digits_vae", 1e-3),
        ("pinn", 1e-3),
        ("char_gpt", 1e-3),
    ],
)
def test_examples_that_train(name, tolerance, tmp_path, monkeypatch, capsys):
    ours = trained(name, numbagrad, tmp_path, monkeypatch)["history"]
    theirs = with_one_thread(trained, name, torch, tmp_path, monkeypatch)["history"]
    assert ours.keys() == theirs.keys()
    for number, values in ours.items():
        np.testing.assert_allclose(values, theirs[number], rtol=tolerance, err_msg=number)


def with_one_thread(function, *arguments):
    """The result under torch: where cores are shared, its threads wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return function(*arguments)
    finally:
        torch.set_num_threads(threads)


def test_digits_in_parallel(tmp_path, monkeypatch, capsys):
    """In a group of one process; tests/distributed compares several with one."""
    run = "digits_parallel", tmp_path, monkeypatch
    ours = trained(run[0], numbagrad, *run[1:], "digits")
    # torch asks for a store also where there is nobody else; it takes a port that is free.
    place = {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 0}
    for name, value in {**place, "GLOO_SOCKET_IFNAME": "lo"}.items():
        monkeypatch.setenv(name, str(value))
    theirs = with_one_thread(trained, run[0], torch, *run[1:], "digits")
    np.testing.assert_allclose(ours["losses"], theirs["losses"], rtol=1e-3)
    np.testing.assert_allclose(ours["accuracies"], theirs["accuracies"], atol=1e-2)
