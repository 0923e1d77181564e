"""The pool of large buffers: whose arrays it holds, what it keeps, that it survives its users."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import numbagrad
from numbagrad.executor.memory import buffers as memory
from numbagrad.native import buffer_layout

#: Elements of float32 that make a large array.
LARGE = buffer_layout.LARGE_BYTES // 4


def handler_name(array: np.ndarray) -> str:
    return np._core.multiarray.get_handler_name(array)


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    """The usual limit before and after, and nothing kept; a pool from the first array on."""
    monkeypatch.setattr(memory, "BYTES_WORTH_COMPILING", -1)
    memory.set_pool_limit(memory.DEFAULT_LIMIT)
    memory.empty_pool()
    yield
    memory.set_pool_limit(memory.DEFAULT_LIMIT)


def test_large_results_come_from_the_pool_and_begin_at_a_page() -> None:
    a = numbagrad.ones(2 * LARGE)
    for result in (a + 1, a.reshape(2, -1).softmax(1), a.reshape(-1, 1024) @ numbagrad.eye(1024)):
        assert handler_name(result._array) == "numbagrad"
        assert result._array.ctypes.data % buffer_layout.PAGE_BYTES == 0
        assert result._array.flags.owndata


def test_the_arrays_of_others_do_not() -> None:
    a = numbagrad.ones(2 * LARGE)
    before = memory.pool_stats().taken
    kept = a + 1
    assert memory.pool_stats().taken == before + 1
    assert handler_name(np.empty(2 * LARGE)) == "default_allocator"
    assert handler_name(kept._array.copy()) == "default_allocator"
    assert handler_name((numbagrad.ones(8) + 1)._array) == "default_allocator"


def test_freed_buffers_are_used_again() -> None:
    a = numbagrad.ones(3 * LARGE)
    first = a + 1
    address = first._array.ctypes.data
    del first
    kept = memory.pool_stats()
    assert kept.kept >= a.nbytes
    second = a * 2
    assert second._array.ctypes.data == address
    now = memory.pool_stats()
    assert (now.reused, now.taken) == (kept.reused + 1, kept.taken)
    assert now.kept == kept.kept - buffer_layout.capacity(memory_class(address))
    assert (second == 2).all()


def memory_class(address: int) -> int:
    return ctypes.c_int64.from_address(address - buffer_layout.PAGE_BYTES).value


@pytest.mark.parametrize("size", [LARGE, LARGE + 1, 5 * LARGE // 4, 2 * LARGE, 7 * LARGE + 3])
def test_a_buffer_has_room_for_its_array_and_little_more(size: int) -> None:
    array = (numbagrad.ones(size) + 1)._array
    room = buffer_layout.capacity(memory_class(array.ctypes.data))
    assert array.nbytes <= room <= max(1.25 * array.nbytes, buffer_layout.LARGE_BYTES)


def test_no_more_is_kept_than_the_limit() -> None:
    a = numbagrad.ones(LARGE)
    memory.set_pool_limit(3 * buffer_layout.LARGE_BYTES)
    made = [a + k for k in range(8)]
    del made
    assert memory.pool_stats().kept == 3 * buffer_layout.LARGE_BYTES
    # What was kept makes room for what is used now.
    larger = numbagrad.from_numpy(np.ones(2 * LARGE, np.float32)) + 1
    del larger
    assert memory.pool_stats().kept == 3 * buffer_layout.LARGE_BYTES
    memory.set_pool_limit(0)
    assert memory.pool_stats().kept == 0
    del a
    assert (numbagrad.ones(LARGE) + 1)[0] == 2
    assert memory.pool_stats().kept == 0


def test_limits_that_are_none(monkeypatch) -> None:
    with pytest.raises(ValueError, match="set_pool_limit expects a number of bytes, but got -1"):
        memory.set_pool_limit(-1)
    monkeypatch.setenv("NUMBAGRAD_POOL_BYTES", "4096")
    assert memory._limit_from_environment() == 4096
    monkeypatch.setenv("NUMBAGRAD_POOL_BYTES", "a lot")
    with pytest.raises(ValueError, match="NUMBAGRAD_POOL_BYTES must be a number of bytes"):
        memory._limit_from_environment()


@pytest.mark.parametrize("size", [LARGE // 2, LARGE + 100, 9 * LARGE])
def test_resizing_an_array_keeps_its_elements(size: int) -> None:
    array = (numbagrad.arange(2 * LARGE, dtype=numbagrad.float32) + 1)._array
    array.resize((size,), refcheck=False)
    kept = min(size, 2 * LARGE)
    np.testing.assert_array_equal(array[:kept], np.arange(1, kept + 1, dtype=np.float32))
    assert not array[kept:].any()


def test_threads_share_the_pool() -> None:
    failed = []

    def work(seed: int) -> None:
        for step in range(20):
            a = numbagrad.full((LARGE + 1000 * ((seed + step) % 3),), float(seed))
            if not ((a + step) * 2 == 2.0 * (seed + step)).all():
                failed.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_forked_child_uses_its_copy() -> None:
    a = numbagrad.ones(2 * LARGE)
    kept = a + 1
    child = os.fork()
    if child == 0:
        fine = bool(((kept * 2 + a) == 5).all())
        del kept
        os._exit(0 if fine and bool((a + 1 == 2).all()) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert (kept == 2).all()


def test_arrays_that_outlive_the_interpreter() -> None:
    code = (
        "import builtins, sys, numpy, numbagrad\n"
        "a = numbagrad.ones(1 << 20)\n"
        "builtins.kept = [a + 1]\n"
        "numpy.kept = a + 2\n"
        "sys.kept = (a + 3)._array\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_first_large_arrays_are_those_of_numpy_unless_the_pool_is_on_disk(tmp_path) -> None:
    code = (
        "import numbagrad, numpy\n"
        "from numbagrad.executor.memory import buffers as memory\n"
        "def name(): return numpy._core.multiarray.get_handler_name((x + 1)._array)\n"
        "x = numbagrad.ones(1 << 20).reshape(1 << 10, -1)\n"
        "print(name(), bool((x + 1 == 2).all()), (x.t() * x).stride(), (x + 1).sum().item())\n"
        "memory.BYTES_WORTH_COMPILING = 0\n"
        "print(name())\n"
    )
    first, second = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "NUMBAGRAD_CACHE_DIR": str(tmp_path)},
        ).stdout.split("\n")
        for _ in range(2)
    ]  # fmt: skip
    assert first[:2] == ["default_allocator True (1, 1024) 2097152.0", "numbagrad"]
    assert second[:2] == ["numbagrad True (1, 1024) 2097152.0", "numbagrad"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: numbagrad.zeros(1024, 1024),
        lambda: numbagrad.ones(1024, 1024, dtype=numbagrad.float64),
        lambda: numbagrad.empty(1 << 20),
        lambda: numbagrad.full((1024, 1024), 3.5),
        lambda: numbagrad.randn(1024, 1024),
        lambda: numbagrad.rand(512, 2048, dtype=numbagrad.float64),
        lambda: numbagrad.randint(0, 9, (1024, 1024)),
        lambda: numbagrad.zeros_like(numbagrad.ones(1024, 1024)),
    ],
)
def test_large_tensors_made_in_python_lie_in_buffers_of_the_pool(make):
    before = memory.pool_stats()
    made = make()
    after = memory.pool_stats()
    assert after.taken + after.reused > before.taken + before.reused
    assert made.data_ptr() % 4096 == 0
    assert made.is_contiguous()
