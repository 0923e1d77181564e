"""The launch of a row loop: what is computed of every row, the kernel of that, and its arguments.

Called by ``executor/plan/lowering.py``. ``executor/plan/stages.py`` cuts the expressions into loops
over the columns, of which ``kernels/rowwise/rows.py`` makes the text of the kernel.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..dtype import from_numpy as dtype_of
from ..executor.cache import library
from ..executor.memory.buffers import stream_bytes
from ..executor.plan.launch import Launch
from ..executor.plan.lowering import lowers
from ..executor.plan.operations import Input, RowLoop
from ..executor.plan.stages import Cut, Work
from ..executor.plan.views import Memory, View, numbered_apart
from ..kernels import layout
from ..kernels.pointwise.source import BLOCK, is_short
from ..kernels.pointwise.source import Operand as KernelOperand
from ..kernels.rowwise import rows
from ..kernels.rowwise import scan as rowwise
from ..kernels.rowwise.interleaving import ROWS_TOGETHER
from .rows import CHUNK, row_step

#: Bytes of rows that pass through a loop together: they stay in the first cache.
_INTERLEAVED_BYTES = 1 << 14


@lowers(RowLoop)
def lower_rows(operation: RowLoop) -> list[Launch]:
    """The launch of a row loop."""
    count, columns = int(np.prod(operation.space[:-1])), operation.space[-1]
    inputs = [_operand(x.name, x.operand, x.number) for x in operation.inputs]
    outputs = [_operand(f"out{k}", view, None) for k, (view, _) in enumerate(operation.outputs)]
    totals = [
        KernelOperand(f"sum{k}", operation.compute, layout.UNIT)
        for k in range(len(operation.totals))
    ]
    operands = [x.operand for x in operation.inputs] + [view for view, _ in operation.outputs]
    operands += [total.partials for total in operation.totals]
    numbers = iter(numbered_apart([x if isinstance(x, View) else None for x in operands]))
    inputs, outputs, totals = (
        [dataclasses.replace(x, memory=next(numbers)) for x in each]
        for each in (inputs, outputs, totals)
    )
    cut = Cut(_work(operation, outputs, totals))
    streamed = frozenset(
        [x.name for x, (view, _) in zip(outputs, operation.outputs, strict=True) if _streams(view)]
    )
    repeated = frozenset() if cut.positions or streamed else _repeated(operation, inputs)
    together = _rows_together(count, columns, operation.chunk) if repeated else 1
    repeated = repeated if together > 1 else frozenset()
    interleaved = not (streamed or repeated) and _is_worth_interleaving(cut, operation)
    count, columns = -(-count // together), columns * together
    chunk = min(count, -(-operation.chunk // together))
    long = bool(repeated) or rowwise.cut(count, columns, 1)[0] == rowwise.LONG_ROWS
    text = rows.source(
        operation.name, [*inputs, *outputs, *totals], operation.compute,
        frozenset([x.name for x in inputs]), cut.before, cut.stages,
        frozenset([x.name for x in operation.inputs if x.kind is True]),
        {x.name: x.kind for x in operation.inputs if isinstance(x.kind, rows.ClassKind)},
        cut.positions, streamed, long, repeated, interleaved,
    )  # fmt: skip
    code = "formula" if long else "rows"
    kernel = library.generated(operation.name, operation.commented(text), code=code)
    chunks = -(-count // chunk)
    launch_args = np.zeros(rows.OPERANDS + rows.OPERAND_WORDS * len(operands), dtype=np.int64)
    launch_args[[rows.COLUMNS, rows.ROWS, rows.ELEMENTS]] = columns, count, operation.elements
    launch_args[rows.CHUNK] = chunk
    grain = 1 if operation.elements >= 2 * CHUNK else chunks
    launch = Launch(operation.name, kernel, launch_args, chunks, grain, [], work=operation.elements)
    if cut.positions or streamed:
        kept = ROWS_TOGETHER if interleaved else 1
        size = rows.scratch_bytes(columns, cut.positions, len(streamed), operation.compute, kept)
        launch_args[rows.SCRATCH_BYTES] = size
        launch.addresses.append((rows.SCRATCH, Memory.scratch(size * chunks), 0))
    for k, operand in enumerate(operands):
        word = rows.OPERANDS + rows.OPERAND_WORDS * k
        if isinstance(operand, View):
            launch.addresses.append((word, operand.memory, operand.offset))
            partial = k >= len(operation.inputs) + len(operation.outputs)
            step = operand.strides[0] if partial else row_step(operand)
            assert step is not None  # rows of a loop follow each other
            launch_args[word + 1] = step if partial else step * together
            launch_args[word + 2] = operand.strides[-1] if operand.strides else 0
            if k < len(inputs) and inputs[k].name in repeated:
                launch_args[word + 2] = columns // together * operand.dtype.itemsize
        else:
            dtype = operation.inputs[k].number
            assert dtype is not None  # what is no view is a number
            launch.numbers.append((word, operand, dtype))
    return [launch]


def _repeated(operation: RowLoop, inputs: list[KernelOperand]) -> frozenset[str]:
    """The inputs with the same short row for every one, if all else are rows of one run.

    None where anything is done once a row, so that several rows cannot be one.
    """
    columns = operation.space[-1]
    by_row = operation.reductions or any([total.by_columns for total in operation.totals])
    by_class = any([isinstance(x.kind, rows.ClassKind) for x in operation.inputs])
    if by_row or by_class or not is_short(columns, operation.compute):
        return frozenset()
    names = set()
    for k, view in enumerate([*[x.operand for x in operation.inputs], *_stored(operation)]):
        if not isinstance(view, View):
            continue
        step, item = row_step(view), view.dtype.itemsize
        if view.strides[-1] == item and step == columns * item:
            continue
        if k >= len(inputs) or step != 0:
            return frozenset()
        if view.strides[-1] == item and inputs[k].memory:
            names.add(inputs[k].name)  # nothing that is written lies where copies are taken from
        elif view.strides[-1] != 0:
            return frozenset()
    return frozenset(names)


def _stored(operation: RowLoop) -> list[View]:
    return [view for view, _ in operation.outputs]


def _is_worth_interleaving(cut: Cut, operation: RowLoop) -> bool:
    """Whether rows wait for what is combined of them, and several of them stay in the cache.

    Values of a row are read once for each stage then: nothing may be written where they lie.
    """
    waits = any([stage.combined and stage.after for stage in cut.stages])
    read = [(x, x.operand) for x in operation.inputs if isinstance(x.operand, View)]
    written = _stored(operation)
    apart = {view.memory for _, view in read}.isdisjoint([view.memory for view in written])
    views = [view for x, view in read if _differs(x)] + written
    item = np.dtype(operation.compute).itemsize
    size = sum([view.dtype.itemsize for view in views if view.strides[-1]]) + cut.positions * item
    small = size * operation.space[-1] * ROWS_TOGETHER <= _INTERLEAVED_BYTES
    return waits and apart and small


def _rows_together(count: int, columns: int, chunk: int) -> int:
    """How many rows are done as one run: chunks, which have partial results, stay what they are."""
    most = min(BLOCK // columns, count)
    if count <= chunk:
        return most
    return max([together for together in range(1, most + 1) if chunk % together == 0])


def _streams(view: View) -> bool:
    """Whether an output is written past the caches: rows of memory too large to stay in them."""
    item = view.dtype.itemsize
    large = view.size * item >= stream_bytes()
    return large and view.strides[-1] == item and view.shape[-1] * item >= layout.STREAM_ROW_BYTES


def _operand(name: str, operand: Any, number: str | None) -> KernelOperand:
    if not isinstance(operand, View):
        assert number is not None
        return KernelOperand(name, number, layout.ZERO)
    step, item = operand.strides[-1], operand.dtype.itemsize
    kind = layout.UNIT if step == item else layout.ZERO if step == 0 else layout.STRIDED
    return KernelOperand(name, dtype_of(operand.dtype).name, kind)


def _differs(x: Input) -> bool:
    """Whether an input differs from element to element."""
    if isinstance(x.kind, rows.ClassKind):
        return x.kind.what == "here"
    return isinstance(x.operand, View) and x.operand.strides[-1] != 0


def _work(operation: RowLoop, outputs: list[KernelOperand], totals: list[KernelOperand]) -> Work:
    """The operation of a row loop, with the operands of its kernel."""
    stored = list(zip(outputs, operation.outputs, strict=True))
    summed = list(zip(totals, operation.totals, strict=True))
    return Work(
        compute=operation.compute,
        variables=[x.name for x in operation.inputs],
        elements=frozenset([x.name for x in operation.inputs if _differs(x)]),
        reductions=operation.reductions,
        stores=[(operand, x) for operand, (view, x) in stored if view.strides[-1] != 0],
        row_stores=[(operand, x) for operand, (view, x) in stored if view.strides[-1] == 0],
        totals=[(operand, t.combine, t.value) for operand, t in summed if not t.by_columns],
        column_totals=[(operand, t.combine, t.value) for operand, t in summed if t.by_columns],
    )


__all__ = ["lower_rows"]
