"""Source of pointwise kernels: a formula in a loop over any number of strided operands.

Called by the executor with a formula already printed as statements; returns the text of a module
with one function ``kernel(args, lo, hi)``. The innermost dimension is a plain loop that LLVM
vectorises; the dimensions outside it, if there are any, are decoded once a row. The epilogue of a
matrix product is the same, over the rows of a tile.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from ...codegen import loader
from .. import layout
from ..matmul import layout as matmul_layout
from . import layout as plane_layout


@dataclasses.dataclass(frozen=True)
class Operand:
    """An input or output of a pointwise kernel: its name, dtype in memory and layout.

    An input with the layout ``ALIAS`` is the output named ``of``, the first if that is empty.
    Operands with different numbers in ``memory`` share no byte; 0 is what nothing is known of.
    An input that is ``rounded`` counts as if it were of that dtype.
    """

    name: str
    dtype: str
    layout: int = layout.UNIT
    of: str = ""
    memory: int = 0
    rounded: str = ""


_LAYOUT_NAMES = {
    layout.UNIT: "contiguous",
    layout.ZERO: "repeated",
    layout.STRIDED: "strided",
    layout.ALIAS: "in place",
}
ITEM_SIZES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int32": 4,
    "float32": 4, "int64": 8, "float64": 8,
}  # fmt: skip


def numba_name(dtype: str) -> str:
    """The name a dtype goes by in kernel sources."""
    return "boolean" if dtype == "bool" else dtype


def loaded_as(dtype: str) -> str:
    """The dtype in which elements of a dtype are computed with: float32 for those of two bytes."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


@dataclasses.dataclass(frozen=True)
class Body:
    """Straight-line statements over variables named as the inputs, and what they compute."""

    lines: list[str]
    results: list[str]


@dataclasses.dataclass(frozen=True)
class Guard:
    """Where the fast body does not hold: conditions on an element, and a body that always does."""

    conditions: Body
    exact: Body


#: Elements of a block: where a guarded kernel looks for one beyond the range of its fast body, and
#: what a streamed one writes to memory at once.
BLOCK = 1024

#: Statements on an element from which on copies of a repeated row cost less than short runs.
LINES_WORTH_COPIES = 16

#: Vectors of a row up to which what is left of it counts for that much.
SHORT_VECTORS = 8

#: Bytes of a line of the cache; what is streamed is written in whole ones.
LINE_BYTES = 64


def source(
    name: str,
    inputs: list[Operand],
    outputs: list[Operand],
    compute_dtype: str,
    body: Body,
    booleans: frozenset[str] = frozenset(),
    guard: Guard | None = None,
    flat: bool = False,
    streamed: bool = False,
    tile: bool = False,
    repeated: frozenset[str] = frozenset(),
) -> str:
    """The module of a pointwise kernel.

    The variables of ``body`` are of ``compute_dtype`` but those in ``booleans``, which are
    conditions; its results are stored to the outputs. With a ``guard``, blocks of elements with one
    outside the range of ``body`` get that one's value from the exact body. A ``flat`` kernel is for
    a single dimension that no operand steps through otherwise than contiguously: the most frequent
    one, in a third of the time to compile. What is ``streamed`` goes to memory past the caches;
    then no operand is strided or shares memory with an output. A kernel for a ``tile`` is the
    epilogue of a matrix product (``matmul_layout.TILE_WORDS``); it is flat if every operand has
    one row right behind the other. Where only the inputs in ``repeated`` have not, but the same row
    for every one, much work on short rows is done on several as one run, beside copies of that row.
    """
    operands = inputs + outputs
    kinds = {o.name: "bool" if o.name in booleans else compute_dtype for o in inputs}
    output = outputs[0].name
    loads = [
        f"{o.name} = {load_operand(o, kinds[o.name], 'i', output)}"
        for o in inputs
        if o.layout != layout.ZERO
    ]

    def stores(chosen: Body) -> list[str]:
        return [store_operand(o, r, streamed) for o, r in zip(outputs, chosen.results, strict=True)]

    text = [f"# {name}: {_describe(inputs)} -> {_describe(outputs)}, computed in {compute_dtype}"]
    text += _imports([body] if guard is None else [body, guard.conditions, guard.exact])
    text += ["from numbagrad.kernels.pointwise.streaming import *"] if streamed else []
    row = [
        f"{o.name} = {load_operand(o, kinds[o.name], '0')}"
        for o in inputs
        if o.layout == layout.ZERO
    ]
    if len(body.lines) < LINES_WORTH_COPIES:
        repeated = frozenset()
    text += ["from numbagrad.kernels.pointwise.repeated_rows import *"] if repeated else []
    text += [] if flat or tile else ["from numbagrad.kernels.pointwise.rows import *"]
    text += ["", "", "def kernel(args, lo, hi):"]
    run = ("lo", "hi") if flat and not tile else ("0", "run" if repeated else "count")
    compute = [*body.lines, *stores(body)]
    in_place = any(o.layout in (layout.ALIAS, layout.STRIDED) for o in inputs)
    if guard is None:
        loop = functools.partial(_loop, loads + compute)
    else:
        look = [*loads, *guard.conditions.lines, f"beyond = {' | '.join(guard.conditions.results)}"]
        exact = [*guard.exact.lines, *stores(guard.exact)]
        loop = functools.partial(
            _guarded_in_place if in_place else _guarded, look, loads + compute, exact
        )
    if streamed:
        text += [f"    block_{o.name} = address_of_stack({_block_words(o)})" for o in outputs]
        row += _streamed(loop, outputs, *run)
    else:
        row += loop(*run)
    if tile:
        text += _indented(1, _tile(operands, row, flat, repeated, compute_dtype))
    else:
        text += _indented(1, _single_row(operands, row) if flat else _rows(operands, row))
    text += ["    streams_done()"] if streamed else []
    return "\n".join([*text, ""])


def is_short(columns: int, compute_dtype: str) -> bool:
    """Whether a row is a few vectors and a part of one, which takes as long as several of them."""
    lanes = _lanes(compute_dtype)
    return columns % lanes != 0 and columns < SHORT_VECTORS * lanes


def _lanes(compute_dtype: str) -> int:
    """Elements of the widest vectors of this CPU."""
    return loader.target().vector_bits // 8 // ITEM_SIZES[compute_dtype]


def _imports(bodies: list[Body]) -> list[str]:
    text = "\n".join(line for body in bodies for line in body.lines)
    modules = ["import math"] if "math." in text else []
    modules += ["import numpy as np"] if "np." in text else []
    modules += [""] if modules else []
    special = ("_estimate(", "multiply_by_power(")
    instructions = (
        ["from numbagrad.codegen.instructions import *"]
        if any([name in text for name in special])
        else []
    )
    return [*modules, "from numbagrad.codegen.intrinsics import *", *instructions]


def _own_words(operands: list[Operand]) -> dict[str, int]:
    """Where the arguments have the operands that lie in memory of their own."""
    return {
        o.name: layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS * k
        for k, o in enumerate(operands)
        if o.layout != layout.ALIAS
    }


def _single_row(operands: list[Operand], row: list[str]) -> list[str]:
    """The statements for the only row: its elements ``lo`` to ``hi`` lie at ``at_<name>``."""
    words = _own_words(operands)
    return [*(f"at_{name} = load(args, {word}, int64)" for name, word in words.items()), *row]


def _rows(operands: list[Operand], row: list[str]) -> list[str]:
    """The loops over rows of the innermost dimension, around the statements for one row.

    Those find ``count`` elements at ``at_<name>``. Dimensions are decoded where a range begins and
    where the second innermost one is through; from row to row the addresses only step on.
    """
    own = [(k, o) for k, o in enumerate(operands) if o.layout != layout.ALIAS]
    bits = sum(1 << k for k, _ in own)
    words = plane_layout.PLANE_OPERANDS + plane_layout.PLANE_WORDS * len(operands)
    text = [
        f"plane = address_of_stack({words})",
        f"size = describe_rows(args, {bits}, plane, 0)",
    ]
    decode = [
        f"rows = find_rows(args, lo, {bits}, plane)",
        f"column = load(plane, {plane_layout.PLANE_COLUMN}, int64)",
    ]
    for k, o in own:
        at = plane_layout.PLANE_OPERANDS + plane_layout.PLANE_WORDS * k
        text.append(f"jump_{o.name} = load(plane, {at + 1}, int64)")
        if o.layout == layout.STRIDED:
            text.append(f"step_{o.name} = load(plane, {at + 2}, int64)")
        decode.append(f"row_{o.name} = load(plane, {at}, int64)")
    one = [f"at_{o.name} = row_{o.name}{_offset(o)}" for _, o in own]
    one += ["count = min(size - column, hi - lo)", *row, "lo += count", "column = 0", "rows -= 1"]
    one += [f"row_{o.name} += jump_{o.name}" for _, o in own]
    decode += ["while rows > 0 and lo < hi:", *_indented(1, one)]
    return [*text, "while lo < hi:", *_indented(1, decode)]


def _tile(
    operands: list[Operand], row: list[str], flat: bool, repeated: frozenset[str],
    compute_dtype: str,
) -> list[str]:  # fmt: skip
    """The rows ``lo`` to ``hi`` of a tile, around the statements for one, which is as in ``_rows``.

    The dimensions of the operands are two of a batch, rows and columns. With ``repeated`` inputs
    the statements are those for ``run`` elements, of one row or several.
    """
    w, word = matmul_layout, _own_words(operands)
    own = [o for o in operands if o.name in word]
    text = [
        f"words = load(args, {w.TILE_ARGUMENTS}, int64)",
        f"column = load(args, {w.TILE_COLUMN}, int64)",
        f"count = load(args, {w.TILE_COLUMNS}, int64)",
        f"inner = load(args, {w.TILE_BATCH}, int64)",
        f"extent = load(words, {layout.ARGUMENT_SIZES} + 1, int64)",
        "outer = inner // extent",
        "inner -= outer * extent",
    ]
    for o in own:
        at = word[o.name]
        text += [
            f"jump_{o.name} = load(words, {at} + 3, int64)",
            f"row_{o.name} = load(words, {at}, int64) + outer * load(words, {at} + 1, int64)",
            f"row_{o.name} += inner * load(words, {at} + 2, int64) + lo * jump_{o.name}",
        ]
        if o.layout == layout.STRIDED:
            text.append(f"step_{o.name} = load(words, {at} + 4, int64)")
    if flat:  # whole rows are one run
        text += [f"if count == load(words, {layout.ARGUMENT_SIZES} + 3, int64):"]
        text += ["    count *= hi - lo", "    hi = lo + 1"]
    taken = "1"
    one = [f"at_{o.name} = row_{o.name}{_offset(o)}" for o in own]
    if repeated:
        taken = "taken"
        text += _copies([o for o in own if o.name in repeated], compute_dtype)
        one += ["taken = min(together, hi - lo)", "run = count * taken"]
    one += [*row, f"lo += {taken}", *(f"row_{o.name} += {taken} * jump_{o.name}" for o in own)]
    return [*text, "while lo < hi:", *_indented(1, one)]


def _copies(repeated: list[Operand], compute_dtype: str) -> list[str]:
    """How many rows are done ``together``, with as many copies of those of the ``repeated`` inputs.

    One, unless rows are a few vectors and a part of one, which takes as long as several of them.
    """
    text = [f"copies_{o.name} = address_of_stack({_block_words(o)})" for o in repeated]
    copy = [f"together = min(hi - lo, {BLOCK} // count)"]
    for o in repeated:
        size = f"count * {ITEM_SIZES[o.dtype]}"
        copy.append(f"repeat_row(copies_{o.name}, row_{o.name}, {size}, together)")
        copy.append(f"row_{o.name} = copies_{o.name}")
    lanes = _lanes(compute_dtype)
    whole = f"count == load(words, {layout.ARGUMENT_SIZES} + 3, int64)"
    short = f"count % {lanes} != 0 and count < {SHORT_VECTORS * lanes}"
    text += ["together = 1", f"if {whole} and {short} and hi - lo > 1:"]
    return [*text, *_indented(1, copy)]


def _streamed(
    loop: Callable[[str, str], list[str]], outputs: list[Operand], first: str, end: str
) -> list[str]:
    """Blocks whose outputs are computed on the stack, at ``into_<name>``, and then streamed.

    They lie as far into a line there as in memory; a block ends where a line of the first does.
    """
    before, after = [], []
    for o in outputs:
        item = ITEM_SIZES[o.dtype]
        before += [
            f"target_{o.name} = at_{o.name} + start * {item}",
            f"into_{o.name} = block_{o.name} + target_{o.name} % {LINE_BYTES} - start * {item}",
        ]
        source = f"into_{o.name} + start * {item}"
        after += [f"stream(target_{o.name}, {source}, (stop - start) * {item})"]
    inside = f"target_{outputs[0].name} % {LINE_BYTES} // {ITEM_SIZES[outputs[0].dtype]}"
    stop = f"stop = min(start + {BLOCK} - {inside}, {end})"
    block = [*before, stop, *loop("start", "stop"), *after, "start = stop"]
    return [f"start = {first}", f"while start < {end}:", *_indented(1, block)]


def _block_words(output: Operand) -> int:
    """Words of the stack for a block of an output, wherever in a line it begins."""
    return (BLOCK * ITEM_SIZES[output.dtype] + LINE_BYTES) // 8


def _loop(body: list[str], first: str, end: str) -> list[str]:
    return [f"for i in range({first}, {end}):", *_indented(1, body)]


# A guarded kernel takes every element's value from that element alone, so that a range may be cut
# anywhere. Looking whether one is beyond the fast body is nearly free while that body runs.


def _guarded(
    look: list[str], compute: list[str], exact: list[str], first: str, end: str
) -> list[str]:
    """The fast body for all elements; then blocks with one beyond it, if there are any, again.

    One loop for all: with another one around it, LLVM would not keep its constants in registers.
    """
    note = [*look, "outside = outside | beyond"]
    correct = _loop([*look, "if beyond:", *_indented(1, exact)], "position", "until")
    block = ["outside = False", *_loop(note, "position", "until")]
    block += ["if outside:", *_indented(1, correct)]
    again = _guard_blocks(block, first, end)
    fast = _loop([*note, *compute], first, end)
    return ["outside = False", *fast, "if outside:", *_indented(1, again)]


def _guarded_in_place(
    look: list[str], compute: list[str], exact: list[str], first: str, end: str
) -> list[str]:
    """The same where the output may be an input, which would be overwritten: blocks, look first."""
    either = [*look, "if beyond:", *_indented(1, exact), "else:", *_indented(1, compute)]
    block = ["outside = False", *_loop([*look, "outside = outside | beyond"], "position", "until")]
    block += ["if outside:", *_indented(1, _loop(either, "position", "until"))]
    block += ["else:", *_indented(1, _loop(compute, "position", "until"))]
    return _guard_blocks(block, first, end)


def _guard_blocks(body: list[str], first: str, end: str) -> list[str]:
    """The loop over blocks of elements ``position`` to ``until``."""
    block = [f"until = min(position + {BLOCK}, {end})", *body, "position = until"]
    return [f"position = {first}", f"while position < {end}:", *_indented(1, block)]


def _indented(depth: int, lines: list[str]) -> list[str]:
    return ["    " * depth + line for line in lines]


def _describe(operands: list[Operand]) -> str:
    return ", ".join(f"{o.name} {o.dtype} {_LAYOUT_NAMES[o.layout]}" for o in operands)


def _offset(operand: Operand) -> str:
    if operand.layout == layout.UNIT:
        return f" + column * {ITEM_SIZES[operand.dtype]}"
    if operand.layout == layout.STRIDED:
        return f" + column * step_{operand.name}"
    return ""


def _element(operand: Operand, index: str, position: str) -> str:
    if operand.layout == layout.STRIDED:
        return f"at_{position} + {index} * step_{position}, 0"
    return f"at_{position}, {index}"


def load_operand(operand: Operand, compute_dtype: str, index: str, output: str = "") -> str:
    """The value of an operand at an index, converted to the dtype that a kernel computes in.

    An input that lies in place of an output is read from there, by default from ``output``.
    """
    position = operand.of or output if operand.layout == layout.ALIAS else operand.name
    value = load_text(_element(operand, index, position), operand.dtype, operand.memory)
    if operand.rounded:
        return f"rounded(float32({value}), {operand.rounded})"
    loaded = loaded_as(operand.dtype)
    if loaded == compute_dtype:
        return value
    if compute_dtype == "bool":
        return f"{value} != 0"
    return f"{numba_name(compute_dtype)}({value})"


def store_operand(operand: Operand, value: str, streamed: bool = False, index: str = "i") -> str:
    """The statement that writes a value; of a streamed operand, to where its block is made."""
    passed = numba_name(loaded_as(operand.dtype))
    value = f"({value} != 0)" if operand.dtype == "bool" else f"{passed}({value})"
    element = _element(operand, index, operand.name)
    if streamed:
        element = f"into_{operand.name}, {index}"
    return store_text(element, value, operand.dtype, operand.memory)


def load_text(element: str, dtype: str, memory: int) -> str:
    """The call that loads an element (``"address, index"``) of memory of that number."""
    if memory:
        return f"load_apart({element}, {numba_name(dtype)}, {memory})"
    return f"load({element}, {numba_name(dtype)})"


def store_text(element: str, value: str, dtype: str, memory: int) -> str:
    """The call that stores an element of memory of that number."""
    if memory:
        return f"store_apart({element}, {value}, {numba_name(dtype)}, {memory})"
    return f"store({element}, {value}, {numba_name(dtype)})"
