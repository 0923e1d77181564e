"""Plans of convolutions: blocks, planes and distances, for the kernels of ``kernels/convolution``.

Called by ``executor/families/convolution.py``. A plan follows from shapes and options alone, so
results do not depend on threads. Its words are described in ``kernels/convolution/layout.py``.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...kernels.convolution import layout as w

Sizes = tuple[int, ...]

#: Elements of the source that a unit of work copies, where it can be so few: half of a cache.
_COPIED = 96 * 1024

#: Elements of windows that are summed up at a time: twelve rows of them fit a first-level cache.
_DEPTH = 768

#: Divisors of lengths: the lanes of the widest vectors, and of all others.
_LANES = 16

#: Multiplications that are worth a thread, and units of work that many threads can share.
_SHARE, _UNITS = 500_000, 16

#: Units that rows are cut for in a gradient of weights: each copies the images again.
_ROW_UNITS = 8

#: Positions of a dot product, at least: its sums of vectors are joined once.
_DOT = 896

#: Positions along a line that are kept together as long as there is room.
_LINE = 64

#: The cost of a copied line, beside its vectors.
_LINE_COST = 4

#: Shares of the work that is left with a plane for each place along a line, from which on that is
#: worth the copies: of ``convolve``, and of ``correlate``, which has two operands to read.
_PRODUCT_SHARE, _WEIGHTS_SHARE = 0.98, 0.92

#: Positions of an image, at most, where those of a batch may lie beside each other.
_SMALL = 256

#: Elements of all partial sums of a gradient of weights.
_PARTIAL_SUMS = 1 << 20


class Form(NamedTuple):
    """A convolution, or a transposed one, as its kernels see it.

    ``source`` and ``result`` are spatial sizes, in which the options have an entry for each
    dimension; ``channels`` and ``rows`` are those of a group, of the source and of the result.
    """

    batch: int
    groups: int
    channels: int
    rows: int
    source: Sizes
    result: Sizes
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    transposed: bool

    def of_volumes(self) -> Form:
        """The same with three spatial dimensions."""
        missing = 3 - len(self.source)
        ones, zeros = (1,) * missing, (0,) * missing
        return self._replace(
            source=ones + self.source, result=ones + self.result, kernel=ones + self.kernel,
            stride=ones + self.stride, padding=zeros + self.padding,
            dilation=ones + self.dilation,
        )  # fmt: skip

    def of_batches(self) -> Form:
        """The same as a single volume, whose third dimension is that of the images."""
        missing = 2 - len(self.source)
        ones, zeros = (1,) * missing, (0,) * missing
        return self._replace(
            batch=1,
            source=(*ones, *self.source, self.batch), result=(*ones, *self.result, self.batch),
            kernel=(*ones, *self.kernel, 1), stride=(*ones, *self.stride, 1),
            padding=(*zeros, *self.padding, 0), dilation=(*ones, *self.dilation, 1),
        )  # fmt: skip


class Plan(NamedTuple):
    """The words of a plan, and how its kernel is launched.

    Attributes:
        words: an array of int64, read-only.
        units, grain: units of work, and how many are worth a thread.
        parts: of a gradient of weights, how many sums there are of each element.
    """

    words: np.ndarray[Any, Any]
    units: int
    grain: int
    parts: int = 1


class _Dimension(NamedTuple):
    """The positions of windows along a dimension.

    ``starts`` are the source elements where planes begin; of each phase of the result ``phases``
    has the first result element, and the taps: number in the kernel, plane, distance.
    """

    positions: int
    reach: int
    starts: Sizes
    phases: tuple[tuple[int, tuple[tuple[int, int, int], ...]], ...]


def _dimension(
    result: int, kernel: int, stride: int, padding: int, dilation: int, transposed: bool
) -> _Dimension:
    steps = [divmod(k * dilation, stride) for k in range(kernel)]
    reach = steps[-1][0]
    if not transposed:
        offsets = sorted({offset for _, offset in steps})
        taps = [(k, offsets.index(offset), j) for k, (j, offset) in enumerate(steps)]
        starts = tuple([offset - padding for offset in offsets])
        return _Dimension(result, reach, starts, ((0, tuple(taps)),))
    # Each phase begins with the first position that it has inside of the result.
    begins = [max(0, -(-(padding - phase) // stride)) for phase in range(stride)]
    firsts = [begin * stride + phase - padding for phase, begin in enumerate(begins)]
    positions = max([-(-(result - first) // stride) for first in firsts])
    shifts = [begin - min(begins) for begin in begins]
    phases = []
    for phase in range(stride):
        at = reach + shifts[phase]
        taps = [(k, 0, at - j) for k, (j, offset) in enumerate(steps) if offset == phase]
        phases.append((firsts[phase], tuple(taps)))
    return _Dimension(positions, reach + max(shifts), (min(begins) - reach,), tuple(phases))


def _apart(dimension: _Dimension, step: int) -> _Dimension:
    """The same with a plane for each place of a window along this dimension, ``step`` apart.

    So no plane reaches beyond the positions, and there is no gap between their lines.
    """
    found = sorted({
        dimension.starts[plane] + distance * step
        for _, taps in dimension.phases
        for _, plane, distance in taps
    })  # fmt: skip
    phases = tuple([
        (first, tuple([
            (number, found.index(dimension.starts[plane] + distance * step), 0)
            for number, plane, distance in taps
        ]))
        for first, taps in dimension.phases
    ])  # fmt: skip
    return _Dimension(dimension.positions, 0, tuple(found), phases)


class _Blocks:
    """Positions of each dimension in a block, made smaller until the copy of a block fits.

    Of a form whose third dimension is that of images (``batched``), elements of a line lie far
    apart, and are copied one by one.
    """

    def __init__(self, form: Form, dimensions: Sequence[_Dimension], batched: bool):
        self.form = form
        self.dimensions = dimensions
        self.batched = batched
        self.planes = math.prod([len(each.starts) for each in dimensions])
        self.sizes = [each.positions for each in dimensions]

    @property
    def plane(self) -> list[int]:
        return [b + each.reach for b, each in zip(self.sizes, self.dimensions, strict=True)]

    @property
    def channel_step(self) -> int:
        step = _whole(self.planes * math.prod(self.plane) + _LANES, _LANES)
        return step + _LANES if step % 1024 == 0 else step

    @property
    def length(self) -> int:
        _, height, width = self.plane
        z, y, x = self.sizes
        return _whole(((z - 1) * height + y - 1) * width + x, _LANES)

    @property
    def vectors(self) -> int:
        """Vectors that all blocks read, write or multiply, by a coarse count."""
        count = self.form.batch * math.prod(
            [-(-d.positions // b) for d, b in zip(self.dimensions, self.sizes, strict=True)]
        )
        depth, height, width = self.plane
        lines = self.planes * depth * height
        line = width if self.batched else 2 * -(-width // _LANES)
        copied = lines * (_LINE_COST + line) + self.channel_step // _LANES
        factors = self.form.rows * math.prod(self.form.kernel)
        return count * self.form.channels * (copied + factors * self.length // _LANES)

    def _fits(self, copied: int) -> bool:
        return self.form.channels * self.channel_step <= copied and self.length <= w.LONGEST

    def shrink(self) -> bool:
        """Find blocks that fit; False if not even the smallest one does."""
        for copied, line in ((_COPIED, _LINE), (w.SOURCE_ELEMENTS, _LANES)):
            pieces = [1, 1, 1]
            self.sizes = [each.positions for each in self.dimensions]
            while not self._fits(copied):
                least = (1, 1, _LANES if self.batched else line)
                order = (2, 0, 1) if self.batched else (0, 1, 2)
                dimension = next((d for d in order if self.sizes[d] > least[d]), None)
                if dimension is None:
                    break
                pieces[dimension] += 1 + pieces[dimension] // 4
                self.sizes[dimension] = -(
                    -self.dimensions[dimension].positions // pieces[dimension]
                )
            else:
                return True
        return False


def _whole(count: int, unit: int) -> int:
    """The least multiple of a unit that is not less."""
    return -(-count // unit) * unit


@functools.lru_cache(maxsize=512)
def product_plan(form: Form) -> Plan | None:
    """The plan of ``convolve``, or None for windows that scratch memory has no room for."""
    made = _common(form, _PRODUCT_SHARE)
    if made is None:
        return None
    words, blocks = made
    form = blocks.form
    units = form.batch * form.groups * math.prod(words[w.BLOCKS : w.BLOCKS + 3])
    row_block = form.rows
    if units < _UNITS:
        row_block = _whole(-(-form.rows * units // _UNITS), w.PANEL)
    row_blocks = -(-form.rows // row_block)
    words[w.ROW_BLOCK], words[w.ROW_BLOCKS] = row_block, row_blocks
    steps = min(row_block, form.rows) * blocks.length * form.channels * math.prod(form.kernel)
    return Plan(_frozen(words), units * row_blocks, max(1, _SHARE // max(steps, 1)))


@functools.lru_cache(maxsize=512)
def weights_plan(form: Form) -> Plan | None:
    """The plan of ``correlate`` for a convolution, or None as for ``product_plan``."""
    made = _common(form, _WEIGHTS_SHARE)
    if made is None:
        return None
    words, blocks = made
    form = blocks.form
    pieces = form.batch * math.prod(words[w.BLOCKS : w.BLOCKS + 3])
    row_block = min(form.rows, w.SUM_ELEMENTS // blocks.length)
    row_blocks = -(-form.rows // row_block)
    elements = form.groups * form.rows * form.channels * math.prod(form.kernel)
    parts = min(
        pieces,
        -(-_UNITS // (form.groups * row_blocks)),
        max(1, _PARTIAL_SUMS // elements),
        max(1, pieces * blocks.length // _DOT),
    )
    if parts * form.groups * row_blocks < _ROW_UNITS:
        shares = -(-_ROW_UNITS // (parts * form.groups))
        row_block = min(row_block, _whole(-(-form.rows // shares), 6))
        row_blocks = -(-form.rows // row_block)
    copied = max(form.channels * blocks.channel_step, 1)
    share = -(-pieces // parts)
    together = min(max(1, _COPIED // copied), w.SUM_ELEMENTS // (row_block * blocks.length))
    images = -(-share // -(-share // together))
    words[w.ROW_BLOCK], words[w.ROW_BLOCKS] = row_block, row_blocks
    words[w.IMAGES], words[w.PARTS] = images, parts
    units = parts * form.groups * row_blocks
    steps = row_block * blocks.length * form.channels * math.prod(form.kernel) * pieces // parts
    return Plan(_frozen(words), units, max(1, _SHARE // max(steps, 1)), parts)


def _common(form: Form, share: float) -> tuple[list[int], _Blocks] | None:
    """The words that both kinds of plans have, and the blocks."""
    blocks = None
    for candidate in _candidates(form):
        if candidate.shrink() and (blocks is None or candidate.vectors < share * blocks.vectors):
            blocks = candidate
    if blocks is None:
        return None
    form, dimensions = blocks.form, blocks.dimensions
    words = [0] * w.WORDS
    words[w.BATCH : w.ROWS + 1] = form.batch, form.groups, form.channels, form.rows
    ones = (1, 1, 1)
    for position, values in (
        (w.SOURCE, form.source),
        (w.RESULT, form.result),
        (w.POSITIONS, [each.positions for each in dimensions]),
        (w.BLOCK, blocks.sizes),
        (w.BLOCKS, [-(-d.positions // b) for d, b in zip(dimensions, blocks.sizes, strict=True)]),
        (w.STEP, ones if form.transposed else form.stride),
        (w.PLANE, blocks.plane),
        (w.RESULT_STEP, form.stride if form.transposed else ones),
        (w.SOURCE_STRIDES, _strides(form.groups * form.channels, form.source, blocks.batched)),
        (w.RESULT_STRIDES, _strides(form.groups * form.rows, form.result, blocks.batched)),
    ):
        words[position : position + len(values)] = values
    words[w.CHANNEL_STEP], words[w.LENGTH] = blocks.channel_step, blocks.length
    words[w.PLANES], words[w.PLANES_AT] = blocks.planes, len(words)
    words += itertools.chain(*itertools.product(*[each.starts for each in dimensions]))
    words[w.KERNEL] = math.prod(form.kernel)
    taps = math.prod([max([len(taps) for _, taps in each.phases]) for each in dimensions])
    most = max(1, _DEPTH // max(taps, 1))
    pieces = max(1, -(-form.channels // most))
    words[w.DEPTH_CHANNELS] = max(1, -(-form.channels // pieces))
    _add_phases(words, form, blocks)
    return words, blocks


def _candidates(form: Form) -> Iterator[_Blocks]:
    """Ways to lay out the copy: by volumes, or with the images of small ones beside each other.

    Of both there are two: the second has a plane for each place of a window along the dimension
    between whose positions there would be gaps.
    """
    layouts = [(form.of_volumes(), False, 2)]
    if len(form.source) < 3 and form.batch > 1 and math.prod(form.result) <= _SMALL:
        layouts.append((form.of_batches(), True, 1))
    for form, batched, gaps in layouts:
        options = (form.result, form.kernel, form.stride, form.padding, form.dilation)
        dimensions = [_dimension(*each, form.transposed) for each in zip(*options, strict=True)]
        yield _Blocks(form, dimensions, batched)
        dense = dimensions.copy()
        dense[gaps] = _apart(dimensions[gaps], 1 if form.transposed else form.stride[gaps])
        yield _Blocks(form, dense, batched)


def _strides(channels: int, sizes: Sizes, batched: bool) -> Sizes:
    """Elements from an image to the next, from a channel to the next, and in each dimension."""
    z, y, x = sizes
    if batched:
        return (0, z * y, y, 1, channels * z * y)
    return (channels * z * y * x, z * y * x, y * x, x, 1)


def _add_phases(words: list[int], form: Form, blocks: _Blocks) -> None:
    """Append the phases of the result, with their tables."""
    phases = list(itertools.product(*[each.phases for each in blocks.dimensions]))
    words[w.PHASES], words[w.PHASES_AT] = len(phases), len(words)
    words += [0] * (w.PHASE_WORDS * len(phases))
    starts = [len(each.starts) for each in blocks.dimensions]
    weights = 0
    for number, phase in enumerate(phases):
        at = words[w.PHASES_AT] + number * w.PHASE_WORDS
        numbers, distances = [], []
        for taps in itertools.product(*[taps for _, taps in phase]):
            numbers.append(_flat([tap[0] for tap in taps], form.kernel))
            plane = _flat([tap[1] for tap in taps], starts)
            distance = _flat([tap[2] for tap in taps], blocks.plane)
            distances.append(plane * math.prod(blocks.plane) + distance)
        words[at + w.TAPS], words[at + w.WEIGHTS_AT] = len(numbers), weights
        words[at + w.FIRST : at + w.FIRST + 3] = [first for first, _ in phase]
        words[at + w.NUMBERS_AT] = len(words)
        words += numbers
        words[at + w.OFFSETS_AT] = len(words)
        for channel in range(words[w.DEPTH_CHANNELS]):
            words += [channel * blocks.channel_step + distance for distance in distances]
        weights += form.groups * form.rows * form.channels * len(numbers)


def _flat(indices: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of an element in C order."""
    found = 0
    for index, size in zip(indices, sizes, strict=True):
        found = found * size + index
    return found


def _frozen(words: list[int]) -> np.ndarray[Any, Any]:
    made = np.array(words, np.int64)
    made.flags.writeable = False
    return made
