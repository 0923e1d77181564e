"""Whole processes: import, and 500 steps of the two-layer net from an empty and from a warm cache.

Every row starts fresh interpreters in turn and reports medians of wall time; the last row is the
peak of resident memory.
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

SCRIPT = pathlib.Path(__file__).with_name("two_layer.py")
TABLE = "Fresh processes"
TURNS = 5


#: Runs a command and prints its wall seconds and its peak of resident memory. It stands between the
#: two, since a process starts with the peak of the one that started it: that of this one is small.
WATCH = """
import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


def run(arguments: list[str], cache: pathlib.Path) -> tuple[float, float]:
    """Wall seconds and peak MiB of a process."""
    environment = {
        **os.environ,
        "NUMBAGRAD_CACHE_DIR": str(cache),
        "NUMBAGRAD_NUM_THREADS": str(THREADS),
        "OMP_NUM_THREADS": str(THREADS),
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if THREADS > 1 else 'false'}",
    }
    # Every contestant has its bytecode: the rivals were installed with theirs.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    watched = subprocess.run(
        [sys.executable, "-S", "-c", WATCH, sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, peak, code = watched.stdout.split()
    assert code == "0", (arguments, watched.stderr)
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return float(seconds), float(peak) / scale


def medians(contestants: dict[str, list[str]], cache: pathlib.Path, empty: bool = False):
    """Median seconds and MiB of each contestant, started in turn."""
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for arguments in contestants.values():
        run(arguments, cache)
    for _ in range(TURNS):
        for name, arguments in contestants.items():
            if empty:
                shutil.rmtree(cache, ignore_errors=True)
            samples[name].append(run(arguments, cache))
    return {
        name: tuple(statistics.median(column) for column in zip(*values, strict=True))
        for name, values in samples.items()
    }


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def test_import(record, cache):
    imports = {name: ["-c", f"import {name}"] for name in ("numbagrad", "numpy")}
    found = medians(imports, cache)
    extra = found["numbagrad"][0] - found["numpy"][0]
    record(
        TABLE, "import numbagrad, seconds beyond import numpy (rival column: the bar)", 1.0,
        {"numbagrad": extra, "bar": 0.4},
    )  # fmt: skip


def script(library: str) -> list[str]:
    return [str(SCRIPT), library, "500"]


def test_warm(record, cache):
    found = medians({name: script(name) for name in ("numbagrad", "torch")}, cache)
    seconds, peaks = ({name: v[k] for name, v in found.items()} for k in range(2))
    record(TABLE, "import and 500 steps, warm cache, seconds", 0.5, seconds)
    record(TABLE, "the same, peak memory, MiB", 0.75, peaks)


def test_jax(record, cache):
    found = medians({name: script(name) for name in ("numbagrad", "jax")}, cache)
    seconds = {name: v[0] for name, v in found.items()}
    record(TABLE, "import and 500 steps, warm cache, beside JAX, seconds", None, seconds)


def test_empty(record, cache):
    found = medians({name: script(name) for name in ("numbagrad", "torch")}, cache, empty=True)
    seconds = {name: v[0] for name, v in found.items()}
    record(TABLE, "import and 500 steps, empty cache, seconds", 2.0, seconds)
