"""Launchers are used only where objects lie in memory as they expect."""

import os
import subprocess
import sys
import types

import pytest

from numbagrad.native import guard_layout, layout, probes

#: Every place in a head of CPython or NumPy that launchers read, and how far off it is tried.
PLACES = [
    (layout, "OBJECT_TYPE", 8), (layout, "ARRAY_DATA", 8), (layout, "ARRAY_DIMENSIONS", 4),
    (layout, "ARRAY_SHAPE", 8), (layout, "ARRAY_STRIDES", -8), (layout, "ARRAY_BASE", 8),
    (layout, "ARRAY_DESCRIPTOR", -8), (layout, "ARRAY_FLAGS", 4), (layout, "ARRAY_HANDLER", -8),
    (layout, "DESCRIPTOR_BYTE_ORDER", 1), (layout, "DESCRIPTOR_TYPE_NUMBER", 4),
    (guard_layout, "LIST_SIZE", 8), (guard_layout, "LIST_ITEMS", -8),
    (guard_layout, "DICTIONARY_SIZE", 8),
]  # fmt: skip


def test_this_interpreter_is_known():
    assert probes.disagreement() is None


@pytest.mark.parametrize(("module", "name", "by"), PLACES, ids=[name for _, name, _ in PLACES])
def test_a_place_that_differs_is_noticed(module, name, by, monkeypatch):
    monkeypatch.setattr(module, name, getattr(module, name) + by)
    assert probes.disagreement() is not None


def test_all_places_are_probed():
    places = {name for _, name, _ in PLACES}
    declared = {n for n in vars(layout) if n.startswith(("ARRAY_", "DESCRIPTOR_", "OBJECT_"))}
    declared |= {n for n in vars(guard_layout) if n in ("LIST_SIZE", "LIST_ITEMS")}
    declared |= {"DICTIONARY_SIZE"}
    assert places == declared


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("abiflags", "t", "no global interpreter lock"),
        ("version_info", (3, 99, 0), "CPython 3.99 is not known"),
        ("implementation", types.SimpleNamespace(name="pypy"), "pypy, not CPython"),
    ],
)
def test_an_interpreter_that_is_not_known(name, value, text, monkeypatch):
    monkeypatch.setattr(sys, name, value)
    assert text in probes.disagreement()


PROGRAM = """
import sys
sys.abiflags = "t"
import numbagrad as torch
from numbagrad.executor import mode
x = torch.tensor([1.0, 2.0], requires_grad=True)
step = torch.compile(lambda x: (x * x).relu().sum())
for _ in range(5):
    step(x).backward()
assert not mode.NATIVE and not mode.JIT_DISABLED
print(x.grad.tolist())
"""


def test_without_launchers_all_goes_on(tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBAGRAD_NATIVE")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[0] == "[10.0, 20.0]"
    lines = done.stderr.strip().split("\n")
    assert len(lines) == 1 and "no global interpreter lock" in lines[0]
    assert "launchers are off" in lines[0]
