"""No memory: a call raises MemoryError, loses nothing, and the next one is right.

Allocations are made to fail in children (``allocation_faults.py``), since what is wrong there ends
the process; a test says which launcher it was in, and at which allocation.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import time

import pytest
from allocation_cases import FAMILIES, all_launchers

from numbagrad import native_stack

TESTS = pathlib.Path(__file__).parent

#: Each in a process that has not made a large array before: a fork of one that has not.
LARGE = [
    "x + 1", "x.exp()", "x == 1", "x.softmax(0)", "m @ m", "m.t() * 2", "m.cumsum(0)", "x.clone()",
    "torch.where(x > 0, x, x)", "torch.cat([x, x])", "torch.stack([x, x])", "torch.ones(1 << 46)",
]  # fmt: skip
FIRST_LARGE = """
import os, sys
import numbagrad as torch
from numbagrad.executor.memory import buffers as memory
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


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="CPython frees constants of functions that lack memory"
)
def test_allocations_of_operators_and_layers_may_fail() -> None:
    """A few of the calls that ``allocation_rows.py`` checks by hand, as many from every part."""
    done = child(str(TESTS / "allocation_rows.py"), "256/37", "40")
    assert done.returncode == 0 and " 0 wrong" in done.stdout, done.stdout + done.stderr


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


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for its limits")


@linux
def test_graphs_that_grow_until_memory_is_out() -> None:
    done = child(str(TESTS / "growing_graphs.py"))
    names = [line.partition(": ")[0] for line in done.stdout.splitlines()]
    assert len(names) >= 14 and len(set(names)) == len(names), done.stdout
    wrong = [line for line in done.stdout.splitlines() if not line.endswith(": fine")]
    assert not wrong, "\n".join([*wrong, done.stderr[-3000:]])
    assert (done.returncode, done.stderr) == (0, "")


STACK = """
import resource, sys
soft = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_STACK, (soft, resource.getrlimit(resource.RLIMIT_STACK)[1]))
import numbagrad
print(next(line for line in open("/proc/self/status") if line.startswith("VmStk")))
"""


@linux
@pytest.mark.parametrize("kilobytes", [100, 300, 1024, 8192])
def test_the_stack_has_grown_after_the_import(kilobytes: int) -> None:
    done = child("-c", STACK, str(kilobytes << 10))
    assert (done.returncode, done.stderr) == (0, "")
    found = re.fullmatch(r"VmStk:\s*(\d+) kB\s*", done.stdout)
    assert found is not None and int(found[1]) >= kilobytes - (native_stack.MARGIN >> 10)


def test_the_stack_grows_fast() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        native_stack.grow_stack()
        return time.perf_counter() - start

    assert min(seconds() for _ in range(20)) < 1e-3
