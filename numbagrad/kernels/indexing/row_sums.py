"""The micro-kernel of ``bags.sum_bags``: the sum of some rows of a table, in vector registers.

LLVM keeps no array of sums in registers over a loop whose rows lie anywhere, so this is written for
the vectors of the CPU, as the micro-kernels of matrix products are. Imported only to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from ...codegen.addresses import load_element, store_element
from ...codegen.vector_emitter import Emitter, TileShape, Values, as_primitive, emitted_function

#: Bytes of a row that pass over all rows together: sums in four to eight registers.
_TOGETHER = 256


def sum_rows(shape: TileShape) -> Any:
    """``(width, count, output, table, index, padding)``: ``output = sum(table[index[:count]])``.

    Rows have ``width`` elements and are added in their order; those whose index is ``padding`` are
    left out.
    """

    def body(width, count, output, table, index, padding):
        for i in range(width):
            total = np.dtype(shape.dtype).type(0)
            for k in range(count):
                row = load_element(index, k, "int64")
                if row != padding:
                    total = total + load_element(table, row * width + i, shape.dtype)
            store_element(output, i, total, shape.dtype)

    return as_primitive("sum_rows", "iipppi", lambda module: _sum_rows(module, shape), body)


def _sum_rows(module: ir.Module, shape: TileShape) -> Any:
    most = _TOGETHER // (shape.bytes * shape.lanes)

    def write(emit, width, count, output, table, index, padding):
        builder = emit.builder
        pads = builder.icmp_signed(">=", padding, emit.word(0))

        def columns(first: Any, masks: Values) -> None:
            def sums(skips: bool) -> Values:
                def add(number: Any, at: Values) -> Values:
                    return _add_row(emit, at, emit.at(table, first), width, masks, padding, skips)

                return emit.loop(count, 1, [index, *[emit.zero()] * len(masks)], add)[1:]

            with builder.if_else(pads) as (some, none):
                with some:
                    branches = [(sums(True), builder.block)]
                with none:
                    branches.append((sums(False), builder.block))
            totals, target = emit.joined(branches), emit.at(output, first)
            for j, (value, mask) in enumerate(zip(totals, masks, strict=True)):
                emit.store(value, emit.at(target, j * shape.lanes), mask)

        def whole(first: Any, none: Values) -> Values:
            columns(first, [None] * most)
            return []

        covered = emit.whole(width, most * shape.lanes)
        emit.loop(covered, most * shape.lanes, [], whole)
        left, vectors = builder.sub(width, covered), most
        while vectors:  # the least number of vectors that has what is left
            fewer = vectors // 2
            fits = builder.and_(
                builder.icmp_signed(">", left, emit.word(fewer * shape.lanes)),
                builder.icmp_signed("<=", left, emit.word(vectors * shape.lanes)),
            )
            with builder.if_then(fits):
                columns(covered, [emit.mask(left, j * shape.lanes) for j in range(vectors)])
            vectors = fewer

    return emitted_function(module, "sum_rows", shape, "iipppi", write)


def _add_row(
    emit: Emitter, at: Values, table: Any, width: Any, masks: Values, padding: Any, skips: bool
) -> Values:
    """The sums, ``at[1:]``, with the row added whose index is at ``at[0]``."""
    builder, (position, *sums) = emit.builder, at
    row = builder.load(position, align=8, typ=ir.IntType(64))
    start = emit.at(table, builder.mul(row, width))
    there = builder.icmp_signed("!=", row, padding)
    made = []
    for j, (total, mask) in enumerate(zip(sums, masks, strict=True)):
        value = emit.load(emit.at(start, j * emit.shape.lanes), mask)
        if skips:
            value = builder.select(there, value, emit.zero())
        made.append(builder.fadd(total, value))
    following = builder.gep(position, [emit.word(1)], source_etype=ir.IntType(64))
    return [following, *made]
