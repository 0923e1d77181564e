"""Files that are almost checkpoints are refused, or hold data: see ``checkpoint_fuzz.py``."""

import os
import pathlib
import re
import subprocess
import sys

import checkpoint_fuzz
import pytest

import numbagrad as ng


def test_no_file_runs_anything_crashes_or_takes_memory():
    done = subprocess.run(
        [sys.executable, checkpoint_fuzz.__file__, "1000000", "2000"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(ng.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr.split("seed ")[-1]
    loaded, refused, grown = map(int, re.findall(r"\d+", done.stdout))
    assert loaded >= 50 and refused >= 500 and loaded + refused == 2000 and grown < 100


@pytest.mark.parametrize("event", ["run", "memory", "other"])
def test_the_check_itself_finds_what_it_looks_for(event):
    """A loader that runs code, takes memory or gives other objects does not pass."""
    program = f"""
import pickle, sys, os
import checkpoint_fuzz, numbagrad as ng
def load(file):
    if {event!r} == "run":
        os.listdir(".")
    if {event!r} == "memory":
        return bytes(2 ** 30)
    return ng.nn.ReLU()
ng.load = load
checkpoint_fuzz.main(0, 10)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": f"{pathlib.Path(ng.__file__).parents[1]}:{pathlib.Path(__file__).parent}",
        },
    )
    assert done.returncode == 1
    text = {"run": "caused [('os.listdir'", "memory": "MemoryError", "other": "a file gave a"}[
        event
    ]
    assert text in done.stderr
