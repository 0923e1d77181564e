"""It holds: deep graphs, long runs, many threads, forked children, and errors half way through."""

import gc
import itertools
import os
import pathlib
import re
import threading
import time
import tracemalloc
import warnings

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.program.program import Program

DEPTH = 100_000


@pytest.fixture
def num_threads():
    """`torch.set_num_threads`, undone afterwards."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


class Net:
    """A two-layer network with its own data and updates by hand."""

    def __init__(self, seed, inputs=8, hidden=6, outputs=3):
        generator = torch.Generator().manual_seed(seed)
        self.x = torch.randn(16, inputs, generator=generator)
        self.y = torch.randn(16, outputs, generator=generator)
        self.weights = [
            torch.randn(inputs, hidden, generator=generator).requires_grad_(),
            torch.randn(hidden, outputs, generator=generator).requires_grad_(),
        ]

    def step(self):
        first, second = self.weights
        loss = ((self.x.mm(first).clamp(min=0).mm(second) - self.y) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            for weight in self.weights:
                weight -= 1e-3 * weight.grad
                weight.grad = None
        return loss

    def train(self, steps=50):
        """The bytes of all losses and of the weights at the end."""
        losses = [self.step().item() for _ in range(steps)]
        return losses, [weight.detach().numpy().tobytes() for weight in self.weights]


# --- depth --------------------------------------------------------------------------------------


def test_a_chain_of_many_operators_runs_forward_and_backward():
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = y + x
    y.sum().backward()
    assert x.grad.tolist() == [DEPTH + 1.0] * 2


def test_a_deep_graph_that_is_never_walked_is_freed_without_recursion():
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = y * 1.0
    del y
    assert (x * 2).tolist() == [2.0, 2.0]


def test_a_deep_graph_can_be_differentiated_twice():
    x = torch.ones(2, requires_grad=True)
    y = x * x
    for _ in range(5_000):
        y = y + x
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [2.0, 2.0]


# --- memory -------------------------------------------------------------------------------------


def test_training_without_the_cyclic_collector_does_not_grow_memory():
    net = Net(seed=0)
    for _ in range(50):
        net.step()
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        for _ in range(1_000):
            net.step()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(9_000):
            net.step()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    # One leaked object a step would be half a megabyte or more.
    assert after - before < 50_000


def test_a_step_leaves_no_garbage_for_the_cyclic_collector():
    net = Net(seed=0)
    net.step()
    gc.collect()
    gc.disable()
    try:
        net.step()
        assert gc.collect() == 0
    finally:
        gc.enable()


# --- threads ------------------------------------------------------------------------------------


def test_threads_that_train_at_once_get_the_bits_of_one_after_another():
    expected = [Net(seed).train() for seed in range(8)]
    found = [None] * 8
    start = threading.Barrier(8)

    def train(seed):
        net = Net(seed)
        start.wait()
        found[seed] = net.train()

    threads = [threading.Thread(target=train, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def large_results():
    """Results of kernels whose work is split over threads, as bytes."""
    torch.manual_seed(0)
    a, b = torch.randn(517, 389), torch.randn(389, 433)
    row = torch.randn(389)
    wide = torch.randn(3, 300_007)
    x = a.clone().requires_grad_()
    ((x * row).exp().log1p() * x).sum().backward()
    results = [
        a.mm(b),
        a.t().mm(a),
        (a * row + a).tanh(),
        a.t() + a.t().contiguous(),
        torch.softmax(a, 1),
        torch.softmax(a, 0),
        wide.sum(),
        wide.sum(1),
        a.sum(0),
        a.sum(1),
        wide.mean(),
        wide.amax(1),
        x.grad,
    ]
    return [result.numpy().tobytes() for result in results]


def test_results_do_not_depend_on_the_number_of_threads(num_threads):
    num_threads(1)
    expected = large_results()
    for count in (2, 3, 4):
        num_threads(count)
        for _ in range(3):
            assert large_results() == expected


def test_large_work_in_several_threads_at_once_is_right(num_threads):
    num_threads(2)
    expected = large_results()
    found = []
    threads = [threading.Thread(target=lambda: found.append(product())) for _ in range(4)]

    def product():
        a = torch.ones(300, 300)
        return [float(a.mm(a).sum()) for _ in range(20)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[300.0**3] * 20] * 4
    assert large_results() == expected


# --- forks --------------------------------------------------------------------------------------


def child_exit_code(function, seconds=120):
    """Fork, run `function` in the child, and return its result, the exit code of the child."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads
        child = os.fork()
    if child == 0:
        code = 99
        try:
            code = function()
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError(f"the child did not finish within {seconds} s")


def test_a_forked_child_trains_as_its_parent_does(num_threads):
    num_threads(2)
    expected = Net(seed=3).train(), large_results()  # the workers are running when we fork

    def train():
        return 0 if (Net(seed=3).train(), large_results()) == expected else 1

    assert child_exit_code(train) == 0
    assert (Net(seed=3).train(), large_results()) == expected


def test_a_child_forked_while_other_threads_train_trains():
    expected = Net(seed=4).train()
    stop = threading.Event()

    def keep_training():
        net = Net(seed=5)
        while not stop.is_set():
            net.step()
            torch.ones(300, 300).mm(torch.ones(300, 300))

    threads = [threading.Thread(target=keep_training) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            assert child_exit_code(lambda: 0 if Net(seed=4).train() == expected else 1) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_child_forked_while_other_threads_run_and_record_programs():
    weight = torch.randn(60, 60)

    @torch.compile
    def step(x):
        return (x @ weight).tanh() @ weight

    def right(size):
        x = torch.ones(size, 60)
        return np.allclose(step(x).numpy(), ((x @ weight).tanh() @ weight).numpy(), 1e-4, 1e-4)

    assert right(4)
    stop = threading.Event()

    def keep_running():
        sizes = itertools.cycle(range(5, 40))
        large = torch.ones(4000, 60)
        while not stop.is_set():
            step(large)
            torch.compile(lambda x: (x * 2).exp() @ weight)(torch.ones(next(sizes), 60))

    threads = [threading.Thread(target=keep_running) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for k in range(8):
            assert child_exit_code(lambda size=k % 4 + 4: 0 if right(size) else 1) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert right(4)


# --- errors -------------------------------------------------------------------------------------


class Fails(torch.autograd.Function):
    """The identity, whose backward raises."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        raise ValueError("backward failed")


def test_an_error_in_backward_leaves_everything_usable():
    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        y = x * 2
        with pytest.raises(ValueError, match="backward failed"):
            (Fails.apply(y) + y).sum().backward()
        assert x.grad is None
        assert torch.is_grad_enabled()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0] * 3


def test_an_error_in_one_thread_is_no_matter_to_another():
    errors = []

    def fail():
        x = torch.ones(3, requires_grad=True)
        try:
            Fails.apply(x * 2).sum().backward()
        except ValueError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=fail) for _ in range(4)]
    for thread in threads:
        thread.start()
    losses = Net(seed=6).train()
    for thread in threads:
        thread.join()
    assert errors == ["backward failed"] * 4
    assert losses == Net(seed=6).train()


def test_an_error_in_a_hook_frees_no_memory_that_is_in_use():
    x = torch.ones(1000, requires_grad=True)
    y = x * 2

    def refuse(grad):
        raise KeyError("hook failed")

    handle = y.register_hook(refuse)
    with pytest.raises(KeyError, match="hook failed"):
        (y * y).sum().backward()
    handle.remove()
    z = x * 2
    (z * z).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(1000, 8.0, np.float32))


class _FailingExit:
    """A lock of which the end of a ``with`` statement has no memory."""

    def __init__(self):
        self.lock = threading.RLock()
        self._is_owned = self.lock._is_owned
        self.release = self.lock.release

    def __enter__(self):
        self.lock.acquire()

    def __exit__(self, *problem):
        raise MemoryError


@pytest.mark.usefixtures("traced_at_once")
def test_a_program_is_not_left_locked_without_memory(monkeypatch):
    lock = _FailingExit()
    ran = []
    run = Program.run

    def run_without_memory(program, *arguments):
        ran.append(program)
        kept, program._lock = program._lock, lock
        try:
            return run(program, *arguments)
        finally:
            program._lock = kept

    def step():  # one program, which Python runs while a profile is taken
        return torch.nn.functional.layer_norm(torch.arange(4.0), (4,))

    expected = step().tolist()
    monkeypatch.setattr(Program, "run", run_without_memory)
    for _ in range(3):
        with torch.profile(), pytest.raises(MemoryError):
            step()
        assert not lock._is_owned()
    assert ran
    monkeypatch.undo()
    assert step().tolist() == expected


def test_locks_of_the_library_know_who_holds_them():
    folder = pathlib.Path(torch.__file__).parent
    plain = [
        path.name
        for path in folder.rglob("*.py")
        if re.search(r"threading\.Lock\(\)", path.read_text())
    ]
    # Of these one is never waited for, and one is the kind that users' locks are compared with.
    assert sorted(plain) == ["inplace.py", "object_state.py"]
