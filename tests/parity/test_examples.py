"""The examples are scripts for torch: with its import they print the same losses under torch."""

from __future__ import annotations

import pathlib
import sys

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
