"""LLVM IR of vector code for any vector width: what the micro-kernels of products are written with.

Used by ``matmul_tile`` and ``matmul_packing``; imported only to compile. A :class:`TileShape` says
what the registers of a CPU hold, an :class:`Emitter` has the vector operations, and functions made
of them become primitives over addresses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types

from . import loader
from .primitive import primitive

WORD = ir.IntType(64)
_LANE = ir.IntType(32)
_FLAG = ir.IntType(1)
POINTER = ir.PointerType()

Values = list[Any]


class TileShape(NamedTuple):
    """The capacity of the vector registers of a CPU: decides which micro-kernels are built."""

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
    def dtype(self) -> str:
        """Name of the dtype of the elements."""
        return "float32" if self.bytes == 4 else "float64"

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType(self.element, self.lanes)


def tile_shape(dtype: types.Float, vector_bits: int | None = None) -> TileShape:
    """The micro-kernels for ``dtype`` on this CPU, or for narrower vectors where asked."""
    cpu = loader.target()
    bits = vector_bits or cpu.vector_bits
    many_registers = bits == 512 or (cpu.has_many_registers and cpu.vector_bits < 512)
    return TileShape(
        element=ir.FloatType() if dtype == types.float32 else ir.DoubleType(),
        lanes=bits // dtype.bitwidth,
        heights=(12, 8, 4, 1) if many_registers else (6, 4, 2, 1),
        dot_heights=(6, 4, 1) if many_registers else (2, 1),
        fused=cpu.is_fused,
    )


@functools.cache
def _lane_numbers(numbers: tuple[int, ...]) -> ir.Constant:
    """A constant vector; one object for each, since llvmlite formats every object once."""
    vector = ir.VectorType(_LANE, len(numbers))
    return ir.Constant(vector, list(numbers) if any(numbers) else None)


class Emitter:
    """An ``ir.IRBuilder`` with the few vector operations that the micro-kernels are made of."""

    def __init__(self, shape: TileShape, function: ir.Function):
        self.shape = shape
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))

    def word(self, value: int) -> ir.Constant:
        return ir.Constant(WORD, value)

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
        same = ir.FunctionType(POINTER, [POINTER])
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


def emitted_function(module: ir.Module, name: str, shape: TileShape, kinds: str, emit: Emit) -> Any:
    """The function ``name`` of the module, which ``emit(emitter, *arguments)`` writes if need be.

    ``kinds`` has a letter for each parameter: ``p`` a pointer, ``i`` an integer, ``b`` a flag.
    """
    name = f"numbagrad_{name}_{shape.name}"
    known = module.globals.get(name)
    if known is not None:
        return known
    parameters = [{"p": POINTER, "i": WORD, "b": _FLAG}[kind] for kind in kinds]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    # The loops are written the way they shall run: LLVM would unroll them again, to no gain.
    function.attributes.add("optsize")
    emitter = Emitter(shape, function)
    emit(emitter, *function.args)
    emitter.builder.ret_void()
    return function


def as_primitive(
    name: str, kinds: str, function: Callable[[ir.Module], Any], body: Callable[..., None]
) -> Any:
    """A primitive that calls ``function(module)``; for ``kinds`` see ``emitted_function``.

    ``body`` does the same in Python, element by element.
    """

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Values) -> Any:
        passed = [
            builder.inttoptr(value, POINTER) if kind == "p" else value
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
    return primitive(body)(typed)
