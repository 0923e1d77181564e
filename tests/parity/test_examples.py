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


def history(name, library, folder, monkeypatch):
    """Train an example for a while under a library; return its history.

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
            text = text.replace("from numbagrad import nn", "from torch import nn")
        return compile(text, str(path), "exec")

    shared = types.ModuleType("training")
    exec(read("training"), vars(shared))
    monkeypatch.setitem(sys.modules, "training", shared)
    names = {"__name__": name, "__file__": str(EXAMPLES / f"{name}.py")}
    exec(read(name), names)
    if "STEPS" in names:
        names["STEPS"] = 5
    names["main"]()
    return library.load(folder / f"{name}.pt")["history"]


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
    ours = history(name, numbagrad, tmp_path, monkeypatch)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # where cores are shared, torch's threads wait for each other
    theirs = history(name, torch, tmp_path, monkeypatch)
    torch.set_num_threads(threads)
    assert ours.keys() == theirs.keys()
    for number, values in ours.items():
        np.testing.assert_allclose(values, theirs[number], rtol=tolerance, err_msg=number)
