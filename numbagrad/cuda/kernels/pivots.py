"""Decompositions with pivots that CuPy does not have: rows after swaps, ``L D L^T``, its systems.

Swaps are a thread's work for each matrix. ``L D L^T`` is made by the method of
``ops/linear_algebra/ldl.py``: a block makes a matrix, column by column, its threads meeting where a
pivot is chosen and before what is left is updated. A system is a warp's for each right side.
Matrices lie by columns. Called by ``cuda/pivoted.py``.
"""

from __future__ import annotations

import math

from ..driver.source import Source
from .text import indented
from .warps import exchanging, through_shared_memory, within_warp

_SHARE = (1 + math.sqrt(17)) / 8


def swaps_source(backwards: bool, threads: int) -> Source:
    """The row that each one is after swaps (matrices, count) of int32; backwards, its place."""
    parameters = "output", "pivots", "matrices", "rows", "count"
    body = [
        "for matrix in range(cuda.grid(1), matrices, cuda.gridsize(1)):",
        "    order = output + matrix * rows * 8",
        "    for row in range(rows):",
        "        store(order, row, row, int64)",
        "    for step in range(count):",
        f"        k = {'count - 1 - step' if backwards else 'step'}",
        "        other = int64(load(pivots, matrix * count + k, int32)) - 1",
        "        if other >= 0 and other < rows:",
        "            row = load(order, k, int64)",
        "            store(order, k, load(order, other, int64), int64)",
        "            store(order, other, row, int64)",
    ]
    text = [f"# rows after swaps{', where they go' * backwards}"]
    text += [f"def kernel({', '.join(parameters)}):", *indented(1, body), ""]
    return Source("swaps", "\n".join(text), threads)


def _functions(kind: str, is_complex: bool, hermitian: bool) -> list[str]:
    """Elements of a matrix: ``read``, ``write``, their ``size``, and what the other half has."""
    if not is_complex:
        return [
            "def read(at, k):", f"    return load(at, k, {kind})", "",
            "def write(at, k, x):", f"    store(at, k, x, {kind})", "",
            "def size(x):", "    return absolute(x)", "",
            "def turned(x):", "    return x", "",
            "def of_diagonal(x):", "    return x", "",
        ]  # fmt: skip
    return [
        "def read(at, k):",
        f"    return complex(load(at, 2 * k, {kind}), load(at, 2 * k + 1, {kind}))", "",
        "def write(at, k, x):",
        f"    store(at, 2 * k, x.real, {kind})",
        f"    store(at, 2 * k + 1, x.imag, {kind})", "",
        "def size(x):",
        f"    return {kind}(absolute({kind}(x.real)) + absolute({kind}(x.imag)))", "",
        "def turned(x):", f"    return {'complex(x.real, -x.imag)' if hermitian else 'x'}", "",
        "def of_diagonal(x):",
        f"    return {f'complex(x.real, {kind}(0))' if hermitian else 'x'}", "",
    ]  # fmt: skip


def _zero(kind: str, is_complex: bool) -> str:
    return f"complex({kind}(0), {kind}(0))" if is_complex else f"{kind}(0)"


#: The inverse of a block ``a, b, c`` of two rows, by its lower corner c so that nothing overflows.
_OF_TWO = [
    "of_c = 1 / c",
    "of_g = 1 / turned(c)",
    "scale = 1 / ((a * of_c) * (b * of_g) - 1)",
    "of_first = b * of_g * of_c * scale",
    "of_second = a * of_c * of_g * scale",
]


def _joined_choice(kind: str, threads: int, lanes: int) -> list[str]:
    """``best`` of all threads and its row ``index``, the first of equal ones."""
    chosen = [
        "chosen = (x > best) | ((x == best) & (i < index))",
        "best = select(chosen, x, best)",
        "index = select(chosen, i, index)",
    ]
    warps = threads // lanes
    others = {"x": "best", "i": "index"}
    return [
        *exchanging(others, chosen, lanes),
        *through_shared_memory({"best": "sizes", "index": "rows_of"}, lanes, warps),
        *exchanging(others, chosen, warps),
    ]


def factor_source(kind: str, is_complex: bool, hermitian: bool, threads: int, lanes: int) -> Source:
    """L and D of (matrices, n, n), whose lower halves are there; swaps and first zeros in D."""
    share = f"{kind}({_SHARE!r})"
    parameters = "at_out", "at_pivots", "at_info", "matrices", "n"
    clear = [
        f"for e in range(thread, n * n, {threads}):",
        "    column = e // n",
        "    if e - column * n < column:",
        f"        write(at, e, {_zero(kind, is_complex)})",
        "    if e - column * n == column:",
        "        write(at, e, of_diagonal(read(at, e)))",
        "cuda.syncthreads()",
    ]
    nothing = [f"best = {kind}(-1)", "index = n"]
    choose = [
        "own = size(read(at, k * n + k))",
        *nothing,
        f"for j in range(k + 1 + thread, n, {threads}):",
        "    x = size(read(at, k * n + j))",
        "    if x > best:",
        "        best = x",
        "        index = j",
        *_joined_choice(kind, threads, lanes),
        "largest = best",
        "row = index",
        "other = k",
        "count = int64(1)",
        "if not (own > 0 or largest > 0):",
        "    count = int64(0)",
        f"elif own < {share} * largest:",
        *indented(1, nothing),
        f"    for j in range(k + thread, n, {threads}):",
        "        if j != row:",
        "            x = size(read(at, min(j, row) * n + max(j, row)))",
        "            if x > best:",
        "                best = x",
        "                index = j",
        *indented(1, _joined_choice(kind, threads, lanes)),
        f"    if own < {share} * largest * (largest / best):",
        "        other = row",
        f"        if size(of_diagonal(read(at, row * n + row))) < {share} * best:",
        "            count = int64(2)",
        "last = k + count - 1",
        "cuda.syncthreads()",
    ]
    exchange = [
        f"for i in range(last + 1 + thread, n, {threads}):",
        "    x = read(at, last * n + i)",
        "    if i < other:",
        "        write(at, last * n + i, turned(read(at, i * n + other)))",
        "        write(at, i * n + other, turned(x))",
        "    elif i == other:",
        "        write(at, last * n + i, turned(x))",
        "    else:",
        "        write(at, last * n + i, read(at, other * n + i))",
        "        write(at, other * n + i, x)",
        "if thread == 0:",
        "    x = read(at, last * n + last)",
        "    write(at, last * n + last, read(at, other * n + other))",
        "    write(at, other * n + other, x)",
        "    if count == 2:",
        "        x = read(at, k * n + last)",
        "        write(at, k * n + last, read(at, k * n + other))",
        "        write(at, k * n + other, x)",
        "cuda.syncthreads()",
    ]

    def update(factors: list[str], product: str, kept: list[str]) -> list[str]:
        """Statements that change what is left, and then columns of L to what ``factors`` makes."""
        return [
            "left = n - last - 1",
            f"for e in range(thread, left * left, {threads}):",
            "    j = e // left",
            "    i = e - j * left + last + 1",
            "    j += last + 1",
            "    if i >= j:",
            *indented(2, factors),
            f"        made = read(at, j * n + i) - ({product})",
            "        if i == j:",
            "            made = of_diagonal(made)",
            "        write(at, j * n + i, made)",
            "cuda.syncthreads()",
            f"for i in range(last + 1 + thread, n, {threads}):",
            *indented(1, [*factors, *kept]),
            "cuda.syncthreads()",
        ]

    first, second = "first = read(at, k * n + i)", "second = read(at, last * n + i)"
    of_one = update(
        [first, "first = first * inverse"],
        "first * turned(read(at, k * n + j))",
        ["write(at, k * n + i, first)"],
    )
    of_two = update(
        [first, second, "one = first * of_first - second * of_g * scale",
         "two = second * of_second - first * of_c * scale"],
        "one * turned(read(at, k * n + j)) + two * turned(read(at, last * n + j))",
        ["write(at, k * n + i, one)", "write(at, last * n + i, two)"],
    )  # fmt: skip
    step = [
        *choose,
        "if count > 0 and other != last:",
        *indented(1, exchange),
        "if thread == 0:",
        "    number = other + 1",
        "    if count == 2:",
        "        number = -number",
        "        store(pivots, last, int32(number), int32)",
        "    store(pivots, k, int32(number), int32)",
        "if count == 0:",
        "    if zero == 0:",
        "        zero = k + 1",
        "elif count == 1:",
        f"    inverse = {kind}(1) / read(at, k * n + k)",
        *indented(1, of_one),
        "else:",
        "    a = read(at, k * n + k)",
        "    b = read(at, last * n + last)",
        "    c = read(at, k * n + last)",
        *indented(1, [*_OF_TWO, *of_two]),
        "k += max(count, int64(1))",
    ]
    size = (8 if kind == "float64" else 4) * (2 if is_complex else 1)
    body = [
        f"sizes = cuda.shared.array({threads // lanes}, {kind})",
        f"rows_of = cuda.shared.array({threads // lanes}, int64)",
        "thread = int64(cuda.threadIdx.x)",
        "for matrix in range(cuda.blockIdx.x, matrices, cuda.gridDim.x):",
        f"    at = at_out + matrix * n * n * {size}",
        "    pivots = at_pivots + matrix * n * 4",
        "    zero = int64(0)",
        "    k = int64(0)",
        *indented(1, clear),
        "    while k < n:",
        *indented(2, step),
        "    if thread == 0:",
        "        store(at_info, matrix, int32(zero), int32)",
    ]
    return _source("ldl_factor", kind, is_complex, hermitian, parameters, body, threads)


def _source(
    name: str, kind: str, is_complex: bool, hermitian: bool, parameters: tuple[str, ...],
    body: list[str], threads: int,
) -> Source:  # fmt: skip
    what = f"{'complex of ' * is_complex}{kind}{', Hermitian' * hermitian}"
    text = [f"# {name} of {what}", *_functions(kind, is_complex, hermitian), ""]
    text += [f"def kernel({', '.join(parameters)}):", *indented(1, body), ""]
    return Source(name, "\n".join(text), threads)


def solve_source(kind: str, is_complex: bool, hermitian: bool, lanes: int) -> Source:
    """Right sides (units, n), ``columns`` for each matrix of ``factor_source``, to solutions."""
    parameters = "at_factor", "at_pivots", "at_x", "units", "columns", "n"
    swap = [
        "other = abs(pivot) - 1",
        "if thread == 0 and other >= 0 and other < n:",
        "    x = read(from_x, last)",
        "    write(from_x, last, read(from_x, other))",
        "    write(from_x, other, x)",
    ]
    forward = [
        "pivot = int64(load(pivots, k, int32))",
        "last = k if pivot > 0 or k + 1 == n else k + 1",
        *swap,
        "cuda.syncthreads()",
        "x = read(from_x, k)",
        "y = read(from_x, last)",
        f"for i in range(last + 1 + thread, n, {lanes}):",
        "    made = read(from_x, i) - read(at, k * n + i) * x",
        "    if last != k:",
        "        made = made - read(at, last * n + i) * y",
        "    write(from_x, i, made)",
        "cuda.syncthreads()",
        "if thread == 0:",
        "    a = read(at, k * n + k)",
        "    if last == k:",
        "        write(from_x, k, x / a)",
        "    else:",
        "        b = read(at, last * n + last)",
        "        c = read(at, k * n + last)",
        *indented(2, _OF_TWO),
        "        write(from_x, k, x * of_first - y * of_c * scale)",
        "        write(from_x, last, y * of_second - x * of_g * scale)",
        "k = last + 1",
    ]
    sums = [f"{x}_{part}" for x in ("one", "two") for part in ("real", "imag")[: 1 + is_complex]]
    add = [
        "x = read(from_x, i)",
        *[
            line
            for name, column in (("one", "k"), ("two", "last"))
            for line in [
                f"made = turned(read(at, {column} * n + i)) * x",
                *([f"{name}_real += made.real", f"{name}_imag += made.imag"]
                  if is_complex else [f"{name}_real += made"]),
            ]
        ],
    ]  # fmt: skip
    found = {
        x: f"complex({x}_real, {x}_imag)" if is_complex else f"{x}_real" for x in ("one", "two")
    }
    backward = [
        "last = end - 1",
        "pivot = int64(load(pivots, last, int32))",
        "k = last if pivot > 0 or last == 0 else last - 1",
        *[f"{x} = {kind}(0)" for x in sums],
        f"for i in range(end + thread, n, {lanes}):",
        *indented(1, add),
        *[line for x in sums for line in within_warp(x, "add", lanes)],
        "if thread == 0:",
        f"    write(from_x, k, read(from_x, k) - {found['one']})",
        "    if last != k:",
        f"        write(from_x, last, read(from_x, last) - {found['two']})",
        *swap,
        "cuda.syncthreads()",
        "end = k",
    ]
    size = (8 if kind == "float64" else 4) * (2 if is_complex else 1)
    body = [
        "thread = int64(cuda.threadIdx.x)",
        "for unit in range(cuda.blockIdx.x, units, cuda.gridDim.x):",
        "    matrix = unit // columns",
        f"    at = at_factor + matrix * n * n * {size}",
        f"    from_x = at_x + unit * n * {size}",
        "    pivots = at_pivots + matrix * n * 4",
        "    k = int64(0)",
        "    while k < n:",
        *indented(2, forward),
        "    cuda.syncthreads()",
        "    end = n",
        "    while end > 0:",
        *indented(2, backward),
    ]
    return _source("ldl_solve", kind, is_complex, hermitian, parameters, body, lanes)
