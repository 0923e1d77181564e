"""Kernels of formulas: the text for some operands, with the fastest functions of this CPU.

Asked by the launchers of pointwise operators on a miss, and by the lowering of programs. Some
functions are fast only within bounds: kernels of formulas with these are guarded, and compute the
elements beyond a second time.
"""

from __future__ import annotations

import dataclasses

from ...formula import Formula, print_numba
from ...formula.expression import postorder
from ...formula.lowering import Lowering
from ...kernels import layout
from ...kernels.pointwise import pairs
from ...kernels.pointwise import source as pointwise
from ...kernels.vector_math import CPU_BOUNDED, CPU_LOWERING, cpu_lowering

#: Elements that are worth a thread of their own: cheap formulas are bound by memory.
GRAIN = 32768


def _fastest() -> Lowering:
    """The fastest rules for this CPU, some of which hold only within bounds."""
    bounded = {key: rule for key, (_, rule) in CPU_BOUNDED.items()}
    return {**cpu_lowering(), **bounded}


def kernel_source(
    name: str,
    formula: Formula,
    inputs: list[pointwise.Operand],
    outputs: list[pointwise.Operand],
    compute: str,
    flat: bool = False,
    streamed: bool = False,
    tile: bool = False,
    repeated: frozenset[str] = frozenset(),
) -> str:
    """The text of the kernel of a formula over operands of these dtypes and layouts.

    ``flat``, ``streamed``, ``tile`` and ``repeated`` are as ``kernels/pointwise/source.py`` has
    them.
    """
    body = pointwise.Body(*print_numba(formula, compute, _fastest()))
    guard = guard_of(formula, compute)
    return pointwise.source(
        name,
        inputs,
        outputs,
        compute,
        body,
        formula.booleans,
        guard,
        flat,
        streamed,
        tile,
        repeated,
    )


def pair_source(
    name: str, formula: Formula, inputs: list[pairs.Parts], output: pairs.Parts, compute: str
) -> str:
    """The text of the kernel of a formula without a guard over complex numbers in one run."""
    body = pointwise.Body(*print_numba(formula, compute, _fastest()))
    return pairs.source(name, inputs, output, compute, body, formula.booleans)


def told_apart(
    inputs: list[pointwise.Operand], outputs: list[pointwise.Operand]
) -> tuple[list[pointwise.Operand], list[pointwise.Operand]]:
    """The operands of an eager call, with memory of their own for its outputs.

    Launchers see to it that an output shares no byte with an input, unless that is the output
    itself, element for element; which of strided operands are is not in the signature.
    """
    if any([x.layout == layout.STRIDED for x in (*inputs, *outputs)]):
        return inputs, outputs
    first = 2
    return (
        [dataclasses.replace(x, memory=first if x.layout == layout.ALIAS else 1) for x in inputs],
        [dataclasses.replace(x, memory=first + k) for k, x in enumerate(outputs)],
    )


def is_guarded(formula: Formula, compute: str) -> bool:
    """Whether the kernel of a formula computes some elements a second time."""
    used = {(node.operation, compute) for node in postorder(formula.outputs)}
    return not used.isdisjoint(CPU_BOUNDED)


def code_of_kernel(formula: Formula, compute: str) -> str:
    """The kind of code that a formula's kernel is to the compiler (``codegen/compiler.py``)."""
    if guard_of(formula, compute) is None:
        return "formula"
    operations = [x.operation for x in postorder(formula.outputs) if x.operation != "input"]
    return "chained" if operations == ["pow"] else "guarded"


def guard_of(formula: Formula, compute: str) -> pointwise.Guard | None:
    """Where the functions of a formula are used beyond the bounds of their fastest lowering."""
    beyond = {name: rule for (name, dtype), (rule, _) in CPU_BOUNDED.items() if dtype == compute}
    outside = [
        beyond[node.operation](*node.operands)
        for node in postorder(formula.outputs)
        if node.operation in beyond
    ]
    if not outside:
        return None
    conditions = Formula(formula.inputs, list(dict.fromkeys(outside)))
    return pointwise.Guard(
        pointwise.Body(*print_numba(conditions, compute, CPU_LOWERING)),
        pointwise.Body(*print_numba(formula, compute, CPU_LOWERING)),
    )
