"""The first calls of the compiled two-layer step in fresh processes, cache empty and full.

A program is complete when the step has been called with and without gradients from before, so the
first three calls are a row too.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import pytest

from .conftest import THREADS

TABLE = "Fresh processes"
TURNS = 3
ROOT = pathlib.Path(__file__).parents[1]


def first_calls(library: str, cache: pathlib.Path) -> tuple[float, float]:
    """Seconds of the first call and of the first three, in a new process."""
    environment = {
        **os.environ,
        "NUMBAGRAD_CACHE_DIR": str(cache / "numbagrad"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "torch"),
        "NUMBAGRAD_NUM_THREADS": str(THREADS),
    }
    # Every contestant has its bytecode: the rivals were installed with theirs.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    printed = subprocess.run(
        [sys.executable, "-m", "bench.first_call", library],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    one, three = printed.split()
    return float(one), float(three)


@pytest.fixture(scope="module")
def cold(tmp_path_factory):
    """First calls with an empty cache; torch's once, since they take half a minute."""
    cache = tmp_path_factory.mktemp("cache")
    torch = first_calls("torch", cache)
    samples = []
    for _ in range(TURNS):
        shutil.rmtree(cache / "numbagrad", ignore_errors=True)
        samples.append(first_calls("numbagrad", cache))
    ours = tuple(map(statistics.median, zip(*samples, strict=True)))
    return cache, ours, torch


def test_cold(cold, record):
    _, ours, torch = cold
    record(
        TABLE, "first call of the compiled two-layer step, empty cache, seconds", 0.2,
        {"numbagrad": ours[0], "torch": torch[0]},
    )  # fmt: skip
    record(TABLE, "the same, first three calls", None, {"numbagrad": ours[1], "torch": torch[1]})


def test_warm(cold, record):
    cache, _, _ = cold
    samples = [first_calls("numbagrad", cache) for _ in range(TURNS)]
    one, three = map(statistics.median, zip(*samples, strict=True))
    record(
        TABLE, "first call in a second process, seconds (rival column: the bar)", 1.0,
        {"numbagrad": one, "bar": 0.5},
    )  # fmt: skip
    record(TABLE, "the same, first three calls", None, {"numbagrad": three, "bar": 0.5})
