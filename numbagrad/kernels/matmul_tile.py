"""Register-blocked micro-kernels of the matrix product, built as LLVM IR for any vector width.

Used by ``matmul``, whose loops over cache blocks are ordinary Numba code; imported only to compile.
Each public builder takes a :class:`TileShape` and returns a Numba intrinsic over addresses. All
strides are in elements, and no element outside the operands is ever read or written.
"""

from __future__ import annotations

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

Values = list[Any]


class TileShape(NamedTuple):
    """What the vector registers of a CPU hold: decides which micro-kernels are built."""

    element: ir.Type  # float or double
    lanes: int  # elements in a vector
    rows: tuple[int, ...]  # heights of the tiles of C, which are up to two vectors wide
    dots: tuple[int, ...]  # heights of the tiles of dot products
    fused: bool  # the CPU has fused multiply-add

    @property
    def name(self) -> str:
        return f"{'f32' if self.element == ir.FloatType() else 'f64'}x{self.lanes}"

    @property
    def bytes(self) -> int:
        return 4 if self.element == ir.FloatType() else 8

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
        rows=(12, 8, 4, 2, 1) if many_registers else (6, 4, 2, 1),
        dots=(6, 2, 1) if many_registers else (2, 1),
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
        return self.builder.mul(value, self.word(factor)) if factor else self.word(0)

    def splat(self, scalar: Any) -> Any:
        vector = ir.Constant(ir.VectorType(scalar.type, self.shape.lanes), ir.Undefined)
        first = self.builder.insert_element(vector, scalar, ir.Constant(_LANE, 0))
        return self.shuffle(first, first, [0] * self.shape.lanes)

    def shuffle(self, first: Any, second: Any, lanes: Sequence[int]) -> Any:
        mask = ir.Constant(ir.VectorType(_LANE, len(lanes)), list(lanes))
        return self.builder.shuffle_vector(first, second, mask)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        if not self.shape.fused:
            return self.builder.fadd(self.builder.fmul(a, b), c)
        name = f"llvm.fma.v{self.shape.lanes}{'f32' if self.shape.bytes == 4 else 'f64'}"
        return self._call(name, self.shape.vector, [a, b, c])

    def mask(self, count: Any, offset: int) -> Any:
        """Lanes ``i`` with ``offset + i < count``."""
        lanes = range(offset, offset + self.shape.lanes)
        numbers = ir.Constant(ir.VectorType(_LANE, self.shape.lanes), list(lanes))
        count = self.splat(self.builder.trunc(count, _LANE))
        return self.builder.icmp_signed("<", numbers, count)

    def load(self, pointer: Any, mask: Any = None) -> Any:
        """A vector from ``pointer``; lanes that the mask leaves out are zero and not read."""
        if mask is None:
            pointer = self.builder.bitcast(pointer, self.shape.vector.as_pointer())
            return self.builder.load(pointer, align=self.shape.bytes)
        arguments = [pointer, ir.Constant(_LANE, self.shape.bytes), mask, self.zero()]
        return self._call(self._masked("load"), self.shape.vector, arguments)

    def store(self, value: Any, pointer: Any, mask: Any = None) -> None:
        if mask is None:
            pointer = self.builder.bitcast(pointer, self.shape.vector.as_pointer())
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
    return function


# ------------------------------------------------------------------------------------------------
# Tiles of C: a column of A elements, each broadcast, times one or two vectors of B


def _tile_parameters(shape: TileShape) -> list[ir.Type]:
    pointer = shape.element.as_pointer()
    return [
        _WORD, _WORD,  # columns, depth
        pointer, _WORD, _WORD,  # a, its row stride and its stride along the depth
        pointer, _WORD,  # b and its stride along the depth
        pointer, _WORD,  # c and its row stride
        pointer, _WORD,  # initial and its row stride
        shape.element, shape.element,  # alpha, beta
    ]  # fmt: skip


def _row_pointers(emit: _Emitter, bases: Values, row_stride: Any, rows: int) -> Values:
    """Pointers to consecutive rows, from one base for every third: few registers hold them all."""
    return [emit.at(bases[r // 3], emit.times(row_stride, r % 3)) for r in range(rows)]


def _store_tile(
    emit: _Emitter, products: list[Values], masks: Values, arguments: Sequence[Any]
) -> None:
    """``c = alpha * products + beta * initial``, where ``initial`` is read only if beta is not 0."""
    c, c_row, initial, initial_row, alpha, beta = arguments
    builder = emit.builder
    alpha_vector, beta_vector = emit.splat(alpha), emit.splat(beta)
    scaled = [[builder.fmul(v, alpha_vector) for v in row] for row in products]

    def write(add_initial: bool) -> None:
        for r, row in enumerate(scaled):
            for j, value in enumerate(row):
                offset = emit.word(j * emit.shape.lanes)
                if add_initial:
                    source = emit.at(emit.at(initial, emit.times(initial_row, r)), offset)
                    value = emit.multiply_add(beta_vector, emit.load(source, masks[j]), value)
                emit.store(value, emit.at(emit.at(c, emit.times(c_row, r)), offset), masks[j])

    is_zero = builder.fcmp_ordered("==", beta, ir.Constant(emit.shape.element, 0.0))
    with builder.if_else(is_zero) as (plain, accumulating):
        with plain:
            write(False)
        with accumulating:
            write(True)
    builder.ret_void()


def _tile(module: ir.Module, shape: TileShape, rows: int, vectors: int, masked: bool) -> Any:
    """The micro-kernel for ``rows`` × ``vectors``; masked ones have any number of columns."""
    name = f"numbagrad_tile_{shape.name}_{rows}x{vectors}{'_masked' if masked else ''}"
    if name in module.globals:
        return module.globals[name]
    function = _define(module, name, _tile_parameters(shape))
    columns, depth, a, a_row, a_step, b, b_step, *output = function.args
    emit = _Emitter(shape, function)
    masks = [emit.mask(columns, j * shape.lanes) if masked else None for j in range(vectors)]
    starts = [emit.at(a, emit.times(a_row, r)) for r in range(0, rows, 3)]

    def step(index: Any, carried: Values) -> Values:
        bases, panel, sums = carried[: len(starts)], carried[len(starts)], carried[len(starts) + 1 :]
        loaded = [emit.load(emit.at(panel, j * shape.lanes), masks[j]) for j in range(vectors)]
        next_sums = []
        for r, pointer in enumerate(_row_pointers(emit, bases, a_row, rows)):
            factor = emit.splat(emit.builder.load(pointer, align=shape.bytes))
            for j in range(vectors):
                next_sums.append(emit.multiply_add(factor, loaded[j], sums[r * vectors + j]))
        return [*(emit.at(base, a_step) for base in bases), emit.at(panel, b_step), *next_sums]

    zeros = [emit.zero()] * (rows * vectors)
    sums = emit.loop(depth, 1, [*starts, b, *zeros], step)[len(starts) + 1 :]
    _store_tile(emit, [sums[r * vectors :][:vectors] for r in range(rows)], masks, output)
    return function


def _dispatch(
    module: ir.Module,
    name: str,
    heights: Sequence[int],
    variants: Callable[[int], list[tuple[ir.Function, str, int]]],
) -> ir.Function:
    """A function that picks a micro-kernel by its first two arguments, rows and columns.

    ``variants(height)`` lists functions of the remaining arguments, each with the comparison of the
    number of columns that selects it; the first that holds is called.
    """
    if name in module.globals:
        return module.globals[name]
    targets = {height: variants(height) for height in heights}
    parameters = [a.type for a in next(iter(targets.values()))[0][0].args]
    function = _define(module, name, [_WORD, *parameters])
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    switch = builder.switch(function.args[0], function.append_basic_block("no_such_height"))
    ir.IRBuilder(switch.default).ret_void()
    for height, choices in targets.items():
        block = function.append_basic_block(f"height{height}")
        switch.add_case(ir.Constant(_WORD, height), block)
        builder.position_at_end(block)
        for target, operator, bound in choices:
            chosen = builder.icmp_signed(operator, function.args[1], ir.Constant(_WORD, bound))
            with builder.if_then(chosen):
                builder.call(target, function.args[1:], tail="tail")
                builder.ret_void()
        builder.ret_void()
    return function


def _dispatch_tile(module: ir.Module, shape: TileShape) -> ir.Function:
    lanes = shape.lanes
    return _dispatch(module, f"numbagrad_tile_{shape.name}", shape.rows, lambda height: [
        (_tile(module, shape, height, 2, False), "==", 2 * lanes),
        (_tile(module, shape, height, 2, True), ">", lanes),
        (_tile(module, shape, height, 1, True), ">", 0),
    ])  # fmt: skip


# ------------------------------------------------------------------------------------------------
# Tiles of dot products: both operands contiguous along the depth


def _fold(emit: _Emitter, vectors: Values, width: int) -> Values:
    """Sum the lanes of many vectors, halving ``width`` sums a vector with each level.

    The upper half of a group of lanes is added to its lower half, whatever vector it is in, so a
    dot product has the same bits in every tile. Sums come out in the lanes of few vectors.
    """
    if width == 1:
        return vectors
    half, lanes = width // 2, emit.shape.lanes
    groups = range(0, lanes, width)
    low = [g + i for g in groups for i in range(half)]
    folded = []
    for i in range(0, len(vectors), 2):
        first, second = vectors[i], vectors[min(i + 1, len(vectors) - 1)]
        lower = emit.shuffle(first, second, low + [lanes + lane for lane in low])
        upper = emit.shuffle(
            first, second, [x + half for x in low] + [lanes + x + half for x in low]
        )
        folded.append(emit.builder.fadd(lower, upper))
    return _fold(emit, folded, half)


def _lane_order(lanes: int, count: int) -> list[tuple[int, int]]:
    """Where ``_fold`` puts the sum of each of ``count`` vectors: (vector, lane)."""
    content = [[i] * lanes for i in range(count)]
    width = lanes
    while width > 1:
        half = width // 2
        low = [g + i for g in range(0, lanes, width) for i in range(half)]
        content = [
            [content[i][x] for x in low] + [content[min(i + 1, len(content) - 1)][x] for x in low]
            for i in range(0, len(content), 2)
        ]
        width = half
    places: dict[int, tuple[int, int]] = {}
    for vector, lane_contents in enumerate(content):
        for lane, source in enumerate(lane_contents):
            places.setdefault(source, (vector, lane))
    return [places[i] for i in range(count)]


def _dot_tile(module: ir.Module, shape: TileShape, rows: int, columns: int, chains: int) -> Any:
    """Dot products of ``rows`` rows of A and ``columns`` columns of B.

    Each product is summed in ``chains`` independent vectors, to hide the latency of the additions
    where a tile has few products.
    """
    name = f"numbagrad_dot_{shape.name}_{rows}x{columns}x{chains}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    parameters = [_WORD, _WORD, *[pointer, _WORD] * 3, _WORD, pointer, *[_WORD] * 2]
    function = _define(module, name, [*parameters, shape.element, shape.element])
    _, depth, a, a_row, b, b_column, *output = function.args
    emit = _Emitter(shape, function)
    builder = emit.builder
    a_rows = [emit.at(a, emit.times(a_row, r)) for r in range(rows)]
    b_columns = [emit.at(b, emit.times(b_column, c)) for c in range(columns)]
    products = rows * columns

    def step(index: Any, sums: Values, mask: Any = None) -> Values:
        b_loaded = [emit.load(emit.at(column, index), mask) for column in b_columns]
        result = []
        for row in a_rows:
            a_loaded = emit.load(emit.at(row, index), mask)
            for loaded in b_loaded:
                result.append(emit.multiply_add(a_loaded, loaded, sums[len(result)]))
        return result

    def steps(index: Any, sums: Values) -> Values:
        result: Values = []
        for chain in range(chains):
            offset = builder.add(index, emit.word(chain * shape.lanes))
            result += step(offset, sums[chain * products :][:products])
        return result

    def remove_remainder(count: Any, size: int) -> Any:
        return builder.and_(count, emit.word(-size))

    unrolled = remove_remainder(depth, shape.lanes * chains)
    sums = emit.loop(unrolled, shape.lanes * chains, [emit.zero()] * (products * chains), steps)
    first, others = sums[:products], sums[products:]
    start = builder.sub(depth, unrolled)

    def remaining(index: Any, sums: Values) -> Values:
        left = builder.sub(start, index)
        return step(builder.add(unrolled, index), sums, emit.mask(left, 0))

    first = emit.loop(start, shape.lanes, first, remaining)
    for chain in range(0, len(others), products):
        first = [builder.fadd(x, y) for x, y in zip(first, others[chain:], strict=False)]
    _store_dots(emit, _fold(emit, first, shape.lanes), rows, columns, output)
    return function


def _store_dots(
    emit: _Emitter, folded: Values, rows: int, columns: int, arguments: Sequence[Any]
) -> None:
    """``c = alpha * dots + beta * initial``, element by element: C may have any strides."""
    c, c_row, c_column, initial, initial_row, initial_column, alpha, beta = arguments
    builder = emit.builder
    places = _lane_order(emit.shape.lanes, rows * columns)

    def write(add_initial: bool) -> None:
        for r in range(rows):
            for j in range(columns):
                vector, lane = places[r * columns + j]
                value = builder.extract_element(folded[vector], ir.Constant(_LANE, lane))
                value = builder.fmul(value, alpha)
                if add_initial:
                    offset = builder.add(
                        emit.times(initial_row, r), emit.times(initial_column, j)
                    )
                    old = builder.load(emit.at(initial, offset), align=emit.shape.bytes)
                    value = builder.fadd(value, builder.fmul(beta, old))
                offset = builder.add(emit.times(c_row, r), emit.times(c_column, j))
                builder.store(value, emit.at(c, offset), align=emit.shape.bytes)

    is_zero = builder.fcmp_ordered("==", beta, ir.Constant(emit.shape.element, 0.0))
    with builder.if_else(is_zero) as (plain, accumulating):
        with plain:
            write(False)
        with accumulating:
            write(True)
    builder.ret_void()


def _dispatch_dots(module: ir.Module, shape: TileShape, single: bool) -> ir.Function:
    """For ``DOT_COLUMNS`` columns or 1; ``single``: the one row of a row times a matrix."""
    chains = 2 if single else 1
    name = f"numbagrad_dot_{shape.name}{'_single' if single else ''}"
    return _dispatch(module, name, (1,) if single else shape.dots, lambda height: [
        (_dot_tile(module, shape, height, DOT_COLUMNS, chains), "==", DOT_COLUMNS),
        (_dot_tile(module, shape, height, 1, chains), "==", 1),
    ])  # fmt: skip


# ------------------------------------------------------------------------------------------------
# Packing


def _copy_rows(module: ir.Module, shape: TileShape, vectors: int) -> ir.Function:
    """Copy ``depth`` runs of up to ``vectors`` vectors, filled up with zeros.

    Whole vectors are written: where ``to_step`` is less than their width, the next run overwrites
    the excess of the last, and the target needs that much room behind its end.
    """
    name = f"numbagrad_copy_{shape.name}x{vectors}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    function = _define(module, name, [_WORD, _WORD, pointer, _WORD, pointer, _WORD])
    columns, depth, target, target_step, source, source_step = function.args
    emit = _Emitter(shape, function)
    masks = [emit.mask(columns, j * shape.lanes) for j in range(vectors)]

    def step(index: Any, carried: Values) -> Values:
        to, start = carried
        for j, mask in enumerate(masks):
            value = emit.load(emit.at(start, j * shape.lanes), mask)
            emit.store(value, emit.at(to, j * shape.lanes))
        return [emit.at(to, target_step), emit.at(start, source_step)]

    emit.loop(depth, 1, [target, source], step)
    emit.builder.ret_void()
    return function


def _transposed(emit: _Emitter, vectors: Values) -> Values:
    """Transpose a square of lanes × lanes elements: interleave halves, level by level."""
    lanes = emit.shape.lanes
    low = [lane for i in range(lanes // 2) for lane in (i, lanes + i)]
    high = [x + lanes // 2 for x in low]
    for _ in range(lanes.bit_length() - 1):
        half = lanes // 2
        vectors = [
            emit.shuffle(vectors[i], vectors[i + half], order)
            for i in range(half)
            for order in (low, high)
        ]
    return vectors


def _transpose_rows(module: ir.Module, shape: TileShape) -> ir.Function:
    """Write up to ``lanes`` contiguous runs beside each other: target[k, r] = source[r, k].

    Lanes beyond ``rows`` repeat the last row. Whole squares are written: the target needs room for
    ``lanes`` more steps behind its end.
    """
    name = f"numbagrad_transpose_{shape.name}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    function = _define(module, name, [_WORD, _WORD, pointer, _WORD, pointer, _WORD])
    rows, depth, target, target_step, source, source_row = function.args
    emit = _Emitter(shape, function)
    builder = emit.builder
    last = builder.sub(rows, emit.word(1))
    starts = []
    for r in range(shape.lanes):
        row = emit.word(r)
        row = builder.select(builder.icmp_signed("<", row, last), row, last)
        starts.append(emit.at(source, builder.mul(row, source_row)))

    def square(index: Any, mask: Any) -> None:
        loaded = [emit.load(emit.at(start, index), mask) for start in starts]
        to = emit.at(target, builder.mul(index, target_step))
        for k, vector in enumerate(_transposed(emit, loaded)):
            emit.store(vector, emit.at(to, emit.times(target_step, k)))

    def whole_square(index: Any, carried: Values) -> Values:
        square(index, None)
        return []

    whole = builder.and_(depth, emit.word(-shape.lanes))
    emit.loop(whole, shape.lanes, [], whole_square)
    rest = builder.sub(depth, whole)
    with builder.if_then(builder.icmp_signed(">", rest, emit.word(0))):
        square(whole, emit.mask(rest, 0))
    builder.ret_void()
    return function


# ------------------------------------------------------------------------------------------------
# A row times a matrix with contiguous rows


def _combine_rows(module: ir.Module, shape: TileShape, rows: int) -> ir.Function:
    """Add a linear combination of ``rows`` contiguous rows of B to a row of sums."""
    name = f"numbagrad_combine_{shape.name}x{rows}"
    if name in module.globals:
        return module.globals[name]
    pointer = shape.element.as_pointer()
    function = _define(module, name, [_WORD, pointer, pointer, _WORD, pointer, _WORD])
    columns, sums, a, a_step, b, b_row = function.args
    emit = _Emitter(shape, function)
    builder = emit.builder
    factors = [
        emit.splat(builder.load(emit.at(a, emit.times(a_step, r)), align=shape.bytes))
        for r in range(rows)
    ]

    def combine(index: Any, mask: Any) -> None:
        total = emit.load(emit.at(sums, index), mask)
        for r, factor in enumerate(factors):
            source = emit.at(emit.at(b, index), emit.times(b_row, r))
            total = emit.multiply_add(factor, emit.load(source, mask), total)
        emit.store(total, emit.at(sums, index), mask)

    def whole_vector(index: Any, carried: Values) -> Values:
        combine(index, None)
        return []

    whole = builder.and_(columns, emit.word(-shape.lanes))
    emit.loop(whole, shape.lanes, [], whole_vector)
    rest = builder.sub(columns, whole)
    with builder.if_then(builder.icmp_signed(">", rest, emit.word(0))):
        combine(whole, emit.mask(rest, 0))
    builder.ret_void()
    return function


# ------------------------------------------------------------------------------------------------
# The functions above as Numba intrinsics over addresses


def _as_intrinsic(
    name: str, doc: str, kinds: str, function: Callable[[ir.Module], ir.Function]
) -> Any:
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

    names = [f"x{i}" for i in range(len(kinds))]
    integers = {"p": types.int64, "i": types.int64}

    def signature(*arguments: Any) -> tuple[Any, Any]:
        passed = (integers.get(k, a) for k, a in zip(kinds, arguments, strict=True))
        return types.void(*passed), emit

    namespace = {"signature": signature}
    # Numba reads the number of arguments from the signature of the function, hence the source.
    exec(f"def typed(typing_context, {', '.join(names)}): return signature({', '.join(names)})",
         namespace)  # fmt: skip
    typed: Any = namespace["typed"]
    typed.__name__, typed.__doc__ = name, doc
    return intrinsic(typed)


def multiply_tile(shape: TileShape) -> Any:
    """``(rows, columns, depth, a, a_row, a_step, b, b_step, c, c_row, i, i_row, alpha, beta)``.

    ``c = alpha * a @ b + beta * i`` for one of ``shape.rows`` rows and up to two vectors of
    columns; the columns of b, c and i are contiguous.
    """
    return _as_intrinsic(
        "multiply_tile", "One tile of C.", "iiipiipipipiff", lambda m: _dispatch_tile(m, shape)
    )


def dot_tile(shape: TileShape, single: bool) -> Any:
    """``(rows, columns, depth, a, a_row, b, b_column, c, c_row, c_column, i, i_row, i_column,
    alpha, beta)``: the same for one of ``shape.dots`` rows and ``DOT_COLUMNS`` columns or 1.

    A's columns and B's rows are contiguous; C and I have any strides.
    """
    return _as_intrinsic(
        "dot_tile",
        "One tile of dot products.",
        "iiipipipiipiiff",
        lambda module: _dispatch_dots(module, shape, single),
    )


def copy_rows(shape: TileShape, vectors: int) -> Any:
    """``(columns, depth, target, target_step, source, source_step)``: see ``_copy_rows``."""
    return _as_intrinsic(
        "copy_rows", "Pack rows.", "iipipi", lambda module: _copy_rows(module, shape, vectors)
    )


def transpose_rows(shape: TileShape) -> Any:
    """``(rows, depth, target, target_step, source, source_row)``: see ``_transpose_rows``."""
    return _as_intrinsic(
        "transpose_rows", "Pack columns.", "iipipi", lambda m: _transpose_rows(m, shape)
    )


def combine_rows(shape: TileShape, rows: int) -> Any:
    """``(columns, sums, a, a_step, b, b_row)``: ``sums += a @ b`` for ``rows`` rows of b."""
    return _as_intrinsic(
        "combine_rows", "Add rows.", "ippipi", lambda module: _combine_rows(module, shape, rows)
    )
