"""Launches of reductions, and of selections with indices."""

from __future__ import annotations

import functools
import math
from typing import Any

from ..codegen.template import renamed
from ..dtype import from_numpy as dtype_of
from ..executor.plan.operations import Reduce
from ..executor.plan.reduction_launches import Space
from ..executor.plan.views import Memory, View
from ..formula import print_numba
from .driver import driver
from .driver.source import Source
from .kernels import reduction as texts
from .kernels.reduction import COLUMNS, ROWS, Formulas, Signature
from .launches import Launch, LaunchArgs, blocks_for
from .pointwise import SMALL


def lower_reduction(operation: Reduce) -> list[Launch]:
    """One launch, or where few results have many elements one over segments and one that joins."""
    where = driver()
    source = operation.source
    space = Space.of(source, operation.mask)
    elements = math.prod([run.size for run in space.reduced])
    # Threads side by side should read neighbours, wherever there are enough of these.
    side_by_side = bool(space.kept) and abs(space.innermost.step) == source.dtype.itemsize
    walk = COLUMNS if side_by_side or elements < where.threads else ROWS
    segments, length = 1, elements
    if operation.indices is None:
        segments, length = _segments(space.outputs, elements, walk)
    partial = segments > 1
    first = _launch(operation, space, walk, segments, length, elements, partial)
    if not partial:
        return [first]
    program = operation.program
    state_size = program.state_size(dtype_of(source.dtype))
    partials = Memory.scratch(segments * space.outputs * state_size)
    first.addresses = [(w, partials, 0) if w == 1 else (w, m, o) for w, m, o in first.addresses]
    joining = space.joining(segments, state_size)
    second = _launch(operation, joining, COLUMNS, 1, segments, segments, False, partials)
    return [first, second]


def _segments(outputs: int, elements: int, walk: str) -> tuple[int, int]:
    """How many segments a result is reduced in, and their length: enough for all processors."""
    where = driver()
    of_unit = where.segment if walk == COLUMNS else where.segment * where.threads
    units = -(-outputs // where.threads) if walk == COLUMNS else outputs
    wanted = min(-(-elements // of_unit), max(where.blocks // max(units, 1), 1))
    if elements == 0 or wanted <= 1:
        return 1, elements
    length = -(-elements // wanted)
    return -(-elements // length), length


def _launch(
    operation: Reduce,
    space: Space,
    walk: str,
    segments: int,
    length: int,
    elements: int,
    partial: bool,
    partials: Memory | None = None,
) -> Launch:
    where = driver()
    view = operation.source
    launch_args = LaunchArgs()
    if partials is None:
        launch_args.add_view(view)
    else:
        launch_args.addresses.append((0, partials, 0))
        launch_args.add(0)
    launch_args.add_view(operation.output)
    launch_args.add_view(operation.indices if operation.indices is not None else operation.shift)
    if operation.parameter is None:
        launch_args.add(0)
    else:
        launch_args.add_number(operation.parameter, "float64")
    launch_args.add(space.number, space.outputs, segments, length, elements)
    for run in space.kept:
        launch_args.add(run.size, run.step, run.output_step)
    for run in space.reduced:
        launch_args.add(run.size, run.step)
    small = max(space.outputs * segments, elements) < SMALL
    threads = where.threads
    source = _source(
        operation.program, dtype_of(view.dtype), walk, len(space.kept), len(space.reduced),
        partial, partials is not None, operation.indices is not None, small, threads,
        where.lanes,
    )  # fmt: skip
    units = space.outputs * segments
    return launch_args.launch(source, blocks_for(units, threads if walk == COLUMNS else 1))


@functools.lru_cache(maxsize=4096)
def _source(
    program: Any,
    stored: Any,
    walk: str,
    kept: int,
    reduced: int,
    partial: bool,
    joins: bool,
    selects: bool,
    small: bool,
    threads: int,
    lanes: int,
) -> Source:
    definition = program.definition
    if selects:
        combine = "maximum" if definition.name == "max" else "minimum"
        kinds = (stored.name,) * 4
        signature = Signature(
            definition.name, *kinds, combine, walk, kept, reduced, False, small, threads, lanes
        )
        return texts.selection_source(signature)
    computed, state, result = definition.dtypes_of(stored, program.requested)
    formula, finalise = program.formulas
    uses: frozenset[str] = frozenset()
    lines: list[str] = []
    mapped, kind = "x", stored.name
    if joins:
        kind = computed = state
    elif formula is not None:
        lines, (mapped, *_) = print_numba(formula, computed)
        uses |= formula.uses
    final_lines: list[str] = []
    finalised = "total"
    if finalise is not None:
        final, results = print_numba(finalise, state)
        final_lines, finalised = renamed(final, results[0], "last")
        uses |= finalise.uses
    signature = Signature(
        definition.name, kind, computed, state, result, definition.combine, walk, kept, reduced,
        partial, small, threads, lanes,
    )  # fmt: skip
    return texts.source(
        signature, Formulas(tuple(lines), mapped, tuple(final_lines), finalised, uses)
    )


__all__ = ["ROWS", "View", "lower_reduction"]
