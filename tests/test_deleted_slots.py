"""An attribute that somebody deleted, or set to nonsense, is an error in Python.

Launchers read the slots of Tensors, nodes and saved tensors where they lie in memory. Every
one of them is deleted, and set to values of types that it never has, and what is left is used in
every way there is (``deleted_slots.py``).
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import numbagrad as torch

VALUES = ["None", "number", "text", "list", "texts", "tuple", "numbers", "objects"]
PROGRAM = pathlib.Path(__file__).parent / "deleted_slots.py"


def found_with(what: str) -> dict[str, str]:
    """What comes of all uses of objects whose slots were deleted, or set to a value."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), what], capture_output=True, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{done.returncode} at: {lines[-1:]}\n{done.stderr[-3000:]}"
    assert len(lines) > 5000
    unclear = [line for line in lines if "SystemError" in line or "LaunchMiss" in line]
    assert not unclear, unclear[:10]
    return dict([line.split(" | ", 1) for line in lines])


@pytest.mark.parametrize("value", VALUES)
def test_slots_that_are_set_to_anything_crash_nothing(value: str) -> None:
    found = found_with(value)
    assert not found["leaves _array, sum"].startswith("nothing") or value == "objects"
    if value != "None":
        assert found["leaves _version_cell, walk"].startswith("AttributeError")


def test_slots_that_are_deleted_crash_nothing() -> None:
    found = found_with("deleted")
    for use in ("with another", "cat", "sum", "product", "walk", "detach", "text"):
        assert found[f"leaves _array, {use}"] != "nothing", use
    assert found["leaves _version_cell, with itself"].startswith("AttributeError")
    assert found["inner _producer, with itself"].startswith("AttributeError")
    assert found["node of mul saved, walk"].startswith("AttributeError")


@pytest.mark.parametrize(
    "name", ["data", "requires_grad", "grad_fn", "shape", "dtype", "is_leaf", "_version"]
)
def test_public_attributes_are_not_deleted(name: str) -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises((RuntimeError, AttributeError), match=r"[Dd]elet|must be a bool"):
        delattr(x, name)
    assert (x * 2).sum().item() == 4.0


def test_a_gradient_may_be_deleted() -> None:
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    del x.grad
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "name",
    ["_grad_fn", "_base", "grad_fn", "is_leaf", "shape", "dtype", "is_cuda", "is_cpu", "is_sparse"],
)
@pytest.mark.parametrize("value", [None, 3, "text", (), torch.ones(2)])
def test_attributes_of_torch_refuse_assignments_at_once(name, value):
    for x in (torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True).view(2)):
        with pytest.raises(AttributeError):
            setattr(x, name, value)
        with pytest.raises(RuntimeError if name == "_grad_fn" else AttributeError):
            delattr(x, name)
        (x * 2).sum().backward()


@pytest.mark.parametrize("name", ["grad", "_grad"])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        (3, TypeError), ("text", TypeError), ([], TypeError), (torch.ones(3), RuntimeError),
        (torch.ones(2, dtype=torch.float64), RuntimeError),
    ],
)  # fmt: skip
def test_gradients_of_another_kind_are_refused_at_once(name, value, error):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(error):
        setattr(x, name, value)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    setattr(x, name, torch.ones(2))
    assert x._grad.tolist() == [1.0, 1.0]
    delattr(x, name)
    assert x.grad is None
