"""Training scripts as people write them: numbagrad, compiled or not, beside torch."""

from __future__ import annotations

import warnings

import pytest
import torch
from parity_tools import close
from training_scripts import SCRIPTS

import numbagrad


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("script", SCRIPTS)
def test_script(script, compiles):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's of what is deprecated, ours of steps in pieces
        torch.manual_seed(0)
        theirs = script(torch, lambda function: function)
        numbagrad.manual_seed(0)
        ours = script(numbagrad, numbagrad.compile if compiles else lambda function: function)
    for found, expected in zip(ours, theirs, strict=True):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            close(a, b, rtol=2e-3, atol=2e-5)
