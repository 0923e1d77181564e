"""Definitions over rows: softmax, its gradient and their like, in the stages the CPU's have.

Operands are contiguous and seen as (outer, size, inner). Where inner is 1 a block makes a row: its
threads combine by warps, in an order that follows from sizes alone. Otherwise a thread
makes a column, so that neighbours are read side by side. Called by ``cuda/rowwise.py``.
"""

from __future__ import annotations

from ...kernels.reduction.source import identity
from ...kernels.rowwise.rows import Stage
from ..driver.source import Source
from .text import indented, numba_name
from .warps import joined


def _parameters(inputs: list[str]) -> list[str]:
    return [*[f"at_{name}" for name in (*inputs, "out")], "outer_size", "size", "inner"]


def stages_source(
    name: str, dtype: str, inputs: list[str], stages: list[Stage], by_columns: bool, threads: int,
    lanes: int,
) -> Source:  # fmt: skip
    """The kernel of a definition over rows, cut into stages; the output has the inputs' shape.

    What stages keep for later ones, of one place at most, lies in the output until that is known.
    """
    kind = numba_name(dtype)
    lines: list[str] = []
    once: list[str] = []
    if by_columns:
        lines += ["outer = unit // inner", "begin = outer * size * inner + unit - outer * inner"]
        head = ["for unit in range(cuda.grid(1), outer_size * inner, cuda.gridsize(1)):"]
        loop = ["for k in range(size):", "    i = begin + k * inner"]
    else:
        once = [
            f"parts = cuda.shared.array({threads // lanes}, {kind})",
            "thread = cuda.threadIdx.x",
        ]
        lines += ["begin = unit * size"]
        head = ["for unit in range(cuda.blockIdx.x, outer_size, cuda.gridDim.x):"]
        loop = [f"for k in range(thread, size, {threads}):", "    i = begin + k"]
    for stage in stages:
        before = [f"{x} = load(at_{x}, i, {kind})" for x in stage.reads]
        before += [f"{x} = load(at_out, i, {kind})" for x in stage.found]
        values = [value for _, value in (*stage.kept, *stage.stores)]
        behind = [f"store(at_out, i, {kind}({value}), {kind})" for value in values]
        combined = [f"{x} = {how}({x}, {value})" for x, how, value in stage.combined]
        lines += [f"{x} = {identity(how, dtype)}" for x, how, _ in stage.combined]
        lines += [*loop, *indented(1, [*before, *stage.lines, *combined, *behind])]
        if not by_columns:
            for x, how, _ in stage.combined:
                lines += joined(x, how, threads, lanes)
        lines += [line for line in stage.after if isinstance(line, str)]
    walk = "columns" if by_columns else "rows"
    text = [f"# {name} of {dtype}, by {walk}", f"def kernel({', '.join(_parameters(inputs))}):"]
    text += indented(1, [*once, *head, *indented(1, lines)])
    return Source(name, "\n".join([*text, ""]), threads)
