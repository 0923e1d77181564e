"""Sums of rows, and of all elements.

Printed by the library; written by tools/write_kernels.py.
"""

import math
import numpy as np
from numbagrad.kernels.reduction.combine import add as combine
from numbagrad.codegen.intrinsics import *
from numbagrad.kernels.reduction.source import *

from numbagrad.codegen.kernel import kernel
from numbagrad.kernels.packing import Rows


@kernel(code="rows", takes=Rows("float32"))
def sum_rows(args, lo, hi):
    """The sum of each row of an array, or of all elements as one row.

    Printed by numbagrad/kernels/reduction/source.py: sums of blocks, joined by a pairwise tree.
    Its gradient is the incoming one, repeated: there is no kernel for it.

    Printed for float32 -> float32, consecutive, combined in float32.

    Args:
        args: address of int64 words (numbagrad/kernels/reduction/layout.py): numbers of kept
            and reduced dimensions, addresses of the input and of the results, how many elements
            there are, in how many segments; then sizes, and strides of the input and of the
            results.
        lo, hi: the range of results to compute.
    """
    kept = load(args, KEPT, int64)
    reduced = load(args, REDUCED, int64)
    partials = load(args, PARTIALS, int64)
    outputs = load(args, OUTPUTS, int64)
    elements = load(args, ELEMENTS, int64)
    segments = load(args, SEGMENTS, int64)
    length = load(args, LENGTH, int64)
    output = load(args, OUTPUT, int64)
    inside = kept + reduced - 1
    run_size = load(args, SIZES + inside, int64)
    run_step = load(args, INPUT_STEPS + inside, int64)
    if kept == 1 and reduced == 1 and segments == 1 and elements <= BLOCK and partials == 0:
        source = load(args, INPUT, int64)
        step = load(args, INPUT_STEPS, int64)
        apart = load(args, OUTPUT_STEPS, int64)
        for unit in range(lo, hi):
            at = source + unit * step
            target = unit * apart
            total = float32(0)
            for i in range(elements):
                x = float32(load(at, i, float32))
                total = combine(total, float32(x))
            store(output, target, float32(total), float32)
        return
    tree = address_of_stack(LEVELS)
    for unit in range(lo, hi):
        group = unit
        segment = 0
        if segments > 1:
            group = unit // segments
            segment = unit - group * segments
        first = segment * length
        last = min(first + length, elements)
        source = load(args, INPUT, int64)
        target = 0
        for d in range(kept - 1, 0, -1):
            extent = load(args, SIZES + d, int64)
            rest = group // extent
            position = group - rest * extent
            group = rest
            source += position * load(args, INPUT_STEPS + d, int64)
            target += position * load(args, OUTPUT_STEPS + d, int64)
        if kept > 0:
            source += group * load(args, INPUT_STEPS, int64)
            target += group * load(args, OUTPUT_STEPS, int64)
        total = float32(0)
        gathered = 0
        blocks = 0
        while first < last:
            at = source
            column = first
            if reduced > 1:
                rest = first // run_size
                column = first - rest * run_size
                for d in range(inside - 1, kept - 1, -1):
                    extent = load(args, SIZES + d, int64)
                    outer = rest // extent
                    at += (rest - outer * extent) * load(args, INPUT_STEPS + d, int64)
                    rest = outer
            at += column * run_step
            run = min(run_size - column, last - first, BLOCK)
            part = float32(0)
            for i in range(run):
                x = float32(load(at, i, float32))
                part = combine(part, float32(x))
            total = combine(total, part)
            first += run
            gathered += run
            if gathered >= BLOCK and first < last:
                level = 0
                while (blocks >> level) & 1:
                    total = combine(load(tree, level, float32), total)
                    level += 1
                store(tree, level, total, float32)
                blocks += 1
                total = float32(0)
                gathered = 0
        level = 0
        while (blocks >> level) > 0:
            if (blocks >> level) & 1:
                total = combine(load(tree, level, float32), total)
            level += 1
        if partials != 0:
            store(partials, segment * outputs + target, total, float32)
        else:
            store(output, target, float32(total), float32)
