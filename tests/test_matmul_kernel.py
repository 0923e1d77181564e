"""The matrix product kernels against NumPy: shapes around every tail, layouts, batches, widths.

Each kernel is compiled here for the host's vectors and for narrower ones, and called on packed
arguments, without the rest of the package.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import mmap
import threading
from collections.abc import Callable

import numpy as np
import pytest

from numbagrad.kernels import loader
from numbagrad.kernels import matmul_layout as layout

SIZES = (1, 2, 3, 5, 7, 8, 11, 12, 13, 16, 17, 31, 32, 33, 48, 64, 100, 129)
DTYPES = ("float32", "float64")
LAYOUTS = ("NN", "NT", "TN", "TT")


@functools.cache
def kernel(dtype: str, vector_bits: int | None = None) -> Callable[[int, int, int], None]:
    import numba

    from numbagrad.kernels import compiler, matmul

    function = matmul.build_matmul(getattr(numba, dtype), vector_bits)
    symbol = f"matmul_{dtype}_{vector_bits}"
    data = compiler.compile_to_object(function, "void(int64, int64, int64)", symbol)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(loader.load(data, symbol))


def arguments(a, b, c, alpha=1.0, beta=0.0, initial=None) -> np.ndarray:
    """Packed words for operands with up to two batch dimensions that broadcast to those of c."""
    words = np.zeros(layout.WORDS, np.int64)
    batch = (1,) * (4 - c.ndim) + c.shape[:-2]
    initial = np.broadcast_to(c if initial is None else initial, c.shape)
    for operand, array in ((layout.A, a), (layout.B, b), (layout.C, c), (layout.I, initial)):
        array = np.broadcast_to(array, batch + array.shape[-2:])
        words[operand] = array.ctypes.data
        outer, inner, row, column = (stride // c.itemsize for stride in array.strides)
        first = layout.A_ROW + 4 * operand
        words[first : first + 4] = row, column, outer, inner
    words[[layout.M, layout.N, layout.K]] = *c.shape[-2:], a.shape[-1]
    words[[layout.OUTER, layout.INNER]] = batch
    words[[layout.ALPHA, layout.BETA]] = np.array([alpha, beta]).view(np.int64)
    return words


def units(c: np.ndarray, depth: int) -> int:
    return layout.matmul_units(*c.shape[-2:], depth, int(np.prod(c.shape[:-2])))


def run(run_kernel, a, b, c, **options) -> np.ndarray:
    words = arguments(a, b, c, **options)
    run_kernel(words.ctypes.data, 0, units(c, a.shape[-1]))
    return c


def reference(a, b, alpha=1.0, beta=0.0, initial=None) -> np.ndarray:
    """The product in extended precision, rounded to the dtype of a."""
    product = alpha * np.matmul(a.astype(np.longdouble), b.astype(np.longdouble))
    if beta != 0:
        product = product + beta * initial
    return product.astype(a.dtype)


def check(actual, expected, depth: int) -> None:
    tolerance = np.finfo(actual.dtype).eps * (4 + depth)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def matrix(rng, rows: int, columns: int, how: str, dtype: str) -> np.ndarray:
    """Random values; how: contiguous rows (N) or columns (T), or every second element (S)."""
    if how == "S":
        return rng.standard_normal((2 * rows, 2 * columns)).astype(dtype)[::2, ::2]
    shape = (rows, columns) if how == "N" else (columns, rows)
    values = rng.standard_normal(shape).astype(dtype)
    return values if how == "N" else values.T


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_every_tail_of_every_dimension(dtype, layouts):
    rng = np.random.default_rng(0)
    for m, k, n in itertools.product(SIZES, SIZES[::2], SIZES):
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        framed = np.full((m + 2, n + 40), 7, dtype)
        c = framed[1:-1, 20:-20]
        c[:] = np.nan
        run(kernel(dtype), a, b, c)
        check(c, a.astype(np.float64) @ b.astype(np.float64), k)
        framed[1:-1, 20:-20] = 7
        assert (framed == 7).all(), f"wrote outside C for {(m, k, n)}"


@pytest.mark.parametrize("vector_bits", (128, 256, 512))
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_width_of_vectors(dtype, vector_bits):
    rng = np.random.default_rng(1)
    sizes = ((1, 1, 1), (3, 5, 7), (12, 8, 33), (7, 64, 17), (29, 100, 31), (65, 300, 65))
    for (m, k, n), layouts in itertools.product(sizes, (*LAYOUTS, "SS")):
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        c = np.full((m, n), np.nan, dtype)
        check(run(kernel(dtype, vector_bits), a, b, c), reference(a, b), k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", (*LAYOUTS, "SN", "NS", "SS"))
@pytest.mark.parametrize(
    "shape", ((300, 700, 300), (129, 1030, 65), (5, 2500, 600), (600, 33, 5), (2, 9000, 3))
)
def test_several_cache_blocks(dtype, layouts, shape):
    rng = np.random.default_rng(2)
    m, k, n = shape
    a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
    c = np.full((m, n), np.nan, dtype)
    check(run(kernel(dtype), a, b, c), reference(a, b), k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_rows_columns_and_dot_products(dtype, layouts):
    rng = np.random.default_rng(3)
    for m, k, n in ((1, 2000, 1), (1, 77, 2050), (2050, 77, 1), (1, 1, 1), (1, 5000, 9)):
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        c = np.full((m, n), np.nan, dtype)
        check(run(kernel(dtype), a, b, c), reference(a, b), k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", "NTS")
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_results_of_any_strides(dtype, how, layouts):
    rng = np.random.default_rng(4)
    for m, k, n in ((13, 20, 37), (33, 500, 9), (1, 40, 50), (50, 40, 1)):
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        c = matrix(rng, m, n, how, dtype)
        check(run(kernel(dtype), a, b, c), reference(a, b), k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ((13, 20, 37), (30, 700, 40), (20, 600, 300), (1, 50, 60)))
def test_alpha_beta_and_initial_values(dtype, shape):
    rng = np.random.default_rng(5)
    m, k, n = shape
    for layouts in ("NN", "NT", "TN"):
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        bias = rng.standard_normal(n).astype(dtype)
        initial = rng.standard_normal((m, n)).astype(dtype)
        for given in (bias, initial, np.asfortranarray(initial), initial[:, :1]):
            for how in "NT":
                c = matrix(rng, m, n, how, dtype)
                run(kernel(dtype), a, b, c, alpha=0.5, beta=-2.0, initial=given)
                check(c, reference(a, b, 0.5, -2.0, given), k)


@pytest.mark.parametrize("dtype", DTYPES)
def test_accumulates_into_the_result(dtype):
    rng = np.random.default_rng(6)
    for m, k, n in ((8, 8, 8), (40, 1500, 50), (1, 30, 40), (40, 30, 1)):
        for layouts in LAYOUTS:
            a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
            c = matrix(rng, m, n, "N", dtype)
            expected = reference(a, b, 1.0, 1.0, c.copy())
            check(run(kernel(dtype), a, b, c, beta=1.0), expected, k)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_depth_gives_zeros_or_the_scaled_initial_values(dtype):
    for m, n in ((3, 40), (1, 5), (5, 1)):
        a, b = np.ones((m, 0), dtype), np.ones((0, n), dtype)
        assert (run(kernel(dtype), a, b, np.full((m, n), np.nan, dtype)) == 0).all()
        initial = np.full((m, n), 3, dtype)
        c = np.full((m, n), np.nan, dtype)
        assert (run(kernel(dtype), a, b, c, beta=2.0, initial=initial) == 6).all()


def test_no_rows_or_columns_are_no_work():
    assert layout.matmul_units(0, 5, 3, 2) == 0
    assert layout.matmul_units(5, 0, 3, 2) == 0
    assert layout.matmul_units(5, 5, 3, 0) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_with_strides_and_broadcasting(dtype):
    rng = np.random.default_rng(7)
    shapes = (
        ((3, 13, 20), (3, 20, 37)),
        ((2, 3, 9, 20), (2, 3, 20, 33)),
        ((13, 20), (5, 20, 37)),
        ((5, 13, 20), (20, 37)),
        ((2, 1, 9, 20), (1, 3, 20, 33)),
        ((4, 1, 20), (4, 20, 33)),
        ((4, 9, 20), (4, 20, 1)),
    )
    for first, second in shapes:
        a, b = rng.standard_normal(first).astype(dtype), rng.standard_normal(second).astype(dtype)
        expected = reference(a, b)
        c = np.full_like(expected, np.nan)
        check(run(kernel(dtype), a, b, c), expected, 20)
        c = np.full(expected.shape[:-2] + expected.shape[:-3:-1], np.nan, dtype).swapaxes(-1, -2)
        check(run(kernel(dtype), a, b, c), expected, 20)


@pytest.mark.parametrize("dtype", DTYPES)
def test_heads_of_attention_as_views(dtype):
    batch, length, heads, width = 2, 17, 3, 8
    tokens = np.random.default_rng(8).standard_normal((batch, length, heads, width)).astype(dtype)
    queries = tokens.transpose(0, 2, 1, 3)
    keys = tokens.transpose(0, 2, 3, 1)
    scores = np.empty((batch, heads, length, length), dtype)
    check(run(kernel(dtype), queries, keys, scores), reference(queries, keys), width)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_any_partition_gives_the_same_bits(dtype, layouts):
    rng = np.random.default_rng(9)
    shapes = ((64, 1000, 100), (300, 600, 300), (33, 70, 520), (1, 700, 300), (300, 700, 1))
    for m, k, n in shapes:
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        whole = run(kernel(dtype), a, b, np.empty((m, n), dtype))
        c = np.empty((m, n), dtype)
        words, total = arguments(a, b, c), units(c, k)
        cuts = np.unique(np.append(rng.integers(0, total, 5), (0, total)))
        for lo, hi in reversed(list(itertools.pairwise(cuts))):
            kernel(dtype)(words.ctypes.data, int(lo), int(hi))
        np.testing.assert_array_equal(c, whole)


def test_threads_at_once_do_not_share_scratch_memory():
    rng = np.random.default_rng(10)
    problems = []
    for _ in range(8):
        a, b = matrix(rng, 70, 600, "N", "float32"), matrix(rng, 600, 300, "T", "float32")
        expected = run(kernel("float32"), a, b, np.empty((70, 300), "float32"))
        problems.append((a, b, expected))
    wrong = []

    def work(a, b, expected):
        for _ in range(20):
            c = run(kernel("float32"), a, b, np.empty_like(expected))
            if not np.array_equal(c, expected):
                wrong.append(c)

    threads = [threading.Thread(target=work, args=problem) for problem in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_a_number_and_infinity_reach_only_their_rows_and_columns(dtype):
    for m, k, n in ((13, 20, 37), (40, 700, 50), (300, 20, 300), (1, 9, 40)):
        for layouts in LAYOUTS:
            rng = np.random.default_rng(11)
            a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
            a[m - 1, k - 1] = np.nan
            b[0, n - 1] = np.inf
            c = run(kernel(dtype), a, b, np.zeros((m, n), dtype))
            assert np.isnan(c[m - 1]).all()
            assert not np.isfinite(c[:, n - 1]).any()
            assert np.isfinite(c[: m - 1, : n - 1]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_initial_values_are_not_read_where_beta_is_zero(dtype):
    a, b = np.ones((13, 20), dtype), np.ones((20, 37), dtype)
    initial = np.full((13, 37), np.nan, dtype)
    assert (run(kernel(dtype), a, b, np.empty((13, 37), dtype), initial=initial) == 20).all()


def test_reads_nothing_beyond_the_operands():
    """Operands that end where the memory of the process may end: a wild read would crash."""
    page = mmap.PAGESIZE
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def at_the_end_of_a_page(values: np.ndarray) -> np.ndarray:
        pages = -(-values.nbytes // page) + 1
        memory = mmap.mmap(-1, pages * page)
        buffer = np.frombuffer(memory, np.uint8)
        assert protect(buffer.ctypes.data + (pages - 1) * page, page, 0) == 0
        end = (pages - 1) * page
        result = buffer[end - values.nbytes : end].view(values.dtype).reshape(values.shape)
        result[:] = values
        return result

    rng = np.random.default_rng(12)
    for m, k, n in ((13, 21, 37), (3, 401, 5), (1, 21, 37), (300, 21, 301), (37, 21, 1)):
        for layouts in LAYOUTS:
            a = at_the_end_of_a_page(rng.standard_normal((m, k) if layouts[0] == "N" else (k, m)))
            b = at_the_end_of_a_page(rng.standard_normal((k, n) if layouts[1] == "N" else (n, k)))
            a, b = a if layouts[0] == "N" else a.T, b if layouts[1] == "N" else b.T
            c = at_the_end_of_a_page(np.zeros((m, n)))
            check(run(kernel("float64"), a, b, c), reference(a, b), k)
