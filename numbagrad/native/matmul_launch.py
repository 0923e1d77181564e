"""The launcher of the matrix product: two stacks of matrices in, one out, no Python in between.

Installed as a builtin by ``numbagrad.executor.families.matmul``. It takes two matrices, or two
stacks of them of equal rank up to four whose leading dimensions broadcast, allocates the result,
chooses a kernel by shapes and strides and runs it over threads. What else torch accepts is
reshaped to that in Python. The tangent of a product is a sum of two: one launch, as in a program,
if they lie alike.
"""

from __future__ import annotations

from numba import types

from ..codegen import loader
from ..codegen.atomics import atomic_load, call_5
from ..codegen.intrinsics import (
    address_of_stack,
    call_kernel,
    external,
    int32,
    int64,
    load,
    store,
    subroutine,
)
from ..kernels.matmul.layout import (
    A_COLUMN,
    A_ROW,
    ACCUMULATES,
    APART,
    B_COLUMN,
    B_ROW,
    COUNTERS,
    EPILOGUE,
    INNER,
    LONG_SHARE,
    MOST_COUNTERS,
    OUTER,
    PACKS,
    PARTIALS,
    PIECES,
    SHARE,
    TERMS,
    WIDTH,
    WORDS,
    A,
    B,
    C,
    K,
    M,
    N,
    is_dots,
    least_share,
    matmul_grain,
    matmul_units,
    method_of,
    packs_a,
    packs_b,
    unit_columns,
)
from ..kernels.matmul.problem import compiled
from .allocation import new_output
from .launch import is_captured, raise_miss, run_in_threads, same_shape, type_number
from .layout import MATMUL_TYPES, MISS_CAPTURE, MISS_OPERAND, MISS_SHAPES, MatmulTable
from .object_heads import ArrayHead, ObjectHead
from .objects import decrement_reference, new_reference, pair
from .thread_layout import ThreadPool

NULL = 0
FLOAT32, FLOAT64 = 11, 12
SECOND = WORDS  # the addresses of the factors of a second product
SIZES = SECOND + 2  # of the result, behind the packed arguments
FIRST_COUNTER = SIZES + 4 + APART
FRAME_WORDS = FIRST_COUNTER + MOST_COUNTERS + APART
VECTOR_BYTES = loader.target().vector_bits // 8

free = external("free", types.void, types.int64)
set_memory = external("memset", types.int64, types.int64, types.int32, types.int64)


_unit_columns = compiled(unit_columns)
_units = compiled(matmul_units)
_least_share = compiled(least_share)
_grain = compiled(matmul_grain, matmul_units=_units)
_method = compiled(
    method_of, is_dots=compiled(is_dots), packs_a=compiled(packs_a), packs_b=compiled(packs_b)
)


@subroutine
def write_operand(frame, operand, array, rank, shift, turned):
    """Address of an operand and its strides in elements; broadcast dimensions step by 0.

    An element has ``1 << shift`` bytes. If ``turned``, rows and columns change places.
    """
    sizes = ArrayHead(array).shape
    strides = ArrayHead(array).strides
    store(frame, operand, ArrayHead(array).data, int64)
    word = A_ROW + 4 * operand
    store(frame, word + turned, load(strides, rank - 2, int64) >> shift, int64)
    store(frame, word + 1 - turned, load(strides, rank - 1, int64) >> shift, int64)
    for batch in range(2):  # outer, inner
        d = rank - 4 + batch
        step = 0
        if d >= 0 and load(sizes, d, int64) > 1:
            step = load(strides, d, int64) >> shift
        store(frame, word + 2 + batch, step, int64)


@subroutine
def broadcast_batch(frame, a_sizes, b_sizes, rank):
    """Sizes of the batch into the arguments and the shape of the result; returns their product.

    -1 if they do not fit together.
    """
    store(frame, OUTER, 1, int64)
    store(frame, INNER, 1, int64)
    batch = 1
    for d in range(rank - 2):
        size = load(a_sizes, d, int64)
        other = load(b_sizes, d, int64)
        if size == 1:
            size = other
        elif other != 1 and other != size:
            return -1
        store(frame, SIZES + d, size, int64)
        store(frame, INNER - (rank - 3 - d), size, int64)
        batch *= size
    return batch


@subroutine
def lie_alike(one, other):
    """Whether two arrays have one dtype, shape and strides."""
    if ObjectHead(other).type != ObjectHead(one).type:
        return False
    if type_number(one) != type_number(other) or not same_shape(one, other):
        return False
    steps = ArrayHead(one).strides
    others = ArrayHead(other).strides
    for d in range(ArrayHead(one).dimensions):
        if load(steps, d, int64) != load(others, d, int64):
            return False
    return True


@subroutine
def choose(frame, item_size):
    """The method of a product; what it packs goes into the arguments."""
    method, packs = _method(
        load(frame, M, int64), load(frame, N, int64), load(frame, K, int64),
        load(frame, A_ROW, int64), load(frame, A_COLUMN, int64),
        load(frame, B_ROW, int64), load(frame, B_COLUMN, int64),
        item_size, VECTOR_BYTES, load(frame, TERMS, int64) == 0,
    )  # fmt: skip
    store(frame, PACKS, packs, int64)
    return method


@subroutine
def run(runtime, table, kernel, frame, batch, method, item_size):
    """Run the kernel; large work lets go of the GIL and uses the pool."""
    rows, columns = load(frame, M, int64), load(frame, N, int64)
    depth = load(frame, K, int64)
    steps = depth * (1 + load(frame, TERMS, int64))
    store(frame, WIDTH, _unit_columns(rows, columns, depth), int64)
    threads = atomic_load(ThreadPool(runtime.pool).workers) + 1
    divide = table.divide
    pieces, share = 0, SHARE
    if divide != NULL and threads > 1 and rows * columns * steps >= 2 * LONG_SHARE:
        share = _least_share(
            rows, columns, depth,
            load(frame, A_COLUMN, int64) > load(frame, A_ROW, int64),
            load(frame, B_ROW, int64) > load(frame, B_COLUMN, int64), item_size,
        )  # fmt: skip
        store(frame, COUNTERS, FIRST_COUNTER, int64)
        pieces = call_5(divide, frame, method, item_size, threads, batch)
    width = load(frame, WIDTH, int64)
    units = _units(rows, columns, width, batch) * max(pieces, 1)
    grain = _grain(rows, columns, width, batch, threads, steps, pieces, share)
    if units <= grain:
        if units > 0:
            call_kernel(kernel, frame, 0, units)
    else:
        run_in_threads(runtime, kernel, frame, units, grain)
    if pieces != 0:
        free(load(frame, PARTIALS, int64))


@subroutine
def describe(frame, rows, columns, depth):
    """Sizes of a product that has no epilogue and adds to nothing."""
    store(frame, M, rows, int64)
    store(frame, N, columns, int64)
    store(frame, K, depth, int64)
    store(frame, ACCUMULATES, 0, int64)
    store(frame, EPILOGUE, 0, int64)
    store(frame, PIECES, 0, int64)


@subroutine
def product(self, arguments, given):
    """``a @ b`` of two arguments, into the third of three; ``a @ b + c @ d`` of four.

    The last two of four lie as the first. The third of three has the shape and dtype of the result.
    """
    table = MatmulTable(ArrayHead(self).data)
    runtime = table.runtime
    if is_captured(runtime):
        return raise_miss(runtime, MISS_CAPTURE)
    array_type = runtime.array_type
    a = load(arguments, 0, int64)
    b = load(arguments, 1, int64)
    if ObjectHead(a).type != array_type or ObjectHead(b).type != array_type:
        return raise_miss(runtime, MISS_OPERAND)
    code = type_number(a)
    rank = int64(ArrayHead(a).dimensions)
    if (
        (code != FLOAT32 and code != FLOAT64)
        or type_number(b) != code
        or rank != ArrayHead(b).dimensions
        or rank < 2
        or rank > 4
    ):
        return raise_miss(runtime, MISS_OPERAND)
    frame = address_of_stack(FRAME_WORDS)
    store(frame, TERMS, 0, int64)
    if given == 4:
        further_a = load(arguments, 2, int64)
        further_b = load(arguments, 3, int64)
        if not (lie_alike(a, further_a) and lie_alike(b, further_b)):
            return raise_miss(runtime, MISS_OPERAND)
        store(frame, TERMS, 1, int64)
    shift = 2 if code == FLOAT32 else 3
    a_sizes = ArrayHead(a).shape
    b_sizes = ArrayHead(b).shape
    rows = load(a_sizes, rank - 2, int64)
    depth = load(a_sizes, rank - 1, int64)
    columns = load(b_sizes, rank - 1, int64)
    if load(b_sizes, rank - 2, int64) != depth:
        return raise_miss(runtime, MISS_SHAPES)
    batch = broadcast_batch(frame, a_sizes, b_sizes, rank)
    if batch < 0:
        return raise_miss(runtime, MISS_SHAPES)
    store(frame, SIZES + rank - 2, rows, int64)
    store(frame, SIZES + rank - 1, columns, int64)
    turned = 0
    if columns == 1:  # C.T = B.T @ A.T is a single row
        turned = 1
        columns = rows
        rows = 1
        a, b = b, a
    describe(frame, rows, columns, depth)
    write_operand(frame, A, a, rank, shift, turned)
    write_operand(frame, B, b, rank, shift, turned)
    if given == 4:
        store(frame, SECOND + turned, ArrayHead(further_a).data, int64)
        store(frame, SECOND + 1 - turned, ArrayHead(further_b).data, int64)
    method = choose(frame, 1 << shift)
    kernel = table.kernels[method * MATMUL_TYPES + code]
    if kernel == NULL:
        return raise_miss(runtime, method * MATMUL_TYPES + code)
    if given == 3:
        result = new_reference(load(arguments, 2, int64))
    else:
        result = new_output(runtime, rank, frame + 8 * SIZES, code, NULL)
    if result == NULL:
        return NULL
    write_operand(frame, C, result, rank, shift, turned)
    if depth == 0:
        set_memory(load(frame, C, int64), int32(0), batch * rows * columns << shift)
        return result
    run(runtime, table, kernel, frame, batch, method, 1 << shift)
    return result


def matmul(self, arguments, given):
    """``builtin(a, b) -> ndarray``: ``a @ b`` for float stacks of equal rank 2 to 4.

    ``builtin(a, b, out)`` writes it into an array without gaps, and returns that.
    """
    return product(self, arguments, 3 if given == 3 else 2)


def matmul_and_tangent(self, arguments, given):
    """``builtin(a, b, da, db) -> (ndarray, ndarray)``: ``a @ b``, and ``da @ b + a @ db``.

    One of ``da`` and ``db`` may be None. If they are two, they lie as ``a`` and ``b``: the tangent
    is one launch.
    """
    runtime = MatmulTable(ArrayHead(self).data).runtime
    none = runtime.none
    a = load(arguments, 0, int64)
    b = load(arguments, 1, int64)
    da = load(arguments, 2, int64)
    db = load(arguments, 3, int64)
    factors = address_of_stack(4)
    count = 0
    if da != none:
        store(factors, 0, da, int64)
        store(factors, 1, b, int64)
        count = 2
    if db != none:
        store(factors, count, a, int64)
        store(factors, count + 1, db, int64)
        count += 2
    if count == 0:
        return raise_miss(runtime, MISS_OPERAND)
    tangent = product(self, factors, count)
    if tangent == NULL:
        return NULL
    value = product(self, arguments, 2)
    if value == NULL:
        decrement_reference(tangent)
        return NULL
    return pair(value, tangent)
