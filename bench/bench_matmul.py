"""The matrix product kernel beside torch's and NumPy's, into a result that is already allocated.

OpenBLAS's idle threads spin for a tenth of a second unless ``OPENBLAS_THREAD_TIMEOUT`` (the binary
logarithm of a number of cycles) says otherwise, and with more threads than one they would take the
CPU from whoever is timed next: a low value is set here before NumPy starts its threads.
"""

import os

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")

import ctypes  # noqa: E402
from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

import numbagrad  # noqa: E402
from numbagrad.executor import library, pool  # noqa: E402
from numbagrad.kernels import matmul_layout as layout  # noqa: E402

SHAPES = [
    (64, 1000, 100), (1000, 64, 100), (32, 784, 128), (784, 32, 128),
    *((n, n, n) for n in (64, 128, 256, 512, 1024, 2048)),
]  # fmt: skip

#: No product at less than 0.9 of the speed of the faster rival; the geometric mean above 1.05.
BAR = 1 / 0.9


def operand(rng, rows: int, columns: int, how: str) -> np.ndarray:
    """A random matrix with contiguous rows (N) or contiguous columns (T)."""
    shape = (rows, columns) if how == "N" else (columns, rows)
    values = rng.standard_normal(shape).astype(np.float32)
    return values if how == "N" else values.T


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Callable[[], object]:
    """A call of the kernel on packed arguments, over the threads of the pool."""
    (rows, depth), columns, threads = a.shape, b.shape[1], numbagrad.get_num_threads()
    words = np.zeros(layout.WORDS, np.int64)
    for index, matrix in ((layout.A, a), (layout.B, b), (layout.C, c), (layout.I, c)):
        words[index] = matrix.ctypes.data
        strides = layout.A_ROW + 4 * index
        words[strides : strides + 2] = [stride // c.itemsize for stride in matrix.strides]
    words[[layout.M, layout.N, layout.K]] = rows, columns, depth
    words[[layout.OUTER, layout.INNER]] = 1
    words[[layout.ALPHA, layout.BETA]] = np.array([1.0, 0.0]).view(np.int64)
    kernel = library.hand_written("matmul", "matmul_float32")
    units = layout.matmul_units(rows, columns, depth, 1)
    args = words.ctypes.data
    if threads == 1:
        entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(kernel)
        return lambda: (words, entry(args, 0, units))
    address = library.hand_written("threads", "parallel_for", f"void({'int64, ' * 4}int64)")
    launch = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 5)(address)
    control, grain = pool.pool_address(), layout.matmul_grain(rows, columns, depth, 1, threads)
    return lambda: (words, launch(control, kernel, args, units, grain))


@pytest.mark.parametrize("layouts", ("NN", "NT", "TN"))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_product(race, shape, layouts):
    rng = np.random.default_rng(0)
    m, k, n = shape
    a, b = operand(rng, m, k, layouts[0]), operand(rng, k, n, layouts[1])
    ours, theirs = np.empty((m, n), np.float32), np.empty((m, n), np.float32)
    torch_a, torch_b, torch_c = (torch.from_numpy(x) for x in (a, b, theirs))
    multiply = product(a, b, ours)
    multiply()
    np.testing.assert_allclose(ours, a @ b, rtol=1e-3, atol=1e-3)
    race(
        "Matrix product, float32",
        f"{layouts} {shape}",
        bar=BAR,
        work=2 * m * k * n,
        numbagrad=multiply,
        torch=lambda: torch.mm(torch_a, torch_b, out=torch_c),
        NumPy=lambda: np.matmul(a, b, out=theirs),
    )
