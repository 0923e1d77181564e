"""Launches along one dimension: definitions over rows, scans and running extrema."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..dtype import from_numpy as dtype_of
from ..executor.families.rowwise import RowDefinition, RunningExtremum, Scan
from ..executor.plan.operations import Rowwise
from ..executor.plan.spaces import around
from ..executor.plan.stages import Cut, Work
from ..formula import Expression, print_numba, symbol
from ..kernels import layout
from ..kernels.pointwise.source import Operand
from .driver import driver
from .driver.source import Source
from .kernels import rowwise as rows
from .kernels import scan as scans
from .launches import Launch, LaunchArgs, blocks_for


def lower_rowwise(operation: Rowwise) -> list[Launch]:
    """The launch of a kernel along one dimension of contiguous operands."""
    first = operation.inputs[0]
    outer, size, inner = around(first.shape, operation.dim)
    if outer * size * inner == 0:
        return []
    launch_args = LaunchArgs()
    for view in (*operation.inputs, *operation.outputs):
        launch_args.add_view(view)
    launch_args.add(outer, size, inner)
    where = driver()
    program = operation.program
    # Short rows of which there are many are better off with a thread each.
    by_columns = inner > 1 or (size < 32 and outer >= where.threads) or _is_scan(program)
    source = _source(program, dtype_of(first.dtype), by_columns, where.threads, where.lanes)
    units = outer * inner if by_columns else outer
    return [launch_args.launch(source, blocks_for(units, where.threads if by_columns else 1))]


def _is_scan(program: Any) -> bool:
    return isinstance(program, Scan | RunningExtremum)


@functools.lru_cache(maxsize=512)
def _source(program: Any, stored: Any, by_columns: bool, threads: int, lanes: int) -> Source:
    if isinstance(program, RunningExtremum):
        return scans.running_extremum_source(program.name, stored.name, threads)
    if isinstance(program, Scan):
        state = program._state(stored)
        start = "-math.inf" if program._start == -np.inf else repr(program._start)
        lines, results = print_numba(program._step, state)
        kinds = stored.name, state, program.results(stored)[0].name
        inputs = list(program._step.inputs[1:])
        return scans.scan_source(
            program.name, kinds, inputs, start, (lines, results[0]), program._reverse, threads
        )
    if isinstance(program, RowDefinition):
        return _of_definition(program, stored, by_columns, threads, lanes)
    raise NotImplementedError(
        f"Could not run '{program.name}' on the device 'cuda': its backend does not implement it; "
        "move the tensors with .cpu() first"
    )


def _of_definition(program: Any, stored: Any, by_columns: bool, threads: int, lanes: int) -> Source:
    """The kernel of a definition, cut into stages as ``executor/families/rowwise.py`` cuts it."""
    reductions: list[tuple[str, str, Expression]] = []

    def combined(kind: str, value: Expression) -> Expression:
        reductions.append((f"r{len(reductions)}", kind, value))
        return symbol(reductions[-1][0])

    traced = program.rows
    inputs = [f"x{k}" for k in range(len(traced.inputs))]
    made = traced.of(dict(zip(traced.inputs, map(symbol, inputs), strict=True)), combined)
    stores = [(Operand("out", stored.name, layout.UNIT), made)]
    work = Work(stored.name, inputs, frozenset(inputs), reductions, stores, on_cpu=False)
    cut = Cut(work)
    if cut.positions > 1:  # there is room for one value an element, where the output will be
        cut = Cut(work, keep=math.inf)
    return rows.stages_source(
        program.name, stored.name, inputs, cut.stages, by_columns, threads, lanes
    )
