"""Register-blocked micro-kernels of the matrix product, built as LLVM IR for any vector width.

Used by ``matmul``, whose loops over cache blocks are ordinary Numba code; imported only to compile.
Each public builder takes a :class:`TileShape` and returns a Numba intrinsic over addresses. All
strides are in elements, and no element outside the operands is ever read or written.

What is emitted is kept small on purpose: few heights of tiles, one masked width. Numba and LLVM
take their time by the instruction, and the first matrix product of a process waits for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)
_LANE = ir.IntType(32)

#: Dot products beside each other in a tile of them.
DOT_COLUMNS = 4

#: Rows of B that pass over the sums of a row of C together.
COMBINED_ROWS = 8

Values = list[Any]


class TileShape(NamedTuple):
    """What the vector registers of a CPU hold: decides which micro-kernels are built."""

    element: ir.Type  # float or double
    lanes: int  # elements in a vector
    heights: tuple[int, ...]  # of the tiles of C, which are up to two vectors wide
    dot_heights: tuple[int, ...]  # of the tiles of dot products
    fused: bool  # the CPU has fused multiply-add

    @property
    def name(self) -> str:
        return f"{'f32' if self.element == ir.FloatType() else 'f64'}x{self.lanes}"

    @property
    def bytes(self) -> int:
        return 4 if self.element == ir.FloatType() else 8

    @property
    def panel_a(self) -> int:
        """Distance of the columns in a packed panel of A: its height, where that suits stores."""
        tallest, lanes = self.heights[0], self.lanes
        fits = tallest <= lanes or tallest % lanes == 0
        return tallest if fits else -(-tallest // lanes) * lanes

    @property
    def panel_b(self) -> int:
        """Distance of the rows in a packed panel of B: the width of a tile."""
        return 2 * self.lanes

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType(self.element, self.lanes)


def host_vector_bits() -> int:
    """Width of the widest vector registers of this CPU that we have tiles for."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 512
    return 256 if features.get("avx2") else 128


def tile_shape(dtype: types.Float, vector_bits: int | None = None) -> TileShape:
    """The micro-kernels for ``dtype`` on this CPU, or for narrower vectors where asked."""
    bits = vector_bits or host_vector_bits()
    features = llvm.get_host_cpu_features()
    arm = "neon" in features
    many_registers = bits == 512 or arm  # 32 vector registers, else 16
    return TileShape(
        element=ir.FloatType() if dtype == types.float32 else ir.DoubleType(),
        lanes=bits // dtype.bitwidth,
        heights=(12, 4, 1) if many_registers else (6, 2, 1),
        dot_heights=(6, 1) if many_registers else (2, 1),
        fused=bool(arm or features.get("fma") or features.get("avx512f")),
    )


class _Emitter:
    """An ``ir.IRBuilder`` with the few vector operations that the micro-kernels are made of."""

    def __init__(self, shape: TileShape, function: ir.Function):
        self.shape = shape
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))

    def word(self, value: int) -> ir.Constant:
        return ir.Constant(_WORD, value)

    def zero(self) -> ir.Constant:
        return ir.Constant(self.shape.vector, None)

    def at(self, pointer: Any, index: Any) -> Any:
        """Address of element ``index`` (a value or a number) behind ``pointer``."""
        index = self.word(index) if isinstance(index, int) else index
        return self.builder.gep(pointer, [index])

    def times(self, value: Any, factor: int) -> Any:
        return self.builder.mul(value, self.word(factor))

    def advance(self, pointers: Values, strides: Sequence[Any], count: int) -> Values:
        """The pointers, each moved by ``count`` of its strides."""
        pairs = zip(pointers, strides, strict=True)
        return [self.at(pointer, self.times(stride, count)) for pointer, stride in pairs]

    def whole(self, count: Any, unit: int) -> Any:
        """``count`` without the remainder of its division by ``unit``."""
        return self.builder.sub(count, self.builder.srem(count, self.word(unit)))

    def minimum(self, first: Any, second: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", first, second), first, second)

    def is_zero(self, scalar: Any) -> Any:
        return self.builder.fcmp_ordered("==", scalar, ir.Constant(scalar.type, 0.0))

    def read(self, pointer: Any) -> Any:
        return self.builder.load(pointer, align=self.shape.bytes)

    def stack(self, elements: int) -> Any:
        """Memory of the calling function for a few vectors; called from its entry block."""
        memory = self.builder.alloca(ir.ArrayType(self.shape.element, elements))
        memory.align = 64
        return self.builder.bitcast(memory, self.shape.element.as_pointer())

    def splat(self, scalar: Any, lanes: int | None = None) -> Any:
        lanes = lanes or self.shape.lanes
        vector = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
        first = self.builder.insert_element(vector, scalar, ir.Constant(_LANE, 0))
        return self.shuffle(first, first, [0] * lanes)

    def shuffle(self, first: Any, second: Any, lanes: Sequence[int]) -> Any:
        mask = ir.Constant(ir.VectorType(_LANE, len(lanes)), list(lanes))
        return self.builder.shuffle_vector(first, second, mask)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        if not self.shape.fused:
            return self.builder.fadd(self.builder.fmul(a, b), c)
        name = f"llvm.fma.v{self.shape.lanes}{'f32' if self.shape.bytes == 4 else 'f64'}"
        return self._call(name, self.shape.vector, [a, b, c])

    def mask(self, count: Any, offset: int = 0) -> Any:
        """Lanes ``i`` with ``offset + i < count``."""
        lanes = range(offset, offset + self.shape.lanes)
        numbers = ir.Constant(ir.VectorType(_LANE, self.shape.lanes), list(lanes))
        count = self.splat(self.builder.trunc(count, _LANE))
        return self.builder.icmp_signed("<", numbers, count)

    def load(self, pointer: Any, mask: Any = None, lanes: int | None = None) -> Any:
        """A vector from ``pointer``; lanes that the mask leaves out are zero and not read."""
        if mask is None:
            vector = ir.VectorType(self.shape.element, lanes or self.shape.lanes)
            pointer = self.builder.bitcast(pointer, vector.as_pointer())
            return self.builder.load(pointer, align=self.shape.bytes)
        arguments = [pointer, ir.Constant(_LANE, self.shape.bytes), mask, self.zero()]
        return self._call(self._masked("load"), self.shape.vector, arguments)

    def store(self, value: Any, pointer: Any, mask: Any = None) -> None:
        if mask is None:
            pointer = self.builder.bitcast(pointer, value.type.as_pointer())
            self.builder.store(value, pointer, align=self.shape.bytes)
            return
        arguments = [value, pointer, ir.Constant(_LANE, self.shape.bytes), mask]
        self._call(self._masked("store"), ir.VoidType(), arguments)

    def _masked(self, operation: str) -> str:
        element = "f32" if self.shape.bytes == 4 else "f64"
        return f"llvm.masked.{operation}.v{self.shape.lanes}{element}.p0"

    def _call(self, name: str, returned: ir.Type, arguments: Values) -> Any:
        function = self.builder.module.globals.get(name)
        if function is None:
            function_type = ir.FunctionType(returned, [value.type for value in arguments])
            function = ir.Function(self.builder.module, function_type, name)
        return self.builder.call(function, arguments)

    def loop(
        self, count: Any, step: int, carried: Values, body: Callable[[Any, Values], Values]
    ) -> Values:
        """``for index in range(0, count, step): carried = body(index, carried)``."""
        builder = self.builder
        before, inside = builder.block, builder.append_basic_block("loop")
        after = builder.append_basic_block("after")
        builder.cbranch(builder.icmp_signed(">", count, self.word(0)), inside, after)
        builder.position_at_end(inside)
        index, *values = phis = [builder.phi(value.type) for value in (self.word(0), *carried)]
        ends = [builder.add(index, self.word(step)), *body(index, values)]
        for phi, start, end in zip(phis, (self.word(0), *carried), ends, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(end, builder.block)
        latch = builder.block
        builder.cbranch(builder.icmp_signed("<", ends[0], count), inside, after)
        builder.position_at_end(after)
        results = [builder.phi(value.type) for value in carried]
        for phi, start, end in zip(results, carried, ends[1:], strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(end, latch)
        return results


def _define(module: ir.Module, name: str, parameters: Sequence[ir.Type]) -> ir.Function:
    """A new function of the module that is merged with those of the same name elsewhere."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    # The loops are written the way they shall run: LLVM would unroll them again, to no gain.
    function.attributes.add("optsize")
    return function


# ------------------------------------------------------------------------------------------------
# The end of every method: C = alpha * sums + beta * I


def _output_parameters(shape: TileShape) -> list[ir.Type]:
    """c with its two strides, the initial values with theirs, alpha, beta."""
    pointer = shape.element.as_pointer()
    return [pointer, _WORD, _WORD, pointer, _WORD, _WORD, shape.element, shape.element]


def _write_elements(module: ir.Module, shape: TileShape) -> ir.Function:
    """Write rows × columns sums to a C of any strides; the way of the rarer layouts."""
    name = f"numbagrad_write_{shape.name}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    parameters = [_WORD, _WORD, pointer, _WORD, *_output_parameters(shape)]
    function = _define(module, name, parameters)
    rows, columns, sums, sums_row, c, c_row, c_column, i, i_row, i_column, alpha, beta = (
        function.args
    )
    emit = _Emitter(shape, function)
    builder = emit.builder
    no_initial = emit.is_zero(beta)

    def element(index: Any, pointers: Values) -> Values:
        sum_at, c_at, i_at = pointers
        scaled = builder.fmul(emit.read(sum_at), alpha)
        with builder.if_else(no_initial) as (plain, adding):
            with plain:
                builder.store(scaled, c_at, align=shape.bytes)
            with adding:
                old = builder.fmul(beta, emit.read(i_at))
                builder.store(builder.fadd(scaled, old), c_at, align=shape.bytes)
        return [emit.at(sum_at, 1), emit.at(c_at, c_column), emit.at(i_at, i_column)]

    def row(index: Any, pointers: Values) -> Values:
        sum_at, c_at, i_at = pointers
        emit.loop(columns, 1, pointers, element)
        return [emit.at(sum_at, sums_row), emit.at(c_at, c_row), emit.at(i_at, i_row)]

    emit.loop(rows, 1, [sums, c, i], row)
    builder.ret_void()
    return function


def _write_rows(
    emit: _Emitter, sums: list[Values], masks: Values, columns: Any, output: Sequence[Any]
) -> None:
    """Write a tile of vectors, one list for each row: as vectors where C's columns are contiguous.

    Ends the function.
    """
    builder, shape = emit.builder, emit.shape
    c, c_row, c_column, i, i_row, i_column, alpha, beta = output
    width = sums[0][0].type.count
    one = emit.word(1)
    no_initial = emit.is_zero(beta)
    readable = builder.or_(no_initial, builder.icmp_signed("==", i_column, one))
    contiguous = builder.and_(readable, builder.icmp_signed("==", c_column, one))
    with builder.if_then(builder.not_(contiguous)):
        tile = emit.stack(len(sums) * len(sums[0]) * width)
        for r, row in enumerate(sums):
            for j, value in enumerate(row):
                emit.store(value, emit.at(tile, (r * len(row) + j) * width))
        rows, row_size = emit.word(len(sums)), emit.word(len(sums[0]) * width)
        write = _write_elements(builder.module, shape)
        builder.call(write, [rows, columns, tile, row_size, *output])
        builder.ret_void()
    alpha_vector, beta_vector = emit.splat(alpha, width), emit.splat(beta, width)

    def write_vectors(add_initial: bool) -> None:
        for r, row in enumerate(sums):
            for j, value in enumerate(row):
                value = builder.fmul(value, alpha_vector)
                if add_initial:
                    source = emit.at(emit.at(i, emit.times(i_row, r)), j * width)
                    old = emit.load(source, masks[j], width)
                    value = builder.fadd(value, builder.fmul(beta_vector, old))
                emit.store(value, emit.at(emit.at(c, emit.times(c_row, r)), j * width), masks[j])

    with builder.if_else(no_initial) as (plain, adding):
        with plain:
            write_vectors(False)
        with adding:
            write_vectors(True)
    builder.ret_void()


# ------------------------------------------------------------------------------------------------
# Tiles of C: a column of A elements, each broadcast, times one or two vectors of B


def _tile(module: ir.Module, shape: TileShape, height: int, vectors: int) -> ir.Function:
    """The micro-kernel for ``height`` rows and two whole vectors, or up to one vector, masked."""
    name = f"numbagrad_tile_{shape.name}_{height}x{vectors}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    parameters = [_WORD, _WORD, pointer, _WORD, _WORD, pointer, _WORD, *_output_parameters(shape)]
    function = _define(module, name, parameters)
    columns, depth, a, a_row, a_step, b, b_step, *output = function.args
    emit = _Emitter(shape, function)
    masks = [None] * 2 if vectors == 2 else [emit.mask(columns)]
    # One pointer for every third row and small multiples of the stride: few registers reach all.
    bases = [emit.at(a, emit.times(a_row, r)) for r in range(0, height, 3)]

    def step(index: Any, carried: Values) -> Values:
        a_at, b_at, sums = carried[: len(bases)], carried[len(bases)], carried[len(bases) + 1 :]
        b_vectors = [emit.load(emit.at(b_at, j * shape.lanes), masks[j]) for j in range(vectors)]
        totals: Values = []
        for r in range(height):
            factor = emit.splat(emit.read(emit.at(a_at[r // 3], emit.times(a_row, r % 3))))
            for vector in b_vectors:
                totals.append(emit.multiply_add(factor, vector, sums[len(totals)]))
        return [*(emit.at(base, a_step) for base in a_at), emit.at(b_at, b_step), *totals]

    zeros = [emit.zero()] * (height * vectors)
    sums = emit.loop(depth, 1, [*bases, b, *zeros], step)[len(bases) + 1 :]
    rows = [sums[r * vectors :][:vectors] for r in range(height)]
    _write_rows(emit, rows, masks, columns, output)
    return function


def _tiles(module: ir.Module, shape: TileShape) -> ir.Function:
    """A block of C of any size: all its tiles, by rows of tiles."""
    name = f"numbagrad_tiles_{shape.name}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    parameters = [_WORD, _WORD, _WORD, pointer, _WORD, _WORD, pointer, _WORD, _WORD]
    function = _define(module, name, [*parameters, *_output_parameters(shape)])
    rows, columns, depth, a, a_row, a_step, b, b_step, b_panel, *output = function.args
    emit = _Emitter(shape, function)
    builder = emit.builder
    c, c_row, c_column, i, i_row, i_column, alpha, beta = output
    width = 2 * shape.lanes
    whole = emit.whole(columns, width)
    rest = builder.sub(columns, whole)

    def row_of_tiles(height: int, a: Any, c: Any, i: Any) -> None:
        def tile(vectors: int, left: Any, pointers: Values, b_step_across: Any) -> Values:
            b_at, c_at, i_at = pointers
            builder.call(_tile(module, shape, height, vectors), [
                left, depth, a, a_row, a_step, b_at, b_step,
                c_at, c_row, c_column, i_at, i_row, i_column, alpha, beta,
            ])  # fmt: skip
            return [
                emit.at(b_at, b_step_across),
                emit.at(c_at, emit.times(c_column, vectors * shape.lanes)),
                emit.at(i_at, emit.times(i_column, vectors * shape.lanes)),
            ]

        pointers = emit.loop(
            whole, width, [b, c, i], lambda index, at: tile(2, emit.word(width), at, b_panel)
        )
        lanes = emit.word(shape.lanes)
        emit.loop(
            rest, shape.lanes, pointers,
            lambda index, at: tile(1, emit.minimum(builder.sub(rest, index), lanes), at, lanes),
        )  # fmt: skip

    def advance(height: int, index: Any, pointers: Values) -> Values:
        row_of_tiles(height, *pointers)
        return emit.advance(pointers, (a_row, c_row, i_row), height)

    pointers = [a, c, i]
    for height in shape.heights:
        covered = emit.whole(rows, height)
        pointers = emit.loop(covered, height, pointers, functools.partial(advance, height))
        rows = builder.sub(rows, covered)
    builder.ret_void()
    return function


# ------------------------------------------------------------------------------------------------
# Tiles of dot products: both operands contiguous along the depth


def _fold(emit: _Emitter, vectors: Values, width: int) -> Any:
    """The sums of the lanes of up to ``lanes`` vectors, side by side in one vector, in order.

    Every level adds the upper half of each group of ``width`` lanes to its lower half, so that a
    dot product has the same bits whatever other products are in its tile.
    """
    if width == 1:
        return vectors[0]
    half, lanes = width // 2, emit.shape.lanes
    low = [group + i for group in range(0, lanes, width) for i in range(half)]
    low += [lanes + lane for lane in low]
    folded = []
    for first, second in zip(vectors[::2], vectors[1::2] + vectors[-1:], strict=False):
        lower = emit.shuffle(first, second, low)
        upper = emit.shuffle(first, second, [lane + half for lane in low])
        folded.append(emit.builder.fadd(lower, upper))
    return _fold(emit, folded, half)


def _dot_tile(module: ir.Module, shape: TileShape, height: int, columns: int) -> ir.Function:
    """Dot products of ``height`` rows of A and ``columns`` columns of B."""
    name = f"numbagrad_dot_{shape.name}_{height}x{columns}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    parameters = [_WORD, pointer, _WORD, pointer, _WORD, *_output_parameters(shape)]
    function = _define(module, name, parameters)
    depth, a, a_row, b, b_column, *output = function.args
    emit = _Emitter(shape, function)
    a_rows = [emit.at(a, emit.times(a_row, r)) for r in range(height)]
    b_columns = [emit.at(b, emit.times(b_column, j)) for j in range(columns)]

    def step(index: Any, sums: Values, mask: Any = None) -> Values:
        b_vectors = [emit.load(emit.at(column, index), mask) for column in b_columns]
        totals: Values = []
        for row in a_rows:
            a_vector = emit.load(emit.at(row, index), mask)
            for vector in b_vectors:
                totals.append(emit.multiply_add(a_vector, vector, sums[len(totals)]))
        return totals

    whole = emit.whole(depth, shape.lanes)
    rest = emit.builder.sub(depth, whole)
    mask = emit.mask(rest)
    sums = emit.loop(whole, shape.lanes, [emit.zero()] * (height * columns), step)
    sums = emit.loop(rest, shape.lanes, sums, lambda index, sums: step(whole, sums, mask))
    group = max(1, shape.lanes // columns)  # rows whose products fit in one vector
    rows = []
    for r in range(0, height, group):
        count = min(group, height - r)
        products = _fold(emit, sums[r * columns :][: count * columns], shape.lanes)
        for i in range(count):
            rows.append([emit.shuffle(products, products, range(i * columns, (i + 1) * columns))])
    _write_rows(emit, rows, [None], emit.word(columns), output)
    return function


def _dots(module: ir.Module, shape: TileShape) -> ir.Function:
    """A block of C of any size as tiles of dot products, by rows of tiles."""
    name = f"numbagrad_dots_{shape.name}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    parameters = [_WORD, _WORD, _WORD, pointer, _WORD, pointer, _WORD]
    function = _define(module, name, [*parameters, *_output_parameters(shape)])
    rows, columns, depth, a, a_row, b, b_column, *output = function.args
    emit = _Emitter(shape, function)
    builder = emit.builder
    c, c_row, c_column, i, i_row, i_column, alpha, beta = output
    wide = min(DOT_COLUMNS, shape.lanes)
    whole = emit.whole(columns, wide)
    rest = builder.sub(columns, whole)

    def row_of_tiles(height: int, index: Any, pointers: Values) -> Values:
        a, c, i = pointers

        def tile(width: int, pointers: Values) -> Values:
            b_at, c_at, i_at = pointers
            builder.call(_dot_tile(module, shape, height, width), [
                depth, a, a_row, b_at, b_column,
                c_at, c_row, c_column, i_at, i_row, i_column, alpha, beta,
            ])  # fmt: skip
            strides = (b_column, c_column, i_column)
            return emit.advance(pointers, strides, width)

        at = emit.loop(whole, wide, [b, c, i], lambda index, at: tile(wide, at))
        emit.loop(rest, 1, at, lambda index, at: tile(1, at))
        strides = (a_row, c_row, i_row)
        return emit.advance(pointers, strides, height)

    pointers = [a, c, i]
    for height in shape.dot_heights:
        covered = emit.whole(rows, height)
        pointers = emit.loop(covered, height, pointers, functools.partial(row_of_tiles, height))
        rows = builder.sub(rows, covered)
    builder.ret_void()
    return function


# ------------------------------------------------------------------------------------------------
# Packing: panels of A and of B have the same form, ``depth`` runs of ``width`` elements


def _copy_runs(emit: _Emitter, width: int, count: Any, depth: Any, target: Any, source: Any,
               step: Any) -> None:  # fmt: skip
    """Copy contiguous runs. Whole vectors are written: the next run overwrites any excess."""
    lanes = emit.shape.lanes
    masks = [emit.mask(count, offset) for offset in range(0, width, lanes)]

    def run(index: Any, pointers: Values) -> Values:
        to, start = pointers
        for j, mask in enumerate(masks):
            emit.store(emit.load(emit.at(start, j * lanes), mask), emit.at(to, j * lanes))
        return [emit.at(to, width), emit.at(start, step)]

    emit.loop(depth, 1, [target, source], run)


def _transposed(emit: _Emitter, vectors: Values) -> Values:
    """Transpose a square of lanes × lanes elements: interleave its halves, level by level."""
    lanes = emit.shape.lanes
    half = lanes // 2
    low = [lane for i in range(half) for lane in (i, lanes + i)]
    high = [lane + half for lane in low]
    for _ in range(lanes.bit_length() - 1):
        vectors = [
            emit.shuffle(vectors[i], vectors[i + half], order)
            for i in range(half)
            for order in (low, high)
        ]
    return vectors


def _transpose_runs(module: ir.Module, shape: TileShape) -> ir.Function:
    """Write up to ``lanes`` arrays that are contiguous along the depth beside each other.

    The last array is repeated where there are fewer. Whole squares are written, up to ``lanes - 1``
    runs beyond the depth.
    """
    name = f"numbagrad_transpose_{shape.name}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    function = _define(module, name, [_WORD, _WORD, pointer, _WORD, pointer, _WORD])
    count, depth, target, width, source, across = function.args
    emit = _Emitter(shape, function)
    builder, lanes = emit.builder, shape.lanes
    last = builder.sub(count, emit.word(1))
    arrays = [emit.minimum(emit.word(r), last) for r in range(lanes)]
    starts = [emit.at(source, builder.mul(array, across)) for array in arrays]

    def square(index: Any, mask: Any) -> Values:
        loaded = [emit.load(emit.at(start, index), mask) for start in starts]
        to = emit.at(target, builder.mul(index, width))
        for vector in _transposed(emit, loaded):
            emit.store(vector, to)
            to = emit.at(to, width)
        return []

    whole = emit.whole(depth, lanes)
    rest = builder.sub(depth, whole)
    mask = emit.mask(rest)
    emit.loop(whole, lanes, [], lambda index, _: square(index, None))
    emit.loop(rest, lanes, [], lambda index, _: square(whole, mask))
    builder.ret_void()
    return function


def _copy_elements(emit: _Emitter, width: int, count: Any, depth: Any, target: Any, source: Any,
                   across: Any, step: Any) -> None:  # fmt: skip
    """Copy runs of any strides, element by element."""
    one = emit.word(1)

    def element(index: Any, pointers: Values) -> Values:
        to, start = pointers
        emit.builder.store(emit.read(start), to, align=emit.shape.bytes)
        return emit.advance(pointers, (one, across), 1)

    def run(index: Any, pointers: Values) -> Values:
        emit.loop(count, 1, pointers, element)
        return emit.advance(pointers, (emit.word(width), step), 1)

    emit.loop(depth, 1, [target, source], run)


def _pack(module: ir.Module, shape: TileShape, width: int) -> ir.Function:
    """Pack ``count`` arrays of ``depth`` elements into panels of ``width`` arrays.

    The target needs room for ``lanes + 1`` more runs behind its end.
    """
    name = f"numbagrad_pack_{shape.name}x{width}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    function = _define(module, name, [_WORD, _WORD, pointer, pointer, _WORD, _WORD])
    count, depth, target, source, across, step = function.args
    emit = _Emitter(shape, function)
    builder, lanes = emit.builder, shape.lanes
    contiguous_across = builder.icmp_signed("==", across, emit.word(1))
    contiguous_along = builder.icmp_signed("==", step, emit.word(1))

    def transpose(size: Any, to: Any, start: Any) -> None:
        def part(index: Any, pointers: Values) -> Values:
            to, start = pointers
            arguments = [builder.sub(size, index), depth, to, emit.word(width), start, across]
            builder.call(_transpose_runs(module, shape), arguments)
            return emit.advance(pointers, (emit.word(1), across), lanes)

        emit.loop(size, lanes, [to, start], part)

    def panel(index: Any, pointers: Values) -> Values:
        to, start = pointers
        size = emit.minimum(emit.word(width), builder.sub(count, index))
        with builder.if_else(contiguous_across) as (copying, otherwise):
            with copying:
                _copy_runs(emit, width, size, depth, to, start, step)
            with otherwise, builder.if_else(contiguous_along) as (transposing, by_element):
                with transposing:
                    transpose(size, to, start)
                with by_element:
                    _copy_elements(emit, width, size, depth, to, start, across, step)
        return emit.advance(pointers, (depth, across), width)

    emit.loop(count, width, [target, source], panel)
    builder.ret_void()
    return function


# ------------------------------------------------------------------------------------------------
# A row times a matrix with contiguous rows


def _combine_rows(module: ir.Module, shape: TileShape) -> ir.Function:
    """``sums = a @ b`` for a row a: several rows of b at a time, added to all the sums."""
    name = f"numbagrad_combine_{shape.name}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    function = _define(module, name, [_WORD, _WORD, pointer, pointer, _WORD, pointer, _WORD])
    columns, depth, sums, a, a_step, b, b_row = function.args
    emit = _Emitter(shape, function)
    builder = emit.builder
    whole = emit.whole(columns, shape.lanes)
    rest = builder.sub(columns, whole)
    mask = emit.mask(rest)

    def clear(index: Any, _: Values) -> Values:
        emit.store(emit.zero(), emit.at(sums, index))
        return []

    def combine(count: int, pointers: Values) -> Values:
        a_at, b_at = pointers
        places = [emit.at(a_at, emit.times(a_step, r)) for r in range(count)]
        factors = [emit.splat(emit.read(place)) for place in places]

        def vector(index: Any, mask: Any) -> Values:
            total = emit.load(emit.at(sums, index))
            for r, factor in enumerate(factors):
                source = emit.at(emit.at(b_at, index), emit.times(b_row, r))
                total = emit.multiply_add(factor, emit.load(source, mask), total)
            emit.store(total, emit.at(sums, index))
            return []

        emit.loop(whole, shape.lanes, [], lambda index, _: vector(index, None))
        emit.loop(rest, shape.lanes, [], lambda index, _: vector(whole, mask))
        return emit.advance(pointers, (a_step, b_row), count)

    emit.loop(columns, shape.lanes, [], clear)
    groups = emit.whole(depth, COMBINED_ROWS)
    at = emit.loop(groups, COMBINED_ROWS, [a, b], lambda index, at: combine(COMBINED_ROWS, at))
    emit.loop(builder.sub(depth, groups), 1, at, lambda index, at: combine(1, at))
    builder.ret_void()
    return function


# ------------------------------------------------------------------------------------------------
# The functions above as Numba intrinsics over addresses


def _as_intrinsic(name: str, kinds: str, function: Callable[[ir.Module], ir.Function]) -> Any:
    """A Numba intrinsic that calls ``function(module)``.

    ``kinds`` has a letter for each argument: ``p`` an address, ``i`` an integer, ``f`` a float.
    """

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Values) -> Any:
        callee = function(builder.module)
        passed = [
            builder.inttoptr(value, parameter.type) if kind == "p" else value
            for kind, value, parameter in zip(kinds, arguments, callee.args, strict=True)
        ]
        builder.call(callee, passed)
        return context.get_dummy_value()

    def signature(*arguments: Any) -> tuple[Any, Any]:
        pairs = zip(kinds, arguments, strict=True)
        passed = [given if kind == "f" else types.int64 for kind, given in pairs]
        return types.void(*passed), emit

    # Numba takes the number of arguments from the function's own signature, hence the source text.
    names = ", ".join(f"x{i}" for i in range(len(kinds)))
    namespace = {"signature": signature}
    exec(f"def typed(typing_context, {names}): return signature({names})", namespace)
    typed: Any = namespace["typed"]
    typed.__name__ = name
    return intrinsic(typed)


_OUTPUT = "piipiiff"


def multiply_tiles(shape: TileShape) -> Any:
    """``(rows, columns, depth, a, a_row, a_step, b, b_step, b_panel, *output)``.

    ``output`` is ``(c, c_row, c_column, i, i_row, i_column, alpha, beta)``, for
    ``c = alpha * a @ b + beta * i``. The columns of b are contiguous within a panel of
    ``shape.panel_b`` columns; ``b_panel`` is the distance of the panels.
    """
    return _as_intrinsic("multiply_tiles", "iiipiipii" + _OUTPUT, lambda m: _tiles(m, shape))


def multiply_dots(shape: TileShape) -> Any:
    """``(rows, columns, depth, a, a_row, b, b_column, *output)``, as ``multiply_tiles``.

    The columns of a and the rows of b are contiguous.
    """
    return _as_intrinsic("multiply_dots", "iiipipi" + _OUTPUT, lambda m: _dots(m, shape))


def pack_panels(shape: TileShape, width: int) -> Any:
    """``(count, depth, target, source, across, step)``: see ``_pack``.

    Panels of B have ``width`` columns, panels of A ``width`` rows; ``across`` is the stride from
    one to the next, ``step`` the stride along the depth.
    """
    return _as_intrinsic("pack_panels", "iippii", lambda module: _pack(module, shape, width))


def combine_rows(shape: TileShape) -> Any:
    """``(columns, depth, sums, a, a_step, b, b_row)``: ``sums = a @ b`` for one row of a.

    The columns of b are contiguous; ``sums`` has room for whole vectors.
    """
    return _as_intrinsic("combine_rows", "iippipi", lambda module: _combine_rows(module, shape))


def write_elements(shape: TileShape) -> Any:
    """``(rows, columns, sums, sums_row, *output)``: ``c = alpha * sums + beta * i``."""
    return _as_intrinsic("write_elements", "iipi" + _OUTPUT, lambda m: _write_elements(m, shape))
