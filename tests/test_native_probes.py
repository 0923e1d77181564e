"""Launchers are used only where objects lie in memory as they expect."""

import os
import subprocess
import sys
import types

import pytest

from numbagrad.codegen.record import Record, fields_of
from numbagrad.native import object_heads as heads
from numbagrad.native import probes

#: Every place in a head of CPython or NumPy that launchers read, and how far off it is tried.
POSITIONS = [
    (heads.ObjectHead, "type", 8), (heads.ArrayHead, "data", 8), (heads.ArrayHead, "dimensions", 4),
    (heads.ArrayHead, "shape", 8), (heads.ArrayHead, "strides", -8), (heads.ArrayHead, "base", 8),
    (heads.ArrayHead, "descriptor", -8), (heads.ArrayHead, "flags", 4),
    (heads.ArrayHead, "handler", -8), (heads.DescriptorHead, "byte_order", 1),
    (heads.DescriptorHead, "type_number", 4), (heads.ListHead, "size", 8),
    (heads.ListHead, "items", -8), (heads.CellHead, "contents", -8),
    (heads.DictionaryHead, "size", 8),
]  # fmt: skip

#: Fields that are there for the places of the others, and those that have a check of their own.
NOT_TRIED = {
    "references", "rest_of_references", "weak_references", "buffer_information", "scalar_type",
    "kind", "letter", "former_flags", "version",
}  # fmt: skip


def test_this_interpreter_is_known():
    assert probes.disagreement() is None


@pytest.mark.parametrize(("head", "name", "by"), POSITIONS)
def test_a_position_that_differs_is_noticed(head, name, by, monkeypatch):
    field = fields_of(head)[name]
    monkeypatch.setattr(field, "offset", field.offset + by)
    assert probes.disagreement() is not None


def test_all_positions_are_probed():
    records = [x for x in vars(heads).values() if isinstance(x, type) and issubclass(x, Record)]
    declared = {name for record in records for name in fields_of(record)}
    assert {name for _, name, _ in POSITIONS} == declared - NOT_TRIED


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
