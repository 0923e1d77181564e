"""Elementary functions on a million elements, float32 and float64."""

import pytest
import torch

import numbagrad

FUNCTIONS = ["exp", "log", "log1p", "expm1", "tanh", "sigmoid", "erf", "sin", "cos", "gelu"]


@pytest.mark.parametrize("dtype, bar", [("float32", 1.0), ("float64", 1.2)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(race, name, dtype, bar):
    numbagrad.manual_seed(0)
    x = numbagrad.rand(1_000_000, dtype=getattr(numbagrad, dtype)) * 4
    if name not in ("log", "log1p"):
        x = x - 2
    t = torch.from_numpy(x.numpy())
    ours = getattr(numbagrad, name, None) or getattr(numbagrad.nn.functional, name)
    theirs = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    race(
        f"Elementary functions, 1e6 elements, {dtype}",
        name,
        bar=bar,
        numbagrad=lambda: ours(x),
        torch=lambda: theirs(t),
    )
