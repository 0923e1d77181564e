"""Register-blocked micro-kernels of the matrix product, built as LLVM IR for any vector width.

Used by ``matmul``, whose loops over cache blocks are ordinary Numba code; imported only to compile.
Each public builder takes a :class:`TileShape` and returns a Numba intrinsic over addresses. All
strides are in elements, the columns of C are contiguous, no size is 0, and no element outside the
operands is ever read or written.

What is emitted is kept small on purpose: few heights of tiles, one masked width, one loop for whole
and for partial vectors where that costs nothing. Numba and LLVM take their time by the instruction,
and the first matrix product of a process waits for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .loader import host_vector_bits

_WORD = ir.IntType(64)
_LANE = ir.IntType(32)
_FLAG = ir.IntType(1)
_POINTER = ir.PointerType()

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
    def side(self) -> int:
        """Elements along the side of a square of 16 bytes, the unit of transposition."""
        return 16 // self.bytes

    @property
    def slack(self) -> int:
        """Runs that packing may write behind the end of a panel."""
        return 2 * self.lanes + 1

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType(self.element, self.lanes)


def tile_shape(dtype: types.Float, vector_bits: int | None = None) -> TileShape:
    """The micro-kernels for ``dtype`` on this CPU, or for narrower vectors where asked."""
    bits = vector_bits or host_vector_bits()
    features = llvm.get_host_cpu_features()
    arm = "neon" in features
    many_registers = bits == 512 or arm  # 32 vector registers, else 16
    return TileShape(
        element=ir.FloatType() if dtype == types.float32 else ir.DoubleType(),
        lanes=bits // dtype.bitwidth,
        heights=(12, 8, 4, 1) if many_registers else (6, 4, 2, 1),
        dot_heights=(6, 4, 1) if many_registers else (2, 1),
        fused=bool(arm or features.get("fma") or features.get("avx512f")),
    )


@functools.cache
def _lane_numbers(numbers: tuple[int, ...]) -> ir.Constant:
    """A constant vector; one object for each, since llvmlite formats every object once."""
    vector = ir.VectorType(_LANE, len(numbers))
    return ir.Constant(vector, list(numbers) if any(numbers) else None)


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
        if isinstance(index, int):
            if index == 0:
                return pointer
            index = self.word(index)
        return self.builder.gep(pointer, [index], source_etype=self.shape.element)

    def times(self, value: Any, factor: int) -> Any:
        return value if factor == 1 else self.builder.mul(value, self.word(factor))

    def steps(self, pointer: Any, stride: Any, count: int) -> Values:
        """``count`` pointers, each a stride behind the one before."""
        pointers = [pointer]
        while len(pointers) < count:
            pointers.append(self.at(pointers[-1], stride))
        return pointers

    def advance(self, pointers: Values, strides: Sequence[Any], count: int) -> Values:
        """The pointers, each moved by ``count`` of its strides (values or numbers)."""
        return [
            self.at(p, stride * count if isinstance(stride, int) else self.times(stride, count))
            for p, stride in zip(pointers, strides, strict=True)
        ]

    def whole(self, count: Any, unit: int) -> Any:
        """``count`` without the remainder of its division by ``unit``."""
        return self.builder.sub(count, self.builder.urem(count, self.word(unit)))

    def rows_in_tiles(self, rows: Any, heights: Sequence[int]) -> Any:
        """How many of the rows go into tiles of the first height.

        One tile less than there is room for, where the rest then makes two tiles of the second
        height: 16 rows are 8 and 8, not 12 and 4, which would keep the CPU waiting for sums.
        """
        builder, (height, *lower) = self.builder, heights
        covered = self.whole(rows, height)
        least = 2 * lower[0] - height if lower else 0
        if least <= 0:
            return covered
        rest = builder.sub(rows, covered)
        fits = builder.and_(
            builder.icmp_signed(">=", rest, self.word(least)),
            builder.icmp_signed("<", rest, self.word(lower[0])),
        )
        fits = builder.and_(fits, builder.icmp_signed(">", covered, self.word(0)))
        return builder.select(fits, builder.sub(covered, self.word(height)), covered)

    def apart(self, pointer: Any) -> Any:
        """The same pointer, of which LLVM does not know what it was computed from.

        Otherwise it makes one pointer of several that run through memory side by side, and reaches
        the places of the others by additions that wait for each other.
        """
        same = ir.FunctionType(_POINTER, [_POINTER])
        return self.builder.asm(same, "", "=r,0", [pointer], False)

    def minimum(self, first: Any, second: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", first, second), first, second)

    def read(self, pointer: Any) -> Any:
        return self.builder.load(pointer, align=self.shape.bytes, typ=self.shape.element)

    def splat(self, scalar: Any, lanes: int | None = None) -> Any:
        lanes = lanes or self.shape.lanes
        vector = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
        first = self.builder.insert_element(vector, scalar, ir.Constant(_LANE, 0))
        return self.shuffle(first, first, [0] * lanes)

    def shuffle(self, first: Any, second: Any, lanes: Sequence[int]) -> Any:
        return self.builder.shuffle_vector(first, second, _lane_numbers(tuple(lanes)))

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        if not self.shape.fused:
            return self.builder.fadd(self.builder.fmul(a, b), c)
        name = f"llvm.fma.v{self.shape.lanes}{'f32' if self.shape.bytes == 4 else 'f64'}"
        return self._call(name, self.shape.vector, [a, b, c])

    def mask(self, count: Any, offset: int = 0) -> Any:
        """Lanes ``i`` with ``offset + i < count``."""
        numbers = _lane_numbers(tuple(range(offset, offset + self.shape.lanes)))
        count = self.splat(self.builder.trunc(count, _LANE))
        return self.builder.icmp_signed("<", numbers, count)

    def load(self, pointer: Any, mask: Any = None, lanes: int | None = None) -> Any:
        """A vector from ``pointer``; lanes that the mask leaves out are zero and not read."""
        if mask is None:
            vector = ir.VectorType(self.shape.element, lanes or self.shape.lanes)
            return self.builder.load(pointer, align=self.shape.bytes, typ=vector)
        arguments = [pointer, ir.Constant(_LANE, self.shape.bytes), mask, self.zero()]
        return self._call(self._masked("load"), self.shape.vector, arguments)

    def store(self, value: Any, pointer: Any, mask: Any = None) -> None:
        if mask is None:
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
        self, count: Any, step: Any, carried: Values, body: Callable[[Any, Values], Values],
        at_least_once: bool = False,
    ) -> Values:  # fmt: skip
        """``for index in range(0, count, step): carried = body(index, carried)``."""
        builder = self.builder
        step = self.word(step) if isinstance(step, int) else step
        before, inside = builder.block, builder.append_basic_block("loop")
        after = builder.append_basic_block("after")
        if at_least_once:
            builder.branch(inside)
        else:
            builder.cbranch(builder.icmp_signed(">", count, self.word(0)), inside, after)
        builder.position_at_end(inside)
        index, *values = phis = [builder.phi(value.type) for value in (self.word(0), *carried)]
        ends = [builder.add(index, step), *body(index, values)]
        latch = builder.block
        for phi, start, end in zip(phis, (self.word(0), *carried), ends, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(end, latch)
        builder.cbranch(builder.icmp_signed("<", ends[0], count), inside, after)
        builder.position_at_end(after)
        if at_least_once:
            return ends[1:]
        return self.joined([(carried, before), (ends[1:], latch)])

    def joined(self, branches: Sequence[tuple[Values, ir.Block]]) -> Values:
        """Values that depend on the block that control comes from."""
        results = [self.builder.phi(value.type) for value in branches[0][0]]
        for values, block in branches:
            for phi, value in zip(results, values, strict=True):
                phi.add_incoming(value, block)
        return results


Emit = Callable[..., None]


def _function(module: ir.Module, name: str, shape: TileShape, kinds: str, emit: Emit) -> Any:
    """The function ``name`` of the module, which ``emit(emitter, *arguments)`` writes if need be.

    ``kinds`` has a letter for each parameter: ``p`` a pointer, ``i`` an integer, ``b`` a flag.
    """
    name = f"numbagrad_{name}_{shape.name}"
    known = module.globals.get(name)
    if known is not None:
        return known
    parameters = [{"p": _POINTER, "i": _WORD, "b": _FLAG}[kind] for kind in kinds]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    # The loops are written the way they shall run: LLVM would unroll them again, to no gain.
    function.attributes.add("optsize")
    emitter = _Emitter(shape, function)
    emit(emitter, *function.args)
    emitter.builder.ret_void()
    return function


def _write(emit: _Emitter, rows: list[Values], masks: Values, c: Any, c_row: Any,
           accumulate: Any) -> None:  # fmt: skip
    """Write a tile of sums, a list of vectors for each row of C, or add them to what is there."""
    builder = emit.builder
    width = rows[0][0].type.count
    places = [
        (emit.at(start, j * width), masks[j])
        for start in emit.steps(c, c_row, len(rows))
        for j in range(len(masks))
    ]
    sums = [value for row in rows for value in row]
    before = builder.block
    with builder.if_then(accumulate):
        added = [
            builder.fadd(emit.load(place, mask, width), value)
            for value, (place, mask) in zip(sums, places, strict=True)
        ]
        adding = builder.block
    sums = emit.joined([(sums, before), (added, adding)])
    for value, (place, mask) in zip(sums, places, strict=True):
        emit.store(value, place, mask)


# ------------------------------------------------------------------------------------------------
# Tiles of C: a column of A elements, each broadcast, times one or two vectors of B


def _tile(module: ir.Module, shape: TileShape, height: int, vectors: int) -> Any:
    """The micro-kernel for ``height`` rows and two whole vectors, or up to one vector, masked."""

    def write(emit, columns, depth, a, a_row, a_step, b, b_step, c, c_row, accumulate):
        masks = [None] * 2 if vectors == 2 else [emit.mask(columns)]
        # One pointer for every third row and small multiples of the stride: few registers do.
        offsets = [0, a_row, emit.times(a_row, 2)][:height]
        bases = emit.steps(a, emit.times(a_row, 3), -(-height // 3))

        def step(index: Any, carried: Values) -> Values:
            *a_at, b_at = carried[: len(bases) + 1]
            sums = carried[len(bases) + 1 :]
            loaded = [emit.load(emit.at(b_at, j * shape.lanes), masks[j]) for j in range(vectors)]
            totals: Values = []
            for r in range(height):
                factor = emit.splat(emit.read(emit.at(a_at[r // 3], offsets[r % 3])))
                for vector in loaded:
                    totals.append(emit.multiply_add(factor, vector, sums[len(totals)]))
            following = [emit.apart(emit.at(base, a_step)) for base in a_at]
            return [*following, emit.at(b_at, b_step), *totals]

        zeros = [emit.zero()] * (height * vectors)
        sums = emit.loop(depth, 1, [*bases, b, *zeros], step, True)[len(bases) + 1 :]
        rows = [sums[r * vectors :][:vectors] for r in range(height)]
        _write(emit, rows, masks, c, c_row, accumulate)

    return _function(module, f"tile_{height}x{vectors}", shape, "iipiipipib", write)


def _tiles(module: ir.Module, shape: TileShape) -> Any:
    """A block of C of any size: all its tiles, by rows of tiles."""
    width = 2 * shape.lanes

    def write(emit, rows, columns, depth, a, a_row, a_step, b, b_step, b_panel, c, c_row,
              accumulate):  # fmt: skip
        builder = emit.builder
        whole = emit.whole(columns, width)
        rest = builder.sub(columns, whole)

        def row_of_tiles(height: int, index: Any, pointers: Values) -> Values:
            a, c = pointers

            def tile(vectors: int, left: Any, at: Values) -> None:
                b_at, c_at = at
                arguments = [left, depth, a, a_row, a_step, b_at, b_step, c_at, c_row, accumulate]
                builder.call(_tile(module, shape, height, vectors), arguments)

            def pair(index: Any, at: Values) -> Values:
                tile(2, emit.word(width), at)
                return emit.advance(at, (b_panel, width), 1)

            def single(index: Any, at: Values) -> Values:
                tile(1, builder.sub(rest, index), at)
                return emit.advance(at, (shape.lanes, shape.lanes), 1)

            emit.loop(rest, shape.lanes, emit.loop(whole, width, [b, c], pair), single)
            return emit.advance(pointers, (a_row, c_row), height)

        pointers, total = [a, c], rows
        for k, height in enumerate(shape.heights[:-1]):
            covered = emit.rows_in_tiles(rows, shape.heights[k:])
            pointers = emit.loop(covered, height, pointers, functools.partial(row_of_tiles, height))
            rows = builder.sub(rows, covered)
        # Single rows wait for their sums. A tile that computes some rows before them once more, to
        # the same bits, takes less time; where C is added to, each row may be computed only once.
        lowest = emit.word(shape.heights[-2])
        again = builder.and_(
            builder.icmp_signed(">=", total, lowest),
            builder.icmp_signed(">", rows, emit.word(0)),
        )
        again = builder.and_(again, builder.not_(accumulate))
        back = builder.select(again, builder.sub(rows, lowest), emit.word(0))
        pointers = [
            emit.at(pointer, builder.mul(back, stride))
            for pointer, stride in zip(pointers, (a_row, c_row), strict=True)
        ]
        for height, count in ((shape.heights[-2], lowest), (1, rows)):
            is_chosen = again if height > 1 else builder.not_(again)
            count = builder.select(is_chosen, count, emit.word(0))
            pointers = emit.loop(count, height, pointers, functools.partial(row_of_tiles, height))

    return _function(module, "tiles", shape, "iiipiipiipib", write)


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


def _dot_tile(module: ir.Module, shape: TileShape, height: int, columns: int) -> Any:
    """Dot products of ``height`` rows of A and ``columns`` columns of B."""

    def write(emit, depth, a, a_row, b, b_column, c, c_row, accumulate):
        a_rows, b_columns = emit.steps(a, a_row, height), emit.steps(b, b_column, columns)

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
                lanes = range(i * columns, (i + 1) * columns)
                rows.append([emit.shuffle(products, products, lanes)])
        _write(emit, rows, [None], c, c_row, accumulate)

    return _function(module, f"dot_{height}x{columns}", shape, "ipipipib", write)


def _dots(module: ir.Module, shape: TileShape) -> Any:
    """A block of C of any size as tiles of dot products, by rows of tiles."""
    wide = min(DOT_COLUMNS, shape.lanes)

    def write(emit, rows, columns, depth, a, a_row, b, b_column, c, c_row, accumulate):
        builder = emit.builder
        whole = emit.whole(columns, wide)
        rest = builder.sub(columns, whole)

        def row_of_tiles(height: int, index: Any, pointers: Values) -> Values:
            a, c = pointers

            def tile(width: int, index: Any, at: Values) -> Values:
                b_at, c_at = at
                arguments = [depth, a, a_row, b_at, b_column, c_at, c_row, accumulate]
                builder.call(_dot_tile(module, shape, height, width), arguments)
                return emit.advance(at, (b_column, 1), width)

            at = emit.loop(whole, wide, [b, c], functools.partial(tile, wide))
            emit.loop(rest, 1, at, functools.partial(tile, 1))
            return emit.advance(pointers, (a_row, c_row), height)

        pointers = [a, c]
        for k, height in enumerate(shape.dot_heights):
            covered = emit.rows_in_tiles(rows, shape.dot_heights[k:])
            pointers = emit.loop(covered, height, pointers, functools.partial(row_of_tiles, height))
            rows = builder.sub(rows, covered)

    return _function(module, "dots", shape, "iiipipipib", write)


# ------------------------------------------------------------------------------------------------
# Packing: panels of A and of B have the same form, ``depth`` runs of ``width`` elements


def _transposed(emit: _Emitter, vectors: Values) -> Values:
    """Transpose the squares that lie beside each other in as many vectors as a square has rows.

    A square fills 16 bytes of each vector: what CPUs interleave in one instruction, and what LLVM
    takes the least time to find. Its halves are interleaved, level by level.
    """
    side, lanes = len(vectors), emit.shape.lanes
    half = side // 2
    low = [s + lane for s in range(0, lanes, side) for i in range(half) for lane in (i, lanes + i)]
    high = [lane + half for lane in low]
    for _ in range(side.bit_length() - 1):
        vectors = [
            emit.shuffle(vectors[i], vectors[i + half], order)
            for i in range(half)
            for order in (low, high)
        ]
    return vectors


def _joined(emit: _Emitter, parts: Values) -> Any:
    """One vector of the elements of several, in order."""
    while len(parts) > 1:
        lanes = range(2 * parts[0].type.count)
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [emit.shuffle(first, second, lanes) for first, second in pairs]
    return parts[0]


def _transpose_runs(module: ir.Module, shape: TileShape) -> Any:
    """Write up to ``lanes`` arrays that are contiguous along the depth beside each other.

    The depth is a multiple of ``shape.side``. Whole vectors are written; the last array is repeated
    where there are fewer.
    """
    lanes, side = shape.lanes, shape.side

    def write(emit, count, depth, target, source, across, width):
        builder = emit.builder
        # A table of the arrays: LLVM would look for a pattern in so many pointers, at some length.
        starts = builder.alloca(ir.ArrayType(_POINTER, lanes))
        last = builder.sub(count, emit.word(1))

        def add_start(index: Any, at: Values) -> Values:
            place = builder.gep(starts, [emit.word(0), index])
            builder.store(at[0], place)
            following = builder.icmp_signed("<", index, last)
            return [emit.at(at[0], builder.select(following, across, emit.word(0)))]

        emit.loop(emit.word(lanes), 1, [source], add_start, True)

        def squares(index: Any, at: Values) -> Values:
            loaded = []
            for r in range(lanes):
                place = builder.gep(starts, [emit.word(0), emit.word(r)])
                start = builder.load(place, typ=_POINTER)
                loaded.append(emit.load(emit.at(start, index), None, side))
            vectors = [_joined(emit, loaded[r::side]) for r in range(side)]
            places = emit.steps(at[0], width, side + 1)
            for vector, place in zip(_transposed(emit, vectors), places, strict=False):
                emit.store(vector, place)
            return places[side:]

        emit.loop(depth, side, [target], squares)

    return _function(module, "transpose", shape, "iippii", write)


def _pack(module: ir.Module, shape: TileShape) -> Any:
    """Pack ``count`` arrays of ``depth`` elements into panels of ``width`` arrays.

    A panel is at most two vectors wide; the target needs room for ``shape.slack`` more runs.
    """
    lanes = shape.lanes

    def write(emit, count, depth, target, source, across, step, width):
        builder = emit.builder
        one = emit.word(1)

        def copy(size: Any, to: Any, start: Any) -> None:
            """Contiguous runs. Whole vectors are written: the next run overwrites any excess."""
            masks = [emit.mask(size), emit.mask(size, lanes)]

            def run(index: Any, at: Values) -> Values:
                to, start = at
                for j, mask in enumerate(masks):
                    emit.store(emit.load(emit.at(start, j * lanes), mask), emit.at(to, j * lanes))
                return emit.advance(at, (width, step), 1)

            emit.loop(depth, 1, [to, start], run, True)

        def transpose(size: Any, to: Any, start: Any) -> Any:
            """As much of the depth as is whole squares; returns how much that is."""
            whole = emit.whole(depth, shape.side)

            def part(index: Any, at: Values) -> Values:
                arguments = [builder.sub(size, index), whole, *at, across, width]
                builder.call(_transpose_runs(module, shape), arguments)
                return emit.advance(at, (1, across), lanes)

            emit.loop(size, lanes, [to, start], part, True)
            return whole

        def by_element(size: Any, to: Any, start: Any, done: Any) -> None:
            to, start = emit.advance([to, start], [builder.mul(x, done) for x in (width, step)], 1)

            def element(index: Any, at: Values) -> Values:
                to, start = at
                builder.store(emit.read(start), to, align=shape.bytes)
                return emit.advance(at, (1, across), 1)

            def run(index: Any, at: Values) -> Values:
                emit.loop(size, 1, at, element, True)
                return emit.advance(at, (width, step), 1)

            emit.loop(builder.sub(depth, done), 1, [to, start], run)

        def panel(index: Any, at: Values) -> Values:
            to, start = at
            size = emit.minimum(width, builder.sub(count, index))
            with builder.if_else(builder.icmp_signed("==", across, one)) as (copying, otherwise):
                with copying:
                    copy(size, to, start)
                with otherwise:
                    before = builder.block
                    with builder.if_then(builder.icmp_signed("==", step, one)):
                        whole = transpose(size, to, start)
                        after = builder.block
                    (done,) = emit.joined([([emit.word(0)], before), ([whole], after)])
                    by_element(size, to, start, done)
            panel_size, panel_stride = builder.mul(width, depth), builder.mul(width, across)
            return [emit.at(to, panel_size), emit.at(start, panel_stride)]

        emit.loop(count, width, [target, source], panel, True)

    return _function(module, "pack", shape, "iippiii", write)


# ------------------------------------------------------------------------------------------------
# A row times a matrix with contiguous rows


def _combine_rows(module: ir.Module, shape: TileShape) -> Any:
    """``c = a @ b`` for a row a: several rows of b at a time, added to all of c."""
    lanes = shape.lanes

    def write(emit, columns, depth, c, a, a_step, b, b_row):
        builder = emit.builder
        whole = emit.whole(columns, lanes)
        rest = builder.sub(columns, whole)
        tail = emit.mask(rest)

        def over_columns(vector: Callable[[Any, Any], None]) -> None:
            def at(place: Any, mask: Any, index: Any, _: Values) -> Values:
                vector(index if place is None else place, mask)
                return []

            emit.loop(whole, lanes, [], functools.partial(at, None, None))
            emit.loop(rest, lanes, [], functools.partial(at, whole, tail))

        def combine(count: int, index: Any, pointers: Values) -> Values:
            a_at, b_at = pointers
            factors = [emit.splat(emit.read(place)) for place in emit.steps(a_at, a_step, count)]
            rows = emit.steps(b_at, b_row, count)

            def vector(index: Any, mask: Any) -> None:
                place = emit.at(c, index)
                total = emit.load(place, mask)
                for row, factor in zip(rows, factors, strict=True):
                    total = emit.multiply_add(factor, emit.load(emit.at(row, index), mask), total)
                emit.store(total, place, mask)

            over_columns(vector)
            return emit.advance(pointers, (a_step, b_row), count)

        over_columns(lambda index, mask: emit.store(emit.zero(), emit.at(c, index), mask))
        groups = emit.whole(depth, COMBINED_ROWS)
        several = functools.partial(combine, COMBINED_ROWS)
        at = emit.loop(groups, COMBINED_ROWS, [a, b], several)
        emit.loop(builder.sub(depth, groups), 1, at, functools.partial(combine, 1))

    return _function(module, "combine", shape, "iippipi", write)


# ------------------------------------------------------------------------------------------------
# The functions above as Numba intrinsics over addresses


def _as_intrinsic(name: str, kinds: str, function: Callable[[ir.Module], Any]) -> Any:
    """A Numba intrinsic that calls ``function(module)``; for ``kinds`` see ``_function``."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Values) -> Any:
        passed = [
            builder.inttoptr(value, _POINTER) if kind == "p" else value
            for kind, value in zip(kinds, arguments, strict=True)
        ]
        builder.call(function(builder.module), passed)
        return context.get_dummy_value()

    passed = [types.boolean if kind == "b" else types.int64 for kind in kinds]
    # Numba takes the number of arguments from the function's own signature, hence the source text.
    names = ", ".join(f"x{i}" for i in range(len(kinds)))
    namespace = {"typing": (types.void(*passed), emit)}
    exec(f"def typed(typing_context, {names}): return typing", namespace)
    typed: Any = namespace["typed"]
    typed.__name__ = name
    return intrinsic(typed)


def multiply_tiles(shape: TileShape) -> Any:
    """``(rows, columns, depth, a, a_row, a_step, b, b_step, b_panel, c, c_row, accumulate)``.

    ``c = a @ b``, or ``c += a @ b``. The columns of b are contiguous within a panel of
    ``shape.panel_b`` columns; ``b_panel`` is the distance of the panels.
    """
    return _as_intrinsic("multiply_tiles", "iiipiipiipib", lambda m: _tiles(m, shape))


def multiply_dots(shape: TileShape) -> Any:
    """``(rows, columns, depth, a, a_row, b, b_column, c, c_row, accumulate)``.

    As ``multiply_tiles``, where the columns of a and the rows of b are contiguous.
    """
    return _as_intrinsic("multiply_dots", "iiipipipib", lambda m: _dots(m, shape))


def pack_panels(shape: TileShape) -> Any:
    """``(count, depth, target, source, across, step, width)``: see ``_pack``.

    Panels of B have ``width`` columns, panels of A ``width`` rows; ``across`` is the stride from
    one to the next, ``step`` the stride along the depth.
    """
    return _as_intrinsic("pack_panels", "iippiii", lambda module: _pack(module, shape))


def combine_rows(shape: TileShape) -> Any:
    """``(columns, depth, c, a, a_step, b, b_row)``: ``c = a @ b`` for one row of a.

    The columns of b are contiguous.
    """
    return _as_intrinsic("combine_rows", "iippipi", lambda module: _combine_rows(module, shape))
