"""compile(): many small training scripts, beside the same scripts uncompiled.

``python tests/test_compile_more_scripts.py`` prints how each script's steps were run: as one
program, in pieces, or eagerly, and why.
"""

from __future__ import annotations

import collections
import random
import sys
import warnings

import numpy as np
import pytest
import scripts_agents  # noqa: F401 - each fills SCRIPTS
import scripts_batches  # noqa: F401
import scripts_counters  # noqa: F401
import scripts_logs  # noqa: F401
import scripts_methods  # noqa: F401
import scripts_models  # noqa: F401
import scripts_networks  # noqa: F401
import scripts_optimizers  # noqa: F401
import scripts_phases  # noqa: F401
import scripts_state  # noqa: F401
from reads_tools import compare, plain
from scripts_tools import SCRIPTS, Compiling

import numbagrad as torch
from numbagrad.executor.mode import NATIVE

#: Scripts whose steps run uncompiled: the loss of a closure is read as a number there.
EAGER = {"optimizers-lbfgs_inside"}
#: How a refusal begins that rounding may cause, which is that of a CPU's vectors.
ROUNDING = "a difference between the program and the call"


def trained(name, compile):
    """What a script returns from the seeds that all of them start with."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    return plain(SCRIPTS[name](compile))


@pytest.fixture(autouse=True)
def _process_as_before():
    before = random.getstate(), np.random.get_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    random.setstate(before[0])
    np.random.set_state(before[1])


@pytest.mark.parametrize("name", SCRIPTS)
def test_compiled_scripts_train_as_eager_ones(name):
    expected = trained(name, lambda function: function)
    compiling = Compiling()
    found = trained(name, compiling)
    compare(found, expected, name, rtol=2e-3, atol=2e-5)
    if NATIVE:  # else compile() runs functions as they are
        refused = [each for each in compiling.reasons if not each.startswith(ROUNDING)]
        assert (compiling.how == "eager" and bool(refused)) == (name in EAGER), compiling.reasons


def table():
    """How each script was run, by the worst of its steps; counts at the end."""
    warnings.simplefilter("ignore")
    counts = collections.Counter()
    for name in SCRIPTS:
        compile = Compiling()
        trained(name, compile)
        counts[compile.how] += 1
        print(f"{name:60} {compile.how:8} {'; '.join(compile.reasons)}")
    print(dict(counts))


if __name__ == "__main__":
    sys.exit(table())
