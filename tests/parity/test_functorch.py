"""``functorch`` under torch's name: modules as functions of their parameters, beside torch's."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, warnings
if OURS:
    import numbagrad
    numbagrad.install_as_torch()
import functorch
import torch
from functorch import combine_state_for_ensemble, grad, make_functional, vmap
from functorch import make_functional_with_buffers

def warned(function, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = function(*arguments)
    return made, [each.category.__name__ for each in caught]

def new(k):
    torch.manual_seed(k)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).eval()

found = {}
x = torch.arange(6.0).reshape(2, 3)
layer = new(0)[0]
(function, params), found["warnings"] = warned(make_functional, layer, True)
found["flags"] = [each.requires_grad for each in params] + [layer.weight.requires_grad]
found["outcome"] = function(params, x).tolist()
(of_grad, found["more warnings"]) = warned(grad, lambda p: function(p, x).pow(2).sum())
found["grads"] = [each.tolist() for each in of_grad(params)]
(function, params, buffers), _ = warned(make_functional_with_buffers, new(1))
found["with buffers"] = function(params, buffers, x).tolist()
found["counts"] = [len(params), len(buffers)]
(function, params, buffers), _ = warned(combine_state_for_ensemble, [new(k) for k in range(3)])
found["ensemble"] = warned(vmap, function, (0, 0, None))[0](params, buffers, x).tolist()
found["stacked flags"] = [each.requires_grad for each in params]
try:
    warned(make_functional, new(1))
except RuntimeError as error:
    found["refused"] = type(error).__name__
print(json.dumps(found))
"""


def run(ours):
    command = [sys.executable, "-c", PROGRAM.replace("OURS", str(ours))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_functions_of_modules_are_those_of_torch():
    ours, theirs = run(True), run(False)
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        assert flat(ours[name]) == approx(flat(expected)), name


def flat(value):
    return [y for x in value for y in flat(x)] if isinstance(value, list) else [value]


def approx(values):
    return [pytest.approx(v, rel=1e-5, abs=1e-5) if isinstance(v, float) else v for v in values]


def test_modules_below_it_have_absent_names():
    program = """
import numbagrad
with numbagrad.install_as_torch():
    from functorch.compile import aot_function
    import functorch
    try:
        aot_function(print)
    except NotImplementedError as error:
        assert "functorch.compile.aot_function is not available" in str(error)
    else:
        raise SystemExit("aot_function was called")
import sys
assert "functorch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
