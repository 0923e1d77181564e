"""The core suite where nothing reads Python's objects in compiled code: NUMBAGRAD_NATIVE=0.

Kernels are compiled as always, and every call goes the way that launchers take where they say no.
"""

import os
import pathlib
import subprocess
import sys

import pytest

from numbagrad.executor.mode import NATIVE

TESTS = pathlib.Path(__file__).parent

#: Engine, nodes and functions; what calls make and write; layers, random numbers, transformations.
CORE = (
    "autograd_engine", "compile", "creation", "engine_hooks", "engine_nodes", "explain", "foreach",
    "func", "function", "graph", "hooks", "inplace", "launch", "linalg", "nn", "random", "tensor",
    "user_kernel", "vmap",
)  # fmt: skip


@pytest.mark.skipif(not NATIVE, reason="this is the process that the test starts")
@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        # A chain of a hundred thousand operators takes a minute without launchers.
        (CORE, "not chains_of_any_length"),
        # First gradients of every operator, but of those that call a whole program of others.
        (("operators",), "TestPromotion or TestErrors or (test_first and not cdist)"),
    ],
    ids=["core", "operators"],
)
def test_the_suite_passes(files, chosen):
    finished = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider",
            *[TESTS / f"test_{name}.py" for name in files], "-k", chosen,
        ],
        env={**os.environ, "NUMBAGRAD_NATIVE": "0"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout[-4000:]
