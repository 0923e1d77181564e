"""Formulas over arrays: one thread an element, or a group of elements that 16 bytes hold.

The formula is a function ``element`` of the values of its inputs; the kernel around it decides what
is read and written where. Called by ``cuda/pointwise.py``.
"""

from __future__ import annotations

import dataclasses

from ..driver.source import Source
from .text import ITEM_SIZES, converted, decoded, indented, loaded, numba_name, passed, stored

UNIT, ZERO, STRIDED, NUMBER = "unit", "zero", "strided", "number"

#: The most elements that a thread reads at once.
MAX_WIDTH = 8
ACCESS_BYTES = 16


@dataclasses.dataclass(frozen=True)
class Operand:
    """An input or output: its name, dtype in memory, and how it is walked.

    A ``number`` is a word with the bits of a float64, or an integer. ``rounded`` is the half
    precision that an operand counts as.
    """

    name: str
    dtype: str
    walk: str
    rounded: str = ""


@dataclasses.dataclass(frozen=True)
class Body:
    """A printed formula: statements over variables named as the inputs, and what they compute."""

    lines: tuple[str, ...]
    results: tuple[str, ...]


def width_of(operands: list[Operand]) -> int:
    """How many elements of each operand one access of a thread holds."""
    sizes = [ITEM_SIZES[o.dtype] for o in operands if o.walk == UNIT]
    return min(ACCESS_BYTES // max(sizes), MAX_WIDTH)


def function_text(inputs: list[Operand], body: Body) -> str:
    """The function ``element``: values of the inputs to those of the outputs."""
    names = ", ".join([o.name for o in inputs])
    returned = ", ".join(body.results)
    return "\n".join([f"def element({names}):", *indented(1, list(body.lines)),
                      f"    return {returned}", ""])  # fmt: skip


def number_text(operand: Operand, kind: str) -> str:
    """The value of a number among the inputs, which is a word of the launch."""
    word = f"word_{operand.name}"
    if operand.dtype == "bool":
        value = f"({word} != 0)"
    elif operand.dtype.startswith("float") or operand.dtype == "bfloat16":
        value = f"{numba_name('float64' if operand.dtype == 'float64' else 'float32')}"
        value = f"{value}(from_bits({word}))"
    else:
        value = f"{numba_name(operand.dtype)}({word})"
    return converted(value, operand.dtype, kind, operand.rounded)


def source(
    name: str,
    inputs: list[Operand],
    outputs: list[Operand],
    kinds: dict[str, str],
    body: Body,
    dimensions: int,
    small: bool,
    threads: int,
) -> Source:
    """The kernel of a formula; ``kinds`` are the dtypes in which inputs reach it.

    The parameters are the number of elements, sizes (of strided operands, outermost first), and for
    each operand its address and strides in bytes, or the bits of a number.
    """
    operands = [*inputs, *outputs]
    parameters = ["total"]
    strided = [o for o in operands if o.walk == STRIDED]
    if strided:
        parameters += [f"n{d}" for d in range(dimensions)]
    for o in operands:
        parameters += [f"word_{o.name}"] if o.walk == NUMBER else [f"at_{o.name}"]
        if o.walk == STRIDED:
            parameters += [f"s{d}_{o.name}" for d in range(dimensions)]
    once = [
        f"{o.name} = {number_text(o, kinds[o.name])}"
        if o.walk == NUMBER
        else f"{o.name} = {loaded(f'at_{o.name}, 0', o.dtype, kinds[o.name], o.rounded)}"
        for o in inputs
        if o.walk in (NUMBER, ZERO)
    ]
    loop = _one_by_one(inputs, outputs, kinds, dimensions, bool(strided), small)
    if strided or not any([o.walk == UNIT for o in operands]):
        walk = ["for i in range(cuda.grid(1), total, cuda.gridsize(1)):", *indented(1, loop)]
    else:
        walk = _in_groups(inputs, outputs, kinds, loop)
    described = ", ".join([f"{o.name} {o.dtype} {o.walk}" for o in operands])
    text = [f"# {name}: {described}", function_text(inputs, body), ""]
    text += [f"def kernel({', '.join(parameters)}):", *indented(1, [*once, *walk]), ""]
    return Source(name, "\n".join(text), threads)


def _call(inputs: list[Operand], outputs: list[Operand], suffix: str = "") -> str:
    """The statement that computes one element."""
    made = ", ".join([f"value_{o.name}{suffix}" for o in outputs])
    given = [o.name if o.walk in (NUMBER, ZERO) else f"{o.name}{suffix}" for o in inputs]
    return f"{made} = element({', '.join(given)})"


def _one_by_one(
    inputs: list[Operand], outputs: list[Operand], kinds: dict[str, str], dimensions: int,
    strided: bool, small: bool,
) -> list[str]:  # fmt: skip
    """Statements for element ``i``."""

    def element(o: Operand) -> str:
        if o.walk != STRIDED:
            return f"at_{o.name}, i"
        steps = " + ".join([f"c{d} * s{d}_{o.name}" for d in range(dimensions)])
        return f"at_{o.name} + {steps}, 0"

    lines = decoded("i", [f"n{d}" for d in range(dimensions)], small) if strided else []
    lines += [
        f"{o.name} = {loaded(element(o), o.dtype, kinds[o.name], o.rounded)}"
        for o in inputs
        if o.walk in (UNIT, STRIDED)
    ]
    lines.append(_call(inputs, outputs))
    return lines + [stored(element(o), f"value_{o.name}", o.dtype) for o in outputs]


def _in_groups(
    inputs: list[Operand], outputs: list[Operand], kinds: dict[str, str], loop: list[str]
) -> list[str]:
    """Groups of elements by accesses of 16 bytes where all memory is aligned, the rest by ones."""
    operands = [o for o in (*inputs, *outputs) if o.walk == UNIT]
    width = width_of(operands)
    group = []
    for o in inputs:
        if o.walk == UNIT:
            parts = ", ".join([f"{o.name}_{k}" for k in range(width)])
            comma = "," if width == 1 else ""
            access = f"load_vector(at_{o.name}, g, {numba_name(o.dtype)}, {width})"
            group.append(f"{parts}{comma} = {access}")
            group += [
                f"{o.name}_{k} = {text}"
                for k in range(width)
                if (text := converted(f"{o.name}_{k}", o.dtype, kinds[o.name], o.rounded))
                != f"{o.name}_{k}"
            ]
    group += [_call(inputs, outputs, f"_{k}") for k in range(width)]
    for o in outputs:
        values = ", ".join([passed(f"value_{o.name}_{k}", o.dtype) for k in range(width)])
        group.append(f"store_vector(at_{o.name}, g, ({values},), {numba_name(o.dtype)})")
    either = " | ".join([f"at_{o.name}" for o in operands])
    return [
        "groups = 0",
        f"if ({either}) % {ACCESS_BYTES} == 0:",
        f"    groups = total // {width}",
        "for g in range(cuda.grid(1), groups, cuda.gridsize(1)):",
        *indented(1, group),
        f"for i in range(groups * {width} + cuda.grid(1), total, cuda.gridsize(1)):",
        *indented(1, loop),
    ]
