"""The matrix product kernels against NumPy: shapes around every tail, layouts, batches, widths.

Each kernel is compiled here for the host's vectors and for narrower ones, and called on packed
arguments, without the rest of the package; the launcher's own tests are those of the operators.
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

import numbagrad
from numbagrad.codegen import loader
from numbagrad.kernels.matmul import layout

SIZES = (1, 2, 3, 5, 7, 8, 11, 12, 13, 16, 17, 31, 32, 33, 48, 64, 100, 129)
DTYPES = ("float32", "float64")
LAYOUTS = ("NN", "NT", "TN", "TT")


@functools.cache
def kernel(
    method: str, dtype: str, vector_bits: int | None = None
) -> Callable[[int, int, int], None]:
    from numbagrad.codegen import compiler
    from numbagrad.kernels.matmul import product

    function = product.function_of(method, dtype, vector_bits)
    symbol = f"matmul_{method}_{dtype}_{vector_bits}"
    data = compiler.compile_to_object(function, "void(int64, int64, int64)", symbol, code="calls")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(loader.load(data, symbol))


def arguments(a, b, c) -> np.ndarray:
    """Packed words for operands with up to two batch dimensions that broadcast to those of c."""
    words = np.zeros(layout.WORDS, np.int64)
    batch = (1,) * (4 - c.ndim) + c.shape[:-2]
    for operand, array in ((layout.A, a), (layout.B, b), (layout.C, c)):
        array = np.broadcast_to(array, batch + array.shape[-2:])
        words[operand] = array.ctypes.data
        outer, inner, row, column = (stride // c.itemsize for stride in array.strides)
        first = layout.A_ROW + 4 * operand
        words[first : first + 4] = row, column, outer, inner
    words[[layout.M, layout.N, layout.K]] = *c.shape[-2:], a.shape[-1]
    words[layout.WIDTH] = layout.unit_columns(*c.shape[-2:], a.shape[-1])
    words[[layout.OUTER, layout.INNER]] = batch
    return words


def choose(words: np.ndarray, itemsize: int) -> str:
    """The method the launcher takes; what tiles pack goes into the words."""
    m, n, k = (int(words[i]) for i in (layout.M, layout.N, layout.K))
    a_row, a_column = (int(x) for x in words[layout.A_ROW : layout.A_ROW + 2])
    b_row, b_column = (int(x) for x in words[layout.B_ROW : layout.B_ROW + 2])
    words[layout.PACKS] = (
        layout.PACKS_A * layout.packs_a(n, k, a_row, a_column, itemsize)
        + layout.PACKS_B * layout.packs_b(m, k * n, b_row, b_column, itemsize, True)
    )  # fmt: skip
    if m == 1 and b_column == 1:
        return "row"
    return "dots" if layout.is_dots(m, n, k * itemsize, a_column, b_row, 64) else "tiles"


def units(c: np.ndarray, words: np.ndarray) -> int:
    return layout.matmul_units(*c.shape[-2:], int(words[layout.WIDTH]), int(np.prod(c.shape[:-2])))


def prepared(a, b, c, vector_bits=None, method=None, packs=None):
    """The kernel of a product, its words, and how many units they are."""
    if c.shape[-1] == 1 and c.strides[-2] == c.itemsize:  # as the launcher does
        a, b, c = b.swapaxes(-1, -2), a.swapaxes(-1, -2), c.swapaxes(-1, -2)
    words = arguments(a, b, c)
    method = method or choose(words, c.itemsize)
    if packs is not None:
        words[layout.PACKS] = packs
    return kernel(method, c.dtype.name, vector_bits), words, units(c, words)


def run(a, b, c, vector_bits=None, **chosen) -> np.ndarray:
    run_kernel, words, total = prepared(a, b, c, vector_bits, **chosen)
    run_kernel(words.ctypes.data, 0, total)
    return c


def reference(a, b) -> np.ndarray:
    """The product in extended precision, rounded to the dtype of a."""
    return np.matmul(a.astype(np.longdouble), b.astype(np.longdouble)).astype(a.dtype)


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
        run(a, b, c)
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
        check(run(a, b, c, vector_bits), reference(a, b), k)


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
    check(run(a, b, c), reference(a, b), k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_rows_columns_and_dot_products(dtype, layouts):
    rng = np.random.default_rng(3)
    for m, k, n in ((1, 2000, 1), (1, 77, 2050), (2050, 77, 1), (1, 1, 1), (1, 5000, 9)):
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        c = np.full((m, n), np.nan, dtype)
        check(run(a, b, c), reference(a, b), k)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_tail_of_dot_products(dtype):
    rng = np.random.default_rng(4)
    for m, k, n in itertools.product(SIZES, (1, 15, 16, 33, 200), SIZES[::2]):
        a, b = matrix(rng, m, k, "N", dtype), matrix(rng, k, n, "T", dtype)
        c = np.full((m, n), np.nan, dtype)
        check(run(a, b, c, method="dots"), reference(a, b), k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("packs", range(4))
@pytest.mark.parametrize("layouts", (*LAYOUTS, "SN", "NS", "SS"))
def test_packed_or_not_the_bits_are_the_same(dtype, packs, layouts):
    rng = np.random.default_rng(5)
    for m, k, n in ((5, 3, 7), (30, 1100, 70), (13, 21, 600)):
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        if layouts[1] != "N":  # its columns are not contiguous
            packs |= layout.PACKS_B
        expected = run(np.ascontiguousarray(a), np.ascontiguousarray(b), np.empty((m, n), dtype),
                       method="tiles", packs=0)  # fmt: skip
        result = run(a, b, np.full((m, n), np.nan, dtype), method="tiles", packs=packs)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("vector_bits", (128, 256, None))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout_of_a", "NTS")
def test_packing_several_panels_at_once_leaves_the_bits(dtype, vector_bits, layout_of_a):
    rng = np.random.default_rng(13)
    for m, k in ((24, 3), (97, 33), (203, 130), (204, 5), (107, 700)):
        a, b = matrix(rng, m, k, layout_of_a, dtype), matrix(rng, k, 19, "N", dtype)
        expected, result = (
            run(a, b, np.full((m, 19), np.nan, dtype), vector_bits, method="tiles", packs=packs)
            for packs in (0, layout.PACKS_A)
        )
        check(result, reference(a, b), k)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("vector_bits", (128, None))
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_row_is_the_same_by_itself_and_is_added_once(dtype, vector_bits):
    rng = np.random.default_rng(11)
    for m, k, n in itertools.product(range(1, 30), (5, 1100), (10, 33)):
        a, b = matrix(rng, m, k, "T", dtype), matrix(rng, k, n, "N", dtype)
        whole = run(a, b, np.empty((m, n), dtype), vector_bits, method="tiles", packs=0)
        rows = [
            run(a[i : i + 1], b, np.empty((1, n), dtype), vector_bits, method="tiles", packs=0)
            for i in range(m)
        ]
        np.testing.assert_array_equal(whole, np.concatenate(rows))
        c = np.full((m, n), 3, dtype)
        run_kernel, words, total = prepared(a, b, c, vector_bits, method="tiles", packs=0)
        words[layout.ACCUMULATES] = 1
        run_kernel(words.ctypes.data, 0, total)
        check(c, 3 + whole, k)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_depth_gives_zeros(dtype):
    for shape in ((3, 0, 40), (1, 0, 5), (5, 0, 1)):
        a = numbagrad.from_numpy(np.ones(shape[:2], dtype))
        b = numbagrad.from_numpy(np.ones(shape[1:], dtype))
        result = numbagrad.mm(a, b).numpy()
        np.testing.assert_array_equal(result, np.zeros((shape[0], shape[2]), dtype))


def test_the_launcher_takes_the_methods_that_fit():
    ones = np.ones((40, 300), np.float32)
    products = {
        "tiles": (ones, ones.T.copy()),
        "dots": (ones, ones.T),
        "row": (ones[:1], ones.T.copy()),
    }
    for method, (a, b) in products.items():
        a, b = numbagrad.from_numpy(a), numbagrad.from_numpy(b)
        (kernel,) = numbagrad.executor.explain(numbagrad.mm, a, b).kernels
        assert kernel.name == f"matmul_{method}_float32"


def test_no_rows_or_columns_are_no_work():
    assert layout.matmul_units(0, 5, 3, 2) == 0
    assert layout.matmul_units(5, 0, 3, 2) == 0
    assert layout.matmul_units(5, 5, 3, 0) == 0


@pytest.mark.parametrize("columns", (257, 300, 784, 1000, 2049))
def test_units_of_many_rows_are_about_equally_wide(columns):
    width = layout.unit_columns(128, columns, 4096)
    blocks = -(-columns // width)
    last = columns - (blocks - 1) * width
    assert width <= layout.WIDE_COLUMNS and width % layout.WHOLE_TILES == 0
    assert 0 <= width - last <= blocks * layout.WHOLE_TILES


def test_units_are_whole_rows_where_b_is_small():
    assert layout.unit_columns(128, 784, 32) == 784
    assert layout.matmul_units(128, 784, 784, 3) == 3 * 32


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
        check(run(a, b, c), expected, 20)


@pytest.mark.parametrize("dtype", DTYPES)
def test_heads_of_attention_as_views(dtype):
    batch, length, heads, width = 2, 17, 3, 8
    tokens = np.random.default_rng(8).standard_normal((batch, length, heads, width)).astype(dtype)
    queries = tokens.transpose(0, 2, 1, 3)
    keys = tokens.transpose(0, 2, 3, 1)
    scores = np.empty((batch, heads, length, length), dtype)
    check(run(queries, keys, scores), reference(queries, keys), width)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_any_partition_gives_the_same_bits(dtype, layouts):
    rng = np.random.default_rng(9)
    shapes = ((64, 1000, 100), (300, 600, 300), (33, 70, 520), (1, 700, 300), (300, 700, 1))
    for m, k, n in shapes:
        a, b = matrix(rng, m, k, layouts[0], dtype), matrix(rng, k, n, layouts[1], dtype)
        whole = run(a, b, np.empty((m, n), dtype))
        c = np.empty((m, n), dtype)
        run_kernel, words, total = prepared(a, b, c)
        cuts = np.unique(np.append(rng.integers(0, total, 5), (0, total)))
        for lo, hi in reversed(list(itertools.pairwise(cuts))):
            run_kernel(words.ctypes.data, int(lo), int(hi))
        np.testing.assert_array_equal(c, whole)


def test_threads_at_once_do_not_share_scratch_memory():
    rng = np.random.default_rng(10)
    problems = []
    for _ in range(8):
        a, b = matrix(rng, 70, 600, "N", "float32"), matrix(rng, 600, 300, "T", "float32")
        expected = run(a, b, np.empty((70, 300), "float32"))
        problems.append((a, b, expected))
    wrong = []

    def work(a, b, expected):
        for _ in range(20):
            c = run(a, b, np.empty_like(expected))
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
            c = run(a, b, np.zeros((m, n), dtype))
            assert np.isnan(c[m - 1]).all()
            assert not np.isfinite(c[:, n - 1]).any()
            assert np.isfinite(c[: m - 1, : n - 1]).all()


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
            check(run(a, b, c), reference(a, b), k)


def in_pieces(a, b, c, vector_bits=None, epilogue=None, **chosen):
    """The kernel of a product whose depth is shared, its words, and how many units they are."""
    run_kernel, words, total = prepared(a, b, c, vector_bits, **chosen)
    method = getattr(layout, (chosen.get("method") or choose(words, c.itemsize)).upper())
    rows, columns, depth = (int(words[i]) for i in (layout.M, layout.N, layout.K))
    pieces = layout.depth_blocks(method, depth, c.itemsize)
    partials = np.full((pieces - 1, rows, columns), np.nan, c.dtype)
    packed = np.zeros(words.size + layout.joined_groups(rows), np.int64)
    packed[: words.size] = words
    packed[[layout.PIECES, layout.PARTIALS]] = pieces, partials.ctypes.data
    packed[layout.COUNTERS] = words.size
    return run_kernel, packed, total * pieces, partials


@pytest.mark.parametrize("accumulates", (0, 1))
@pytest.mark.parametrize("vector_bits", (128, None))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", ("NN", "TN", "NT", "SS"))
def test_a_shared_depth_gives_the_same_bits(dtype, layouts, vector_bits, accumulates):
    rng = np.random.default_rng(13)
    shapes = (
        (64, 1000, 100), (1, 1030, 17), (8, 4096, 16), (25, 1537, 33), (50, 600, 700),
        (129, 2049, 5), (520, 1100, 40), (7, 513, 1),
    )  # fmt: skip
    for (m, k, n), method in itertools.product(shapes, ("tiles", "dots")):
        if method == "dots" and layouts != "NT":
            continue
        depth = k * (8 if method == "dots" else 1)
        a, b = matrix(rng, m, depth, layouts[0], dtype), matrix(rng, depth, n, layouts[1], dtype)
        before = rng.standard_normal((m, n)).astype(dtype)
        packs = layout.PACKS_B * (layouts[1] != "N") if method == "tiles" else 0
        expected, c = before.copy(), before.copy()
        run_kernel, words, total = prepared(a, b, expected, vector_bits, method=method, packs=packs)
        words[layout.ACCUMULATES] = accumulates
        run_kernel(words.ctypes.data, 0, total)
        run_kernel, words, total, partials = in_pieces(
            a, b, c, vector_bits, method=method, packs=packs
        )
        words[layout.ACCUMULATES] = accumulates
        cuts = np.unique(np.append(rng.integers(0, total, 5), (0, total)))
        ranges = list(itertools.pairwise(cuts))
        for lo, hi in [ranges[i] for i in rng.permutation(len(ranges))]:
            run_kernel(words.ctypes.data, int(lo), int(hi))
        np.testing.assert_array_equal(c, expected)
        assert (words[words[layout.COUNTERS] :] == 0).all()
        assert not np.isnan(partials).any() or len(ranges) == 1
