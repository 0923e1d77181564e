"""Kernels that other processes compile while the program goes on: the same ones, the same bits."""

import os
import pathlib
import subprocess
import sys

import pytest

import numbagrad as torch

#: Prints what a step computed without launchers and with those that were compiled meanwhile, and
#: which ones its own thread compiled.
LOOP = """
import hashlib, time
import numbagrad as torch
from numbagrad.codegen import compiler
from numbagrad.executor.cache import background, deferred, library
from numbagrad.executor import builtin
from numbagrad.ops.operators import native_launchers

background._cpus = lambda: 2
deferred.CALLS_WORTH_COMPILING, deferred.CALLS_BETWEEN = 40, 4
group = native_launchers._of_formulas
contents = {library._hand_written_content(*builtin.described(*each))
            for each in group.functions.items()}
stored, compile_to_object, compiled = library._stored, compiler.compile_to_object, []
library._stored = lambda content: None if content in contents else stored(content)

def noting(function, signature, symbol, *options):
    compiled.append(symbol.removeprefix("numbagrad_"))
    return compile_to_object(function, signature, symbol, *options)

compiler.compile_to_object = noting
x = torch.arange(16.0).view(4, 4) / 3

def digest():
    w = (torch.arange(16.0).view(4, 4) / 7).requires_grad_()
    found = hashlib.sha256()
    for _ in range(3):
        ((x * w + x).relu().sum() / 3).backward()
        found.update(w.grad.numpy().tobytes())
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.1)
        w.grad = None
    return found.hexdigest()

before = digest()
assert not group.installed
began = time.monotonic()
while not group.installed:
    digest()
    time.sleep(0.01)
    assert time.monotonic() - began < 200, background._shared.known
print(before == digest(), sorted(set(compiled) & set(group.functions)))
"""


def _run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240,
        env={**os.environ, "NUMBAGRAD_NUM_THREADS": "2", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_launchers_are_compiled_beside_the_program():
    assert _run(LOOP, NUMBAGRAD_BACKGROUND="1") == "True []"


def test_without_other_processes_the_program_compiles_them():
    printed = _run(LOOP, NUMBAGRAD_BACKGROUND="0")
    assert printed.startswith("True ['attach', 'pointwise', 'pointwise_gradients'")


#: Prints how many kernels this process compiled, how many are there, and how many nobody took.
STEP = """
import numbagrad as torch
from numbagrad.codegen import compiler
from numbagrad.executor.cache import background, library

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
    printed = _run(STEP, NUMBAGRAD_BACKGROUND="1", NUMBAGRAD_CACHE_DIR=str(tmp_path))
    here, counted, left = map(int, printed.split())
    assert here <= counted and counted >= 12 and not left


#: Calls a compiled function before its kernels are there and after, and prints how many programs it
#: had by then, how many kernels the second and later calls compiled in this process, and whether
#: results agree.
MEANWHILE = """
import sys, time
import numbagrad as torch
from numbagrad.codegen import compiler
from numbagrad.executor.cache import background

background._cpus = lambda: 2
torch.compiler.set_stance(sys.argv[1])
compile_to_object, is_done, here = compiler.compile_to_object, background.is_done, []

def noting(function, signature, symbol, *options):
    here.append(symbol)
    return compile_to_object(function, signature, symbol, *options)

def function(x, w):
    loss = ((x * w + 1).tanh() * w).exp().sum()
    loss.backward()
    return loss

def programs():
    return sum(map(len, step._programs.values()))

def call():
    w.grad = None
    return step(x, w).item(), w.grad.sum().item()

compiler.compile_to_object = noting
background.is_done = lambda key: False
step = torch.compile(function)
x = torch.linspace(-1, 1, 12).view(3, 4)
w = torch.linspace(0, 1, 12).view(3, 4).requires_grad_()
found = [call()]
del here[:]
found += [call() for _ in range(3)]
before, background.is_done = programs(), is_done
while not all(map(is_done, list(background._shared.known))):
    time.sleep(0.01)
found += [call() for _ in range(3)]
compiled = len(here)
agree = all([torch.allclose(torch.tensor(each), torch.tensor(found[0])) for each in found])
print(before, programs(), compiled, agree)
"""


def _meanwhile(stance, folder):
    code = MEANWHILE.replace("sys.argv[1]", repr(stance))
    printed = _run(code, NUMBAGRAD_BACKGROUND="1", NUMBAGRAD_CACHE_DIR=str(folder))
    return printed.split()


def test_calls_go_on_while_the_kernels_of_their_program_are_compiled(tmp_path):
    assert _meanwhile("eager_while_compiling", tmp_path) == ["0", "1", "0", "True"]


def test_calls_wait_for_their_program_otherwise(tmp_path):
    before, after, _, agree = _meanwhile("default", tmp_path)
    assert before == after == "1" and agree == "True"


@pytest.fixture
def requests(monkeypatch):
    """The module with nothing requested, and a kernel that takes no time."""
    from numbagrad.executor.cache import background, library

    monkeypatch.setattr(background, "ENABLED", True)
    monkeypatch.setattr(background, "_cpus", lambda: 2)
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
    from numbagrad.executor.cache import library

    background, kernel = requests
    key = library.source_key("nothing", kernel.source, code=kernel.code)
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


def test_where_there_is_one_core_no_process_is_started(requests, monkeypatch):
    from numbagrad.executor.threads import cpus

    background, kernel = requests
    monkeypatch.setattr(background, "_cpus", cpus.default_num_threads)
    monkeypatch.setenv("NUMBAGRAD_NUM_THREADS", "1")
    assert not background.has_core() and not background.can_help(100)
    assert not background.request("some key", kernel)
    assert not background._shared.processes


def test_a_process_of_one_thread_compiles_by_itself(requests):
    from numbagrad.executor import builtin

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert builtin.compiles_ahead()
        torch.set_num_threads(1)
        assert not builtin.compiles_ahead()
    finally:
        torch.set_num_threads(before)


@pytest.fixture
def asked(requests, monkeypatch):
    """Names of the kernels that are requested, of which none is compiled elsewhere."""
    from numbagrad.executor.threads import pool

    background, _ = requests
    names = []
    monkeypatch.setattr(pool, "_num_threads", 2)
    monkeypatch.setattr(background, "has_core", lambda: True)
    monkeypatch.setattr(
        background, "request", lambda key, kernel, last=False: names.append(kernel.name)
    )
    return names


def test_the_usual_launchers_are_requested_when_the_first_one_is_missing(asked, monkeypatch):
    from numbagrad.executor import builtin
    from numbagrad.executor.cache import library

    usual = [builtin.described(*each) for each in builtin._USUAL]
    contents = {library._hand_written_content(*each) for each in usual}
    stored = library._stored
    monkeypatch.setattr(library, "_addresses", {})
    monkeypatch.setattr(library, "_stored", lambda x: None if x in contents else stored(x))
    builtin._request_usual.cache_clear()
    builtin.launcher_address("inside", "copying")  # which is there, or in no way special
    asked.clear()
    builtin._request_usual.cache_clear()
    assert builtin.launcher_address("launch_hand_written", "array_launch")
    assert asked == [function for function, _ in builtin._USUAL]


#: Prints for each function which kernels its forward had requested, and how many more its backward
#: compiled. Of all kernels only those of these functions are missing.
FORESIGHT = """
import numbagrad as torch
from numbagrad.executor.cache import background, library
from numbagrad.ops.operators import foresight

asked, load, absent = [], library._load, set()
torch.set_num_threads(2)
weight, bias = torch.ones(5, 6), torch.ones(5, requires_grad=True)
target = torch.zeros(1, 4, 6)
foresight._MANY = 0
background.has_core = lambda: True
background.request = lambda key, kernel, last=False: asked.append(kernel.name)
library._load = lambda content, symbol: None if symbol in absent else load(content, symbol)
for function, forward, backward in (
    (lambda x: x.sin(), "sin", "sin_backward"),
    (lambda x: x.softmax(1), "softmax", "softmax_backward"),
    (lambda x: torch.nn.functional.max_pool2d(x, 2), "largest_float32", "put_back_float32"),
    (lambda x: torch.nn.functional.linear(x[0], weight, bias), "add", "sum"),
    (lambda x: torch.nn.functional.smooth_l1_loss(x, target), "smooth_l1_loss_mean",
     "smooth_l1_loss_backward"),
):
    absent.update([f"numbagrad_{forward}", f"numbagrad_{backward}"])
    x = torch.ones(1, 4, 6, requires_grad=True)
    result = function(x)
    compiled = library.compiled()
    result.backward(torch.ones_like(result))
    print(asked.count(backward), asked.count(forward), library.compiled() - compiled)
    asked.clear()
"""


def test_the_kernels_of_a_backward_are_requested_in_the_forward():
    # The forward of a composite is requested for an evaluation, too.
    expected = "\n".join([*["1 0 1"] * 4, "1 1 1"])
    assert _run(FORESIGHT, NUMBAGRAD_BACKGROUND="0") == expected


def test_nobody_learns_that_a_backward_was_foreseen(asked, monkeypatch):
    from numbagrad.executor.cache import library
    from numbagrad.ops.operators import foresight

    unpacked = []
    monkeypatch.setattr(foresight, "_MANY", 0)
    monkeypatch.setattr(library, "compiled_more", True)
    x = torch.ones(4, 6).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpacked.append):
        y = x.cumprod(1)
    seen = []
    y.grad_fn.register_hook(lambda *gradients: seen.append(gradients))
    y.grad_fn.register_prehook(lambda gradients: seen.append(gradients))
    for function in (lambda: x * y.detach(), x.log):
        library.compiled_more = True
        function()
    assert not unpacked and not seen and x.grad is None


def test_what_runs_without_launchers_has_their_bits():
    program = [sys.executable, pathlib.Path(__file__).with_name("meanwhile.py")]
    digests = [
        subprocess.run([*program, way], capture_output=True, text=True, check=True, timeout=300)
        for way in ("with", "without")
    ]
    lines = [each.stdout.splitlines() for each in digests]
    assert len(lines[0]) > 400 and lines[0] == lines[1]


#: Runs a step of a net whose launchers are all missing: those that were compiled here, whether the
#: step has the bits of a later one, and whether the launchers are in use in the end.
WITHOUT = """
import time
import numbagrad as torch
from numbagrad.codegen import compiler
from numbagrad.executor import builtin
from numbagrad.executor.cache import background, library
from numbagrad.executor.families import matmul

background._cpus = lambda: 2
# Programs wait for theirs, the smallest of them.
usual = [builtin.described(*each) for each in builtin._USUAL if each[0] != "run_program"]
absent = {library._hand_written_content(*each) for each in usual}
stored, compile_to_object, compiled = library._stored, compiler.compile_to_object, []
library._stored = lambda content: None if content in absent else stored(content)

def noting(function, signature, symbol, *options):
    compiled.append(symbol.removeprefix("numbagrad_"))
    return compile_to_object(function, signature, symbol, *options)

compiler.compile_to_object = noting

def step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.LayerNorm(30))
    x = torch.randn(16, 20, requires_grad=True)
    loss = (model(x) * torch.arange(30.0)).softmax(1).sum(0).var()
    loss.backward()
    return [loss.item(), *[p.grad.numpy().tobytes() for p in (x, *model.parameters())]]

torch.set_num_threads(2)
first = last = step()
while not matmul._made:
    last = step()
    time.sleep(0.01)
print(first == last == step(), set(compiled) & {each.function for each in usual})
"""


def test_a_step_goes_on_while_its_launchers_are_compiled():
    assert _run(WITHOUT, NUMBAGRAD_BACKGROUND="1") == "True set()"
