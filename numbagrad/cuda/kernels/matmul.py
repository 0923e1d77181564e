"""Matrix products: tiles in shared memory, a smaller tile of the result in a thread's registers.

A block makes a square of the result. It walks along the depth in steps; while the factors of one
step are multiplied from shared memory, those of the next are on their way to registers and then to
the other half of shared memory. Half precision is summed in float32. An epilogue, a formula over
the result, runs on the registers. Called by ``cuda/matmul.py``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ..driver.source import Source
from .pointwise import NUMBER, Body, Operand, function_text, number_text
from .text import indented, loaded, loaded_as, numba_name, stored

#: The parameters of a product, before those of an epilogue.
PARAMETERS = (
    "at_a", "at_b", "at_c", "rows", "columns", "depth", "tiles", "across", "of_matrix", "inner",
    "a_row", "a_column", "b_row", "b_column", "c_row", "c_column",
    "a_outer", "a_inner", "b_outer", "b_inner", "c_outer", "c_inner",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Shape:
    """How work is cut: threads along a side of a block, results along a side of a thread, depth.

    ``side * tile`` is the side of the square of a block; ``step * tile`` is a multiple of ``side``.
    """

    side: int
    tile: int
    step: int

    @property
    def square(self) -> int:
        """Rows, and columns, of the part of the result that a block makes."""
        return self.side * self.tile

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.side * self.side


def shape_for(dtype: str, rows: int, columns: int, count: int, processors: int) -> Shape:
    """How a product is cut: into the largest squares that leave work for all processors."""
    for tile in (4,) if dtype == "float64" else (8, 4):
        shape = Shape(side=16, tile=tile, step=8)
        if -(-rows // shape.square) * -(-columns // shape.square) * count >= processors:
            return shape
    return Shape(side=16, tile=2, step=8)


@dataclasses.dataclass(frozen=True)
class Epilogue:
    """A formula over the result: its operands, of which ``result`` is the product itself.

    ``at`` are the names of the parameters of operands in memory: an address and four strides each.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    kinds: tuple[tuple[str, str], ...]
    body: Body
    result: tuple[str, ...]

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        parameters = []
        for o in (*self.inputs, *self.outputs):
            if o.name in self.result:
                continue
            parameters += [f"word_{o.name}"] if o.walk == NUMBER else strided_parameters(o.name)
        return parameters


def strided_parameters(name: str) -> list[str]:
    """Parameters of an operand of an epilogue: address, and strides of batch, rows and columns."""
    return [f"at_{name}", *[f"s{d}_{name}" for d in range(4)]]


def source(
    name: str,
    dtype: str,
    shape: Shape,
    a_deep: bool,
    b_deep: bool,
    accumulates: bool,
    epilogue: Epilogue | None = None,
) -> Source:
    """The kernel of ``c = a @ b`` (``c += a @ b``) of elements of a dtype.

    ``a_deep`` and ``b_deep`` say that elements along the depth are neighbours in memory, so that
    threads side by side read these.
    """
    kind = numba_name(loaded_as(dtype))
    parameters = [*PARAMETERS, *(epilogue.parameters if epilogue is not None else [])]
    text = [f"# {name} of {dtype}: squares of {shape.square}, {shape.tile} x {shape.tile} a thread"]
    if epilogue is not None:
        text += [function_text(list(epilogue.inputs), epilogue.body), "", *_finish(epilogue, kind)]
    text += [f"def kernel({', '.join(parameters)}):"]
    text += indented(1, shared(shape, kind))
    text += ["    for unit in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):"]
    text += indented(2, _begin(shape, kind))

    def fetched(start: str) -> list[str]:
        return _fetched(start, dtype, shape, a_deep, b_deep)

    text += indented(2, walk(shape, fetched, a_deep, b_deep))
    text += indented(2, _end(dtype, kind, shape, accumulates, epilogue))
    return Source(name, "\n".join([*text, ""]), shape.threads)


def shared(shape: Shape, kind: str) -> list[str]:
    """Two halves of shared memory for each factor; a row is one longer than a power of two."""
    size = 2 * shape.step * (shape.square + 1)
    return [
        f"a_tile = cuda.shared.array({size}, {kind})",
        f"b_tile = cuda.shared.array({size}, {kind})",
        "thread = int64(cuda.threadIdx.x)",
        f"down = thread // {shape.side}",
        f"right = thread - down * {shape.side}",
    ]


def _begin(shape: Shape, kind: str) -> list[str]:
    """Which square of which matrix a block makes, and sums of zero."""
    return [
        "batch = unit // of_matrix",
        "position = unit - batch * of_matrix",
        "block_row = position // across",
        f"first_column = (position - block_row * across) * {shape.square}",
        f"first_row = block_row * {shape.square}",
        "outer = batch // inner",
        "batch -= outer * inner",
        "from_a = at_a + outer * a_outer + batch * a_inner",
        "from_b = at_b + outer * b_outer + batch * b_inner",
        *zeros(shape, kind),
    ]


def zeros(shape: Shape, kind: str) -> list[str]:
    """Sums of zero, and registers for what is fetched."""
    tile = range(shape.tile)
    return [
        *[f"c_{i}_{j} = {kind}(0)" for i in tile for j in tile],
        *[f"{x}_{q} = {kind}(0)" for x in "ab" for q in range(fetches(shape))],
    ]


def fetches(shape: Shape) -> int:
    """Elements of each factor that a thread brings to shared memory in a step."""
    return shape.square * shape.step // shape.threads


def positions(shape: Shape, deep: bool, q: int) -> list[str]:
    """Which element of a step a thread brings: ``k`` along the depth, ``r`` across it."""
    lines = [f"l = thread + {q * shape.threads}"]
    if deep:
        return [*lines, f"r = l // {shape.step}", f"k = l - r * {shape.step}"]
    return [*lines, f"k = l // {shape.square}", f"r = l - k * {shape.square}"]


def _fetched(start: str, dtype: str, shape: Shape, a_deep: bool, b_deep: bool) -> list[str]:
    """Elements of a step from memory to registers; zero beyond the matrix."""
    kind = numba_name(loaded_as(dtype))
    lines = []
    for factor, deep, first, end, along in (
        ("a", a_deep, "first_row", "rows", ("a_row", "a_column")),
        ("b", b_deep, "first_column", "columns", ("b_column", "b_row")),
    ):
        for q in range(fetches(shape)):
            at = f"from_{factor} + ({first} + r) * {along[0]} + ({start} + k) * {along[1]}, 0"
            lines += [
                *positions(shape, deep, q),
                f"{factor}_{q} = {kind}(0)",
                f"if {first} + r < {end} and {start} + k < depth:",
                f"    {factor}_{q} = {loaded(at, dtype, loaded_as(dtype))}",
            ]
    return lines


def _kept(half: str, shape: Shape, a_deep: bool, b_deep: bool) -> list[str]:
    """Registers to one half of shared memory, which begins ``half`` rows in."""
    lines = []
    for factor, deep in (("a", a_deep), ("b", b_deep)):
        for q in range(fetches(shape)):
            lines += positions(shape, deep, q)
            lines.append(f"{factor}_tile[({half} + k) * {shape.square + 1} + r] = {factor}_{q}")
    return lines


def walk(
    shape: Shape, fetched: Callable[[str], list[str]], a_deep: bool, b_deep: bool, begin: str = "0"
) -> list[str]:
    """All steps along the depth, from ``begin`` on; ``fetched(start)`` brings one to registers."""
    tile, width = range(shape.tile), shape.square + 1
    multiply = [
        f"row = (half + step) * {width}",
        *[f"x_{i} = a_tile[row + down + {i * shape.side}]" for i in tile],
        *[f"y_{j} = b_tile[row + right + {j * shape.side}]" for j in tile],
        *[f"c_{i}_{j} = fma(x_{i}, y_{j}, c_{i}_{j})" for i in tile for j in tile],
    ]
    return [
        *fetched(begin),
        *_kept("0", shape, a_deep, b_deep),
        "cuda.syncthreads()",
        "half = 0",
        f"for start in range({begin}, depth, {shape.step}):",
        f"    following = start + {shape.step}",
        "    if following < depth:",
        *indented(2, fetched("following")),
        f"    for step in range({shape.step}):",
        *indented(2, multiply),
        f"    half = {shape.step} - half",
        "    if following < depth:",
        *indented(2, _kept("half", shape, a_deep, b_deep)),
        "    cuda.syncthreads()",
    ]


def _end(
    dtype: str, kind: str, shape: Shape, accumulates: bool, epilogue: Epilogue | None
) -> list[str]:
    """Write the registers, through the epilogue if there is one."""
    lines = ["to_c = at_c + outer * c_outer + batch * c_inner"]
    for j in range(shape.tile):  # once: the compiler takes long for many statements
        lines += [
            f"column_{j} = first_column + right + {j * shape.side}",
            f"along_{j} = column_{j} * c_column",
        ]
    for i in range(shape.tile):
        lines += [
            f"row = first_row + down + {i * shape.side}",
            "if row < rows:",
            "    to_row = to_c + row * c_row",
        ]
        for j in range(shape.tile):
            position = f"to_row + along_{j}, 0"
            inside = []
            value = f"c_{i}_{j}"
            if accumulates:
                inside.append(f"{value} += {loaded(position, dtype, loaded_as(dtype))}")
            inside.append(stored(position, value, dtype))
            if epilogue is not None:
                if dtype != loaded_as(dtype):
                    value = f"rounded({value}, {dtype})"
                place = value, "outer", "batch", "row", f"column_{j}"
                inside.append(f"finish({', '.join([*place, *epilogue.parameters])})")
            lines += [f"    if column_{j} < columns:", *indented(2, inside)]
    return lines


def _finish(epilogue: Epilogue, kind: str) -> list[str]:
    """The function ``finish``: the epilogue at one element of the result, ``value``."""
    parameters = ", ".join(["value", "outer", "batch", "row", "column", *epilogue.parameters])
    kinds = dict(epilogue.kinds)
    lines = []

    def position(o: Operand) -> str:
        steps = zip(("outer", "batch", "row", "column"), range(4), strict=True)
        return " + ".join([f"at_{o.name}", *[f"{x} * s{d}_{o.name}" for x, d in steps]]) + ", 0"

    for o in epilogue.inputs:
        wanted = kinds[o.name]
        if o.name in epilogue.result:
            value = f"{numba_name(wanted)}(value)" if numba_name(wanted) != kind else "value"
        elif o.walk == NUMBER:
            value = number_text(o, wanted)
        else:
            value = loaded(position(o), o.dtype, wanted, o.rounded)
        lines.append(f"{o.name} = {value}")
    made = ", ".join([f"value_{o.name}" for o in epilogue.outputs])
    given = ", ".join([o.name for o in epilogue.inputs])
    lines.append(f"{made} = element({given})")
    lines += [stored(position(o), f"value_{o.name}", o.dtype) for o in epilogue.outputs]
    return [f"def finish({parameters}):", *indented(1, lines), "", ""]
