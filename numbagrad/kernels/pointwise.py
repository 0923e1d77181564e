"""Source of pointwise kernels: a formula in a loop over any number of strided operands.

Called by the executor with a formula already printed as statements; returns the text of a module
with one function ``kernel(args, lo, hi)``. The innermost dimension is a plain loop that LLVM
vectorises; the dimensions outside it are decoded once a row.
"""

from __future__ import annotations

import dataclasses

from . import layout


@dataclasses.dataclass(frozen=True)
class Operand:
    """An input or output of a pointwise kernel: its name, dtype in memory and layout."""

    name: str
    dtype: str
    layout: int = layout.UNIT


_LAYOUT_NAMES = {
    layout.UNIT: "contiguous",
    layout.ZERO: "repeated",
    layout.STRIDED: "strided",
    layout.ALIAS: "in place",
}
_ITEM_SIZES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "float16": 2, "int32": 4, "float32": 4,
    "int64": 8, "float64": 8,
}  # fmt: skip


def numba_name(dtype: str) -> str:
    """The name a dtype goes by in kernel sources."""
    return "boolean" if dtype == "bool" else dtype


def source(
    name: str,
    inputs: list[Operand],
    outputs: list[Operand],
    compute_dtype: str,
    lines: list[str],
    results: list[str],
    booleans: frozenset[str] = frozenset(),
) -> str:
    """The module of a pointwise kernel.

    ``lines`` are the statements of the formula over variables named as the inputs, all of
    ``compute_dtype`` but those in ``booleans``, which are conditions; ``results`` names the
    variables stored to the outputs.
    """
    operands = inputs + outputs
    own = [o for o in operands if o.layout != layout.ALIAS]
    word = {o.name: layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS * k
            for k, o in enumerate(operands)}  # fmt: skip
    text = [f"# {name}: {_describe(inputs)} -> {_describe(outputs)}, computed in {compute_dtype}"]
    body = "\n".join(lines)
    text += ["import math", ""] if "math." in body else []
    text += ["import numpy as np", ""] if "np." in body else []
    text += ["from numbagrad.kernels.intrinsics import *", "", "", "def kernel(args, lo, hi):"]
    text += ["    dimensions = load(args, 0, int64)", "    size = load(args, dimensions, int64)"]
    for o in own:
        text.append(f"    start_{o.name} = load(args, {word[o.name]}, int64)")
        if o.layout == layout.STRIDED:
            text.append(f"    step_{o.name} = load(args, {word[o.name]} + dimensions, int64)")
    text += ["    while lo < hi:"]
    text += ["        row = 0", "        column = lo"]
    text += ["        if dimensions > 1:", "            row = lo // size"]
    text += ["            column = lo - row * size"]
    text += [f"        at_{o.name} = start_{o.name}{_offset(o)}" for o in own]
    text += ["        for d in range(dimensions - 1, 0, -1):"]
    text += ["            extent = load(args, d, int64)", "            outer = row // extent"]
    text += ["            position = row - outer * extent", "            row = outer"]
    text += [
        f"            at_{o.name} += position * load(args, {word[o.name]} + d, int64)" for o in own
    ]
    for o in inputs:
        if o.layout == layout.ZERO:
            kind = "bool" if o.name in booleans else compute_dtype
            text.append(f"        {o.name} = {_load(o, kind, '0')}")
    text += ["        count = min(size - column, hi - lo)", "        for i in range(count):"]
    output = outputs[0].name
    for o in inputs:
        if o.layout != layout.ZERO:
            kind = "bool" if o.name in booleans else compute_dtype
            text.append(f"            {o.name} = {_load(o, kind, 'i', output)}")
    text += [f"            {line}" for line in lines]
    text += [f"            {_store(o, r)}" for o, r in zip(outputs, results, strict=True)]
    text += ["        lo += count", ""]
    return "\n".join(text)


def _describe(operands: list[Operand]) -> str:
    return ", ".join(f"{o.name} {o.dtype} {_LAYOUT_NAMES[o.layout]}" for o in operands)


def _offset(operand: Operand) -> str:
    if operand.layout == layout.UNIT:
        return f" + column * {_ITEM_SIZES[operand.dtype]}"
    if operand.layout == layout.STRIDED:
        return f" + column * step_{operand.name}"
    return ""


def _element(operand: Operand, index: str, place: str) -> str:
    if operand.layout == layout.STRIDED:
        return f"at_{place} + {index} * step_{place}, 0"
    return f"at_{place}, {index}"


def _load(operand: Operand, compute_dtype: str, index: str, output: str = "") -> str:
    place = output if operand.layout == layout.ALIAS else operand.name
    value = f"load({_element(operand, index, place)}, {numba_name(operand.dtype)})"
    loaded = "float32" if operand.dtype == "float16" else operand.dtype
    if loaded == compute_dtype:
        return value
    if compute_dtype == "bool":
        return f"{value} != 0"
    return f"{numba_name(compute_dtype)}({value})"


def _store(operand: Operand, value: str) -> str:
    passed = "float32" if operand.dtype == "float16" else numba_name(operand.dtype)
    value = f"({value} != 0)" if operand.dtype == "bool" else f"{passed}({value})"
    element = _element(operand, "i", operand.name)
    return f"store({element}, {value}, {numba_name(operand.dtype)})"
