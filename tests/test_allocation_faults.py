"""No memory: a call raises MemoryError, loses nothing, and the next one is right.

Allocations are made to fail in children (``allocation_faults.py``), since what is wrong there ends
the process; a test says which launcher it was in, and at which allocation.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from allocation_cases import FAMILIES, all_launchers

TESTS = pathlib.Path(__file__).parent

#: Each in a process that has not made a large array before: a fork of one that has not.
LARGE = [
    "x + 1", "x.exp()", "x == 1", "x.softmax(0)", "m @ m", "m.t() * 2", "m.cumsum(0)", "x.clone()",
    "torch.where(x > 0, x, x)", "torch.cat([x, x])", "torch.stack([x, x])", "torch.ones(1 << 46)",
]  # fmt: skip
FIRST_LARGE = """
import os, sys
import numbagrad as torch
from numbagrad.executor import memory
memory.BYTES_WORTH_COMPILING = int(sys.argv[1])
x = torch.ones(1).expand(1 << 46)
m = torch.ones(1, 1).expand(1 << 23, 1 << 23)
for expression in sys.argv[2:]:
    if os.fork() == 0:
        try:
            eval(expression)
        except MemoryError as error:
            print(expression, "|", error, "|", (torch.ones(1 << 16) + 1).sum().item(), flush=True)
        os._exit(0)
    _, status = os.wait()
    if status:
        print(expression, "| ended with", os.waitstatus_to_exitcode(status), flush=True)
"""


def child(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, on one thread."""
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, errors="replace",
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_every_allocation_may_fail(family: str) -> None:
    done = child(str(TESTS / "allocation_faults.py"), family)
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if line.startswith("WRONG")]
    assert not wrong, "\n".join(wrong)
    last = lines[-1] if lines else "nothing"
    assert done.returncode == 0, f"{done.returncode} at: {last}\n{done.stderr[-3000:]}"
    assert last.startswith("fine") and done.stderr == "", f"{last}\n{done.stderr[-3000:]}"


def test_every_launcher_is_among_the_cases() -> None:
    source = (TESTS / "allocation_cases.py").read_text()
    left = [f"{module}.{name}" for module, name in all_launchers()]
    left = [name for name in left if f'"{name}"' not in source]
    assert not left, f"no case of allocation_cases.py runs {', '.join(left)}"


@pytest.mark.parametrize("compiling", ["at once", "later"])
def test_the_first_large_result_of_a_process(compiling: str) -> None:
    worth = -1 if compiling == "at once" else 1 << 60
    done = child("-c", FIRST_LARGE, str(worth), *LARGE)
    assert (done.returncode, done.stderr) == (0, "")
    found = [line.split(" | ") for line in done.stdout.splitlines()]
    assert [line[0] for line in found] == LARGE
    for expression, text, *total in found:
        assert text.startswith("Unable to allocate") and "with shape (" in text, (expression, text)
        assert total == ["131072.0"], expression
