"""Kernels that other processes compile while the program goes on: the same ones, the same bits."""

import os
import subprocess
import sys

import pytest

#: Prints what a training loop computed, and what its own threads compiled after the first steps.
LOOP = """
import hashlib, time
import numbagrad as torch
from numbagrad.codegen import compiler
from numbagrad.executor import background, deferred

deferred.CALLS_WORTH_COMPILING, deferred.CALLS_BETWEEN = 20, 4
compiled = []
compile_to_object = compiler.compile_to_object

def noting(function, signature, symbol, *options):
    compiled.append(symbol)
    return compile_to_object(function, signature, symbol, *options)

torch.manual_seed(0)
x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
digest = hashlib.sha256()

def step():
    ((x * w + x).relu().sum() / 3).backward()
    digest.update(w.grad.numpy().tobytes())
    with torch.no_grad():
        w.sub_(w.grad, alpha=0.1)
    w.grad = None

def is_installed():
    from numbagrad.ops.operators import native_launchers
    return native_launchers._of_formulas.installed

step()
compiler.compile_to_object = noting
for _ in range(30):
    step()
before, began = is_installed(), time.monotonic()
while not is_installed():
    step()
    time.sleep(0.01)
    assert time.monotonic() - began < 120, background._shared.known
digest = hashlib.sha256()
w = (torch.arange(16.0).view(4, 4) / 7).requires_grad_()
for _ in range(20):
    step()
print(before, len(compiled), digest.hexdigest())
"""


def _run(code, cache, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240,
        env={**os.environ, "NUMBAGRAD_CACHE_DIR": str(cache), "NUMBAGRAD_SHIPPED": "0",
             **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_launchers_are_compiled_beside_the_program(tmp_path):
    background = _run(LOOP, tmp_path / "one", NUMBAGRAD_BACKGROUND="1")
    at_once = _run(LOOP, tmp_path / "other", NUMBAGRAD_BACKGROUND="0")
    assert background[:2] == ["False", "0"]  # none by the program itself
    assert at_once[0] == "True" and int(at_once[1]) >= 5
    assert background[2] == at_once[2]


#: Prints how many kernels of a compiled step this process compiled, and its results.
STEP = """
import numbagrad as torch
from numbagrad.codegen import compiler
from numbagrad.executor import background, library

background.KERNELS_WORTH_A_PROCESS = 2
background._cpus = lambda: 2
compiled = []
compile_to_object = compiler.compile_to_object

def noting(function, signature, symbol, *options):
    compiled.append(symbol)
    return compile_to_object(function, signature, symbol, *options)

compiler.compile_to_object = noting
texts = [
    f"from numbagrad.codegen.intrinsics import float64, load, store\\n\\n"
    f"def kernel(args, lo, hi):\\n    store(args, 0, load(args, 0, float64) * {k}.25, float64)\\n"
    for k in range(12)
]
found = library.together([lambda text=t: library.generated("scaled", text) for t in texts])
numbers = []
for address in found:
    x = torch.full((1,), 3.0, dtype=torch.float64)
    library.callable_at(address)(x.data_ptr(), 0, 1)
    numbers.append(x.item())
assert numbers == [3 * (k + 0.25) for k in range(12)], numbers
print(len(compiled), library.stats().compiled, len(background._shared.known))
"""


def test_what_is_needed_at_once_is_compiled_on_all_cores(tmp_path):
    here, counted, left = map(int, _run(STEP, tmp_path, NUMBAGRAD_BACKGROUND="1"))
    assert here <= counted and counted >= 12 and not left


@pytest.fixture
def requests(monkeypatch):
    """The module with nothing requested, and a kernel that takes no time."""
    from numbagrad.executor import background, library

    monkeypatch.setattr(background, "ENABLED", True)
    monkeypatch.setattr(background, "_shared", background._Shared())
    text = "def kernel(args, lo, hi):\n    pass\n"
    kernel = library.Kernel("nothing", "compiled", library.UNIFORM, text)
    yield background, kernel
    with background._shared.changed:
        processes = list(background._shared.processes)
    for process in processes:
        process.kill()


def test_a_process_that_dies_leaves_the_kernel_to_others(requests):
    background, kernel = requests
    assert background.request("some key", kernel)
    with background._shared.changed:
        (process,) = background._shared.processes
    process.kill()
    assert background.result("some key") is None
    assert not background.knows("some key")


def test_a_kernel_of_another_key_is_refused(requests):
    background, kernel = requests
    assert background.request("no key of this kernel", kernel)
    background._shared.known["no key of this kernel"].done.wait(120)
    assert background.is_done("no key of this kernel")
    assert background.result("no key of this kernel") is None


def test_an_object_file_comes_back(requests):
    from numbagrad.executor import library

    background, kernel = requests
    key = library.source_key("nothing", kernel.source)
    assert background.request(key, kernel)
    background._shared.known[key].done.wait(120)
    assert background.result(key)[:4] == b"\x7fELF"


def test_a_forked_child_has_no_request(requests):
    background, kernel = requests
    background.request("some key", kernel)
    child = os.fork()
    if child == 0:
        os._exit(int(background.knows("some key") or bool(background._shared.processes)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert background.knows("some key")


def test_without_another_process_there_is_no_request(requests, monkeypatch):
    background, kernel = requests
    monkeypatch.setattr("sys.executable", "/no/such/interpreter")
    assert not background.request("some key", kernel)
    assert not background.knows("some key") and not background.request("some key", kernel)
