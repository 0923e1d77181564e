"""The thread launcher: every index once, whoever launches, from any thread and in any process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from numbagrad.executor.cache import library
from numbagrad.executor.threads import cpus, numpy_threads, pool

#: Adds 1 to each element of the range and counts the calls; args are the two addresses.
COUNT = """
from numbagrad.codegen.atomics import fetch_add
from numbagrad.codegen.intrinsics import int64, load, store

def kernel(args, lo, hi):
    out = load(args, 0, int64)
    fetch_add(load(args, 1, int64), 1)
    for i in range(lo, hi):
        store(out, i, load(out, i, int64) + 1, int64)
"""

#: For each index: a launch of its own over a row; args are pool, kernel, argument blocks and width.
NESTED = """
from numbagrad.codegen.intrinsics import int64, load
from numbagrad.native.threads import parallel_for

def kernel(args, lo, hi):
    blocks = load(args, 2, int64)
    for row in range(lo, hi):
        parallel_for(
            load(args, 0, int64), load(args, 1, int64), blocks + row * 16, load(args, 3, int64), 3
        )
"""

LAUNCH = "void(int64, int64, int64, int64, int64)"


def compiled_launch():
    address = library.hand_written("native.threads", "parallel_for", LAUNCH)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 5)(address)


@pytest.fixture
def launch():
    return compiled_launch()


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    monkeypatch.setattr(pool, "SECONDS_WORTH_COMPILING", -1)
    before = pool.get_num_threads()
    pool.set_num_threads(4)
    yield
    pool.set_num_threads(before)


class Counted:
    """An array that the COUNT kernel works on, with the packed arguments that describe it."""

    def __init__(self, size: int):
        self.out = np.zeros(size, np.int64)
        self.calls = np.zeros(1, np.int64)
        self.args = np.array([self.out.ctypes.data, self.calls.ctypes.data], np.int64)
        self.kernel = library.generated("count", COUNT)

    def launch(self, launch, total=None, grain=7):
        total = self.out.size if total is None else total
        launch(pool.pool_address(), self.kernel, self.args.ctypes.data, total, grain)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 16, 100, 1001, 65537])
@pytest.mark.parametrize("grain", [0, 1, 7, 64, 100000])
def test_every_index_is_done_once(launch, size, grain):
    counted = Counted(size)
    for repetition in range(1, 4):
        counted.launch(launch, grain=grain)
        assert (counted.out == repetition).all()


def test_nothing_is_called_for_an_empty_range(launch):
    counted = Counted(4)
    counted.launch(launch, total=0)
    counted.launch(launch, total=-1)
    assert counted.calls[0] == 0


def test_work_is_split_by_grain_and_only_with_workers(launch):
    counted = Counted(100)
    counted.launch(launch, grain=10)
    assert counted.calls[0] == 10
    counted.launch(launch, grain=100)
    assert counted.calls[0] == 11
    pool.set_num_threads(1)
    counted.launch(launch, grain=10)
    assert counted.calls[0] == 12


def test_what_waits_for_shared_work_is_called_once(launch, monkeypatch):
    monkeypatch.setattr(pool, "_sharing", False)
    monkeypatch.setattr(pool, "_seconds_single_threaded", -1.0)
    monkeypatch.setattr(pool, "_waiting", [])
    called = []
    monkeypatch.setattr(pool, "_needed", [*pool._needed])
    pool.when_sharing(lambda: called.append("first"), pool._SPIN)
    assert not called
    block = pool._block
    compiled = block.share_out
    args = Counted(10)
    block.share_out = 0
    for _ in range(2):
        args.launch(launch, grain=1)
    assert called == ["first"] and (args.out == 2).all()
    pool.when_sharing(lambda: called.append("second"), pool._SPIN)
    assert called == ["first", "second"]
    assert block.share_out == compiled


def test_workers_take_part(launch):
    """A kernel that waits until two threads are inside it returns only if a worker comes."""
    source = """
        from numbagrad.codegen.atomics import atomic_load, fetch_add
        def kernel(args, lo, hi):
            fetch_add(args, 1)
            while atomic_load(args) < 2:
                pass
    """
    kernel = library.generated("meet", textwrap.dedent(source))
    for pause in (0.0, 0.05):  # while the worker spins, and after it fell asleep
        time.sleep(pause)
        present = np.zeros(1, np.int64)
        launch(pool.pool_address(), kernel, present.ctypes.data, 2, 1)
        assert present[0] == 2


def test_nested_launch_runs_inside_the_outer_one(launch):
    rows = [Counted(20) for _ in range(30)]
    blocks = np.concatenate([row.args for row in rows])
    address = pool.pool_address()
    args = np.array([address, rows[0].kernel, blocks.ctypes.data, 20], np.int64)
    launch(address, library.generated("nested", NESTED), args.ctypes.data, len(rows), 2)
    assert all((row.out == 1).all() for row in rows)


def run_in_threads(number, target):
    failures = []

    def guarded(index):
        try:
            target(index)
        except BaseException as error:  # reported by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_eight_python_threads_launch_at_once(launch):
    arrays = [Counted(1000 + i) for i in range(8)]

    def work(index):
        for _ in range(300):
            arrays[index].launch(launch, grain=50)

    run_in_threads(8, work)
    assert all((array.out == 300).all() for array in arrays)


@pytest.mark.parametrize("num_threads", [2, 4])
def test_a_hundred_thousand_tiny_launches(launch, num_threads):
    pool.set_num_threads(num_threads)
    arrays = [Counted(4) for _ in range(4)]

    def work(index):
        for _ in range(25_000):
            arrays[index].launch(launch, grain=1)

    run_in_threads(4, work)
    assert all((array.out == 25_000).all() for array in arrays)


def test_launches_while_the_number_of_threads_changes(launch):
    counted = Counted(64)
    done = threading.Event()

    def change(index):
        number = 0
        while not done.is_set():
            number = number % 6 + 1
            pool.set_num_threads(number)

    def work(index):
        for _ in range(5000):
            counted.launch(launch, grain=4)
        done.set()

    run_in_threads(2, lambda index: (change, work)[index](index))
    assert (counted.out == 5000).all()


def test_number_of_threads():
    pool.set_num_threads(3)
    assert pool.get_num_threads() == 3
    with pytest.raises(RuntimeError, match="positive"):
        pool.set_num_threads(0)
    with pytest.raises(TypeError, match="float"):
        pool.set_num_threads(2.0)
    assert pool.get_num_threads() == 3


def test_address_never_changes():
    address = pool.pool_address()
    pool.set_num_threads(1)
    pool.set_num_threads(5)
    assert pool.pool_address() == address


def test_words_that_different_threads_write_share_no_line():
    from numbagrad.codegen.record import Shared, fields_of, size_of
    from numbagrad.native.thread_layout import LINE, Participant, ThreadPool

    shared = {k: x.offset // LINE for k, x in fields_of(ThreadPool).items() if type(x) is Shared}
    assert len(set(shared.values())) == len(shared)
    assert pool.pool_address() % LINE == 0 and size_of(Participant) * 8 == LINE
    assert ThreadPool.lines.offset % LINE == 0


def test_an_idle_pool_uses_no_cpu(launch):
    Counted(100).launch(launch, grain=1)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1


# Other processes.

PREAMBLE = """
import os, sys, threading, time
sys.path.insert(0, {tests!r})
from test_threads import Counted, compiled_launch
from numbagrad.executor.threads import pool
launch = compiled_launch()
counted = Counted(5000)
pool.SECONDS_WORTH_COMPILING = -1
pool.set_num_threads(4)

def check(counted, repetitions=50):
    before = counted.out.copy()
    for _ in range(repetitions):
        counted.launch(launch, grain=5)
    assert (counted.out - before == repetitions).all()
"""


def run_script(text: str, **environment: str) -> subprocess.CompletedProcess:
    source = PREAMBLE.format(tests=os.path.dirname(__file__)) + textwrap.dedent(text)
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", source],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_launches_run_on_one_thread_until_it_is_worth_to_compile_what_shares_them(tmp_path):
    result = run_script(
        """
        pool.SECONDS_WORTH_COMPILING = 1e9
        check(counted)
        alone = counted.calls[0]
        pool.SECONDS_WORTH_COMPILING = 0
        check(counted)
        print(alone, counted.calls[0] - alone)
        """,
        NUMBAGRAD_CACHE_DIR=str(tmp_path),
    )
    assert (result.stdout.split(), result.stderr) == (["50", "50000"], "")


def test_process_exits_cleanly_while_daemon_threads_launch():
    result = run_script(
        """
        def forever(own):
            while True:
                own.launch(launch, grain=5)

        check(counted)
        for _ in range(3):
            threading.Thread(target=forever, args=(Counted(5000),), daemon=True).start()
        time.sleep(0.05)
        check(counted)
        print("done")
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_forked_children_launch():
    """Also when the fork happens inside another thread's launch, and in a child of a child."""
    result = run_script(
        """
        def forever(own):
            while True:
                own.launch(launch, grain=1)

        def wait_for(child):
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0, status

        def in_child():
            assert pool.get_num_threads() == 4
            check(Counted(5000))
            grandchild = os.fork()
            if grandchild == 0:
                check(Counted(5000), 5)
                os._exit(0)
            wait_for(grandchild)

        check(counted)
        threading.Thread(target=forever, args=(Counted(5000),), daemon=True).start()
        for _ in range(20):
            time.sleep(0.001)
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    in_child()
                    code = 0
                finally:
                    os._exit(code)
            wait_for(child)
        check(counted)
        print("done")
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NUMBAGRAD_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, "3"),
        ({"NUMBAGRAD_NUM_THREADS": "", "OMP_NUM_THREADS": "5,2"}, "5"),
        ({"NUMBAGRAD_NUM_THREADS": "many", "OMP_NUM_THREADS": "0"}, None),
    ],
)
def test_default_number_of_threads(environment, expected):
    code = "from numbagrad.executor.threads import pool; print(pool.get_num_threads())"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == (expected or str(cpus.available_cpus()))


@pytest.mark.parametrize("count", [1, 2])
def test_openblas_of_numpy_takes_as_many_threads(count):
    # None: NumPy calls another library, of which nothing is known
    pool.set_num_threads(count)
    assert numpy_threads.threads_of_numpy() in (None, min(count, cpus.available_cpus()))
