"""The launches of reductions and of kernels along one dimension, for sizes known beforehand.

Called by ``lowering.py``. Where the work is cut is decided by ``kernels/reduction/layout.py`` and
``kernels/rowwise/scan.py``, as in the launchers of eager calls, so a program gives the bits of
these.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from ...dtype import from_numpy as dtype_of
from ...kernels.reduction import layout
from ...kernels.rowwise import scan as rowwise
from .launch import Launch
from .operations import Reduce, Rowwise
from .spaces import around, merged
from .views import Memory, View


class Run(NamedTuple):
    """Neighbouring dimensions that are walked as one: strides in bytes, and in results."""

    size: int
    step: int
    output_step: int


@dataclasses.dataclass(frozen=True)
class Space:
    """The loops of a reduction: runs outside in, and how many elements they have."""

    kept: list[Run]
    reduced: list[Run]
    outputs: int
    number: int

    @classmethod
    def of(cls, source: View, mask: int) -> Space:
        """The dimensions of an array, sorted by stride; bit d of ``mask`` says d is reduced."""
        dims = range(len(source.shape))
        reduced_dims = [d for d in dims if (mask >> d) & 1]
        kept_dims = [d for d in dims if not (mask >> d) & 1]
        output_steps = [0] * len(source.shape)
        outputs = 1
        for d in reversed(kept_dims):
            output_steps[d] = outputs
            outputs *= source.shape[d]
        number = math.prod([source.shape[d] for d in reduced_dims])
        kept = _runs(source, kept_dims, output_steps)
        reduced = _runs(source, reduced_dims, output_steps)
        if not reduced:
            reduced = [Run(1, 0 if kept else source.dtype.itemsize, 0)]
        return cls(kept, reduced, outputs, number)

    @property
    def innermost(self) -> Run:
        """The innermost kept run, or one of zeros."""
        return self.kept[-1] if self.kept else Run(0, 0, 0)

    def joining(self, segments: int, state_size: int) -> Space:
        """The loops of the kernel that joins the results of segments, as they lie."""
        kept = [x._replace(step=x.output_step * state_size) for x in self.kept]
        reduced = [Run(segments, self.outputs * state_size, 0)]
        return Space(kept, reduced, self.outputs, self.number)

    def launch_args(self, segments: int, length: int) -> np.ndarray[Any, Any]:
        """The packed arguments, but for addresses: so many segments of so many elements each."""
        launch_args = np.zeros(layout.WORDS, dtype=np.int64)
        for position, run in enumerate((*self.kept, *self.reduced)):
            launch_args[layout.SIZES + position] = run.size
            launch_args[layout.INPUT_STEPS + position] = run.step
            launch_args[layout.OUTPUT_STEPS + position] = run.output_step
        launch_args[[layout.KEPT, layout.REDUCED]] = len(self.kept), len(self.reduced)
        launch_args[[layout.OUTPUTS, layout.NUMBER]] = self.outputs, self.number
        launch_args[layout.ELEMENTS] = math.prod([run.size for run in self.reduced])
        launch_args[[layout.SEGMENTS, layout.LENGTH]] = segments, length
        return launch_args


def _runs(source: View, dims: list[int], output_steps: list[int]) -> list[Run]:
    """The runs of some dimensions, sorted by stride."""
    shape = tuple([source.shape[d] for d in dims])
    given = [tuple([steps[d] for d in dims]) for steps in (output_steps, source.strides)]
    sizes, (of_results, of_source) = merged(shape, given)
    return [Run(*run) for run in zip(sizes, of_source, of_results, strict=True)]


def lower_reduction(operation: Reduce) -> list[Launch]:
    """One launch, or where few results have much work one over segments and one that joins them."""
    source = operation.source
    state_size = operation.program.state_size(dtype_of(source.dtype))
    space = Space.of(source, operation.mask)
    innermost, outputs = space.innermost, space.outputs
    variant = layout.variant_of(innermost.step, space.reduced[-1].step, source.dtype.itemsize)
    groups, together = layout.groups_of(variant, outputs, innermost.size, state_size)
    segments, length = layout.segments_of(space.number, outputs, groups, together)
    if operation.indices is not None:  # what is selected is not joined from parts
        segments, length = 1, space.number
    units, elements = groups * segments, together * length
    first = _launch(operation, variant << layout.VARIANT_SHIFT, space.launch_args(segments, length))
    first.addresses.append((layout.INPUT, source.memory, source.offset))
    first.total, first.work = units, outputs * space.number
    first.grain = units if layout.is_small(units, elements) else layout.grain_of(elements)
    if segments == 1:
        return [first]

    partials = Memory.scratch(segments * outputs * state_size)
    first.addresses.append((layout.PARTIALS, partials, 0))
    variant = layout.join_variant_of(innermost.output_step)
    walk = (variant << layout.VARIANT_SHIFT) | (1 << layout.JOIN_SHIFT)
    second = _launch(operation, walk, space.joining(segments, state_size).launch_args(1, segments))
    second.addresses.append((layout.INPUT, partials, 0))
    second.total = second.grain = layout.groups_of(variant, outputs, innermost.size, state_size)[0]
    return [first, second]


def _launch(operation: Reduce, walk: int, launch_args: np.ndarray[Any, Any]) -> Launch:
    """The launch of the kernel that walks so, without its work and what it reads."""
    program, stored = operation.program, dtype_of(operation.source.dtype)
    kernel = program.kernel(stored.type_num | walk, stored)
    launch = Launch(operation.name, kernel, launch_args, 0, 0, [])
    launch.addresses.append((layout.OUTPUT, operation.output.memory, operation.output.offset))
    if operation.indices is not None:
        launch.addresses.append(
            (layout.INDICES, operation.indices.memory, operation.indices.offset)
        )
    if operation.shift is not None:
        launch.addresses.append((layout.SHIFT, operation.shift.memory, operation.shift.offset))
    if operation.parameter is not None:
        launch.numbers.append((layout.PARAMETERS_AT, operation.parameter, "float64"))
    return launch


def lower_rowwise(operation: Rowwise) -> list[Launch]:
    """The launch of a kernel along one dimension of contiguous operands."""
    first = operation.inputs[0]
    outer, size, inner = around(first.shape, operation.dim)
    variant, tile, units, grain = rowwise.cut(outer, size, inner)
    launch_args = np.zeros(rowwise.WORDS, dtype=np.int64)
    launch_args[[rowwise.SIZE, rowwise.INNER_SIZE, rowwise.TILE]] = size, inner, tile
    addresses = [
        (rowwise.OPERANDS + k, x.memory, x.offset)
        for k, x in enumerate((*operation.inputs, *operation.outputs))
    ]
    kernel = operation.program.kernel(dtype_of(first.dtype), variant)
    total = outer * size * inner
    units = units if total else 0
    return [Launch(operation.name, kernel, launch_args, units, grain, addresses, work=total)]
