"""Speed of the matrix product beside torch's and NumPy's, in GFLOP/s, with the same thread count.

Run as ``python bench/bench_matmul.py [--threads 1 2] [--dtype float32]``; ``make bench`` runs it.
Each thread count gets a process of its own, since OpenBLAS reads its count only when it starts.
The three are timed in turns, in the same process, and the medians of the turns compared. A turn is
a run of calls without gaps; before it there is a pause, because the idle threads of OpenMP and of
OpenBLAS spin for a while and would take the CPU from whoever is timed next.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

SHAPES = [
    (64, 1000, 100), (1000, 64, 100), (32, 784, 128), (784, 32, 128),
    *((n, n, n) for n in (64, 128, 256, 512, 1024, 2048)),
]  # fmt: skip
LAYOUTS = ("NN", "NT", "TN")

#: Seconds of each timed run, and how often the three take turns.
RUN_SECONDS = 0.01
TURNS = 9

#: Longer than idle threads spin: OpenBLAS's would for 2**28 cycles, and are told 2**20.
PAUSE_SECONDS = 0.02
OPENBLAS_THREAD_TIMEOUT = "20"


def operand(rows: int, columns: int, layout: str, dtype: np.dtype, rng) -> np.ndarray:
    """A random matrix with contiguous rows (N) or contiguous columns (T)."""
    shape = (rows, columns) if layout == "N" else (columns, rows)
    values = rng.standard_normal(shape).astype(dtype)
    return values if layout == "N" else values.T


def our_product(a: np.ndarray, b: np.ndarray, c: np.ndarray, threads: int) -> Callable[[], None]:
    """A call of the kernel on packed arguments, over the threads of the pool."""
    from numbagrad.executor import library, pool
    from numbagrad.kernels import matmul_layout as layout

    (rows, depth), columns, size = a.shape, b.shape[1], a.itemsize
    words = np.zeros(layout.WORDS, np.int64)
    for operand_index, matrix in ((layout.A, a), (layout.B, b), (layout.C, c), (layout.I, c)):
        words[operand_index] = matrix.ctypes.data
        strides = layout.A_ROW + 4 * operand_index
        words[strides : strides + 2] = [stride // size for stride in matrix.strides]
    words[[layout.M, layout.N, layout.K]] = rows, columns, depth
    words[[layout.OUTER, layout.INNER]] = 1
    words[[layout.ALPHA, layout.BETA]] = np.array([1.0, 0.0]).view(np.int64)
    kernel = library.hand_written("matmul", f"matmul_{a.dtype}")
    units = layout.matmul_units(rows, columns, depth, 1)
    args = words.ctypes.data
    if threads == 1:
        entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(kernel)
        return lambda: (words, entry(args, 0, units))
    pool.set_num_threads(threads)
    address = library.hand_written("threads", "parallel_for", f"void({'int64, ' * 4}int64)")
    launch = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 5)(address)
    control, grain = pool.pool_address(), layout.matmul_grain(rows, columns, depth, 1, threads)
    return lambda: (words, launch(control, kernel, args, units, grain))


def seconds_per_call(function: Callable[[], object], calls: int) -> float:
    time.sleep(PAUSE_SECONDS)
    function()
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def compare(
    shape: tuple[int, int, int], layouts: str, dtype: np.dtype, threads: int
) -> list[float]:
    """GFLOP/s of this package, NumPy and torch on one product."""
    import torch

    rng = np.random.default_rng(0)
    m, k, n = shape
    a, b = operand(m, k, layouts[0], dtype, rng), operand(k, n, layouts[1], dtype, rng)
    ours, theirs = np.empty((m, n), dtype), np.empty((m, n), dtype)
    torch_a, torch_b, torch_c = (torch.from_numpy(x) for x in (a, b, theirs))
    contenders = [
        our_product(a, b, ours, threads),
        lambda: np.matmul(a, b, out=theirs),
        lambda: torch.mm(torch_a, torch_b, out=torch_c),
    ]
    for contender in contenders:
        contender()
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
    operations = 2 * m * k * n / 1e9
    calls = max(1, int(RUN_SECONDS * 80 * threads / operations))
    turns = [[seconds_per_call(c, calls) for c in contenders] for _ in range(TURNS)]
    return [operations / statistics.median(column) for column in zip(*turns, strict=True)]


def table(dtype: np.dtype, threads: int, shapes: list[tuple[int, int, int]]) -> None:
    import torch

    torch.set_num_threads(threads)
    print(f"\n## matmul, {dtype}, {threads} thread{'s' if threads > 1 else ''}: GFLOP/s\n")
    print("| (M, K, N) | layout | numbagrad | NumPy | torch | ratio to the better |")
    print("| --- | --- | --- | --- | --- | --- |")
    ratios = []
    for shape in shapes:
        for layouts in LAYOUTS:
            speeds = compare(shape, layouts, dtype, threads)
            ratios.append(speeds[0] / max(speeds[1:]))
            columns = " | ".join(f"{speed:.1f}" for speed in speeds)
            print(f"| {shape} | {layouts} | {columns} | {ratios[-1]:.2f} |", flush=True)
    print(f"\ngeometric mean {statistics.geometric_mean(ratios):.3f}, lowest {min(ratios):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dtype", default="float32", choices=["float32", "float64"])
    parser.add_argument("--largest", type=int, default=2048, help="leave out larger dimensions")
    options = parser.parse_args()
    if "OPENBLAS_THREAD_TIMEOUT" not in os.environ or len(options.threads) > 1:
        for threads in options.threads:
            command = [sys.executable, __file__, "--threads", str(threads)]
            command += ["--dtype", options.dtype, "--largest", str(options.largest)]
            environment = {
                **os.environ,
                "OPENBLAS_NUM_THREADS": str(threads),
                "OPENBLAS_THREAD_TIMEOUT": OPENBLAS_THREAD_TIMEOUT,
            }
            subprocess.run(command, env=environment, check=True)
        return
    shapes = [shape for shape in SHAPES if max(shape) <= options.largest]
    table(np.dtype(options.dtype), options.threads[0], shapes)


if __name__ == "__main__":
    main()
