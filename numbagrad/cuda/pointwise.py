"""Launches of formulas: the definition that the CPU has, printed for a GPU.

Derivatives of every order are formulas too, so they come here as such.
"""

from __future__ import annotations

import functools
from typing import Any

from ..dtype import from_numpy as dtype_of
from ..executor.plan.operations import Pointwise
from ..executor.plan.spaces import merged
from ..executor.plan.views import View
from ..formula import Formula, print_numba
from .driver import driver
from .kernels import pointwise as texts
from .kernels.pointwise import NUMBER, STRIDED, UNIT, ZERO, Body, Operand
from .launches import Launch, LaunchArgs, blocks_for

#: Up to here indices are taken apart by divisions of 32 bits.
SMALL = 1 << 31


@functools.lru_cache(maxsize=4096)
def _printed(formula: Formula, compute: str) -> Body:
    lines, results = print_numba(formula, compute)
    return Body(tuple(lines), tuple(results))


def printed(formula: Formula, compute: str) -> Body:
    """The statements of a formula computed in a dtype."""
    return _printed(formula, compute)


def output_names(count: int) -> list[str]:
    """The names of the outputs of a kernel."""
    return ["out"] if count == 1 else [f"out{j}" for j in range(count)]


def kinds_of(formula: Formula, compute: str) -> dict[str, str]:
    """The dtype in which each input reaches a formula."""
    return {name: "bool" if name in formula.booleans else compute for name in formula.inputs}


def lower_pointwise(operation: Pointwise) -> list[Launch]:
    """The launch of a formula over operands broadcast to the shape of the outputs."""
    views = [x.expanded(operation.shape) for x in operation.operands if isinstance(x, View)]
    arrays = (*views, *operation.outputs)
    sizes, steps = merged(operation.shape, [x.strides for x in arrays])
    if not sizes:
        sizes, steps = [1], [[x.dtype.itemsize] for x in arrays]
    flat = len(sizes) == 1 and all(
        [own[0] in (0, x.dtype.itemsize) for own, x in zip(steps, arrays, strict=True)]
    )
    remaining = iter(steps)
    launch_args = LaunchArgs()
    total = 1
    for size in sizes:
        total *= size
    launch_args.add(total)

    def walk_of(view: View, own: list[int]) -> str:
        if not any(own):
            return ZERO
        return UNIT if flat else STRIDED

    inputs: list[Operand] = []
    outputs: list[Operand] = []
    strides: list[list[int] | None] = []
    for name, x, number in zip(
        operation.formula.inputs, operation.operands, operation.numbers, strict=True
    ):
        if isinstance(x, View):
            own = next(remaining)
            inputs.append(Operand(name, dtype_of(x.dtype).name, walk_of(x, own)))
            strides.append(own)
        else:
            assert number is not None
            inputs.append(Operand(name, number, NUMBER))
            strides.append(None)
    for name, x in zip(output_names(len(operation.outputs)), operation.outputs, strict=True):
        own = next(remaining)
        outputs.append(Operand(name, dtype_of(x.dtype).name, UNIT if flat else STRIDED))
        strides.append(own)
    operands: list[Any] = [*operation.operands, *operation.outputs]
    if any([o.walk == STRIDED for o in (*inputs, *outputs)]):
        launch_args.add(*sizes)
    for o, x, steps_of in zip((*inputs, *outputs), operands, strides, strict=True):
        if isinstance(x, View):
            launch_args.add_view(x)
            if o.walk == STRIDED:
                assert steps_of is not None
                launch_args.add(*steps_of)
        else:
            launch_args.add_number(x, o.dtype)
    where = driver()
    source = _source(
        operation.name, operation.formula, tuple(inputs), tuple(outputs), operation.compute,
        len(sizes), total < SMALL, where.threads,
    )  # fmt: skip
    width = texts.width_of(outputs) if flat else 1
    return [launch_args.launch(source, blocks_for(total, where.threads * width))]


@functools.lru_cache(maxsize=8192)
def _source(
    name: str,
    formula: Formula,
    inputs: tuple[Operand, ...],
    outputs: tuple[Operand, ...],
    compute: str,
    dimensions: int,
    small: bool,
    threads: int,
) -> Any:
    return texts.source(
        name, list(inputs), list(outputs), kinds_of(formula, compute), printed(formula, compute),
        dimensions, small, threads,
    )  # fmt: skip
