"""Convolutions as products whose second factor is never in memory: windows are read where they lie.

A block makes a square of the result by the walk of ``matmul.py``; what differs is where the
elements of a step come from. The rows are those of a group's weights, the columns positions of the
result (for the gradient of the weights: channels and taps), and the depth is what is summed.
Called by ``cuda/windows.py``.
"""

from __future__ import annotations

import dataclasses
import math

from ..driver.source import Source
from . import matmul
from .matmul import Shape
from .text import indented, loaded, loaded_as, numba_name, stored

CONVOLVE, TRANSPOSED, WEIGHTS = "convolve", "convolve transposed", "correlate"

#: The parameters of all three; ``length`` is how much of the depth one of ``parts`` sums.
PARAMETERS = (
    "at_out", "at_source", "at_other", "at_bias", "batch", "groups", "channels", "rows",
    "s0", "s1", "s2", "r0", "r1", "r2", "tiles", "across", "of_group", "length",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Signature:
    """The signature of a kernel: options are those of three dimensions.

    ``other`` is the weights, or for their gradient that of the result.
    """

    what: str
    dtype: str
    result: str
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    shape: Shape
    small: bool
    bias: bool = False

    @property
    def taps(self) -> int:
        """Elements of a window in one channel."""
        return math.prod(self.kernel)


def source(s: Signature) -> Source:
    """The kernel of a convolution, a transposed one, or the gradient of weights."""
    kind = numba_name(loaded_as(s.dtype))
    a_deep, b_deep = s.what != TRANSPOSED, s.what == WEIGHTS

    def fetched(start: str) -> list[str]:
        return [*_first(s, start, a_deep, kind), *_second(s, start, b_deep, kind)]

    lines = [
        "volume = r0 * r1 * r2",
        f"windows = channels * {s.taps}",
        f"columns = {'windows' if s.what == WEIGHTS else 'batch * volume'}",
        "for unit in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):",
    ]
    inside = [
        "part = unit // (groups * of_group)",
        "group = unit // of_group - part * groups",
        "position = unit - (part * groups + group) * of_group",
        "block_row = position // across",
        f"first_column = (position - block_row * across) * {s.shape.square}",
        f"first_row = block_row * {s.shape.square}",
        "begin = part * length",
        f"depth = min(begin + length, {'batch * volume' if s.what == WEIGHTS else 'windows'})",
        *matmul.zeros(s.shape, kind),
        *matmul.walk(s.shape, fetched, a_deep, b_deep, "begin"),
        *_end(s),
    ]
    options = f"kernel {s.kernel}, stride {s.stride}, padding {s.padding}, dilation {s.dilation}"
    text = [f"# {s.what} of {s.dtype}: {options}", f"def kernel({', '.join(PARAMETERS)}):"]
    text += indented(1, [*matmul.shared(s.shape, kind), *lines, *indented(1, inside)])
    return Source(s.what.partition(" ")[0], "\n".join([*text, ""]), s.shape.threads)


def _split(s: Signature, index: str, sizes: list[str], names: list[str]) -> list[str]:
    """Statements that take an index apart into ``names``, the first of which is what is left."""
    lines = [f"rest = {index}"]
    for name, size in zip(reversed(names[1:]), reversed(sizes), strict=True):
        if size == "1":
            lines.append(f"{name} = int64(0)")
            continue
        lines.append(f"whole = {_quotient(s, 'rest', size)}")
        lines += [f"{name} = rest - whole * {size}", "rest = whole"]
    return [*lines, f"{names[0]} = rest"]


def _quotient(s: Signature, value: str, divisor: str) -> str:
    if divisor == "1":
        return value
    return f"quotient({value}, {divisor})" if s.small else f"{value} // {divisor}"


def _taps(s: Signature, index: str) -> list[str]:
    """The channel and the place in the window of an index into both."""
    return _split(s, index, [str(k) for k in s.kernel], ["channel", "t0", "t1", "t2"])


def _position(s: Signature, index: str) -> list[str]:
    """The image and the place in the result of an index into both."""
    return _split(s, index, ["r0", "r1", "r2"], ["image", "p0", "p1", "p2"])


def _first(s: Signature, start: str, deep: bool, kind: str) -> list[str]:
    """Weights, or gradients of results, from memory to registers."""
    lines: list[str] = []
    for q in range(matmul.fetches(s.shape)):
        lines += [*matmul.positions(s.shape, deep, q), f"a_{q} = {kind}(0)"]
        lines.append(f"if first_row + r < rows and {start} + k < depth:")
        row, inner = "first_row + r", f"{start} + k"
        if s.what == CONVOLVE:
            inside = [f"at = (group * rows + {row}) * windows + {inner}"]
        elif s.what == TRANSPOSED:
            inside = [
                f"channel = {_quotient(s, inner if s.taps == 1 else f'({inner})', str(s.taps))}",
                f"tap = {inner} - channel * {s.taps}",
                f"at = ((group * channels + channel) * rows + {row}) * {s.taps} + tap",
            ]
        else:
            plane = f"((image * groups + group) * rows + {row}) * volume"
            inside = [
                f"image = {_quotient(s, inner, 'volume')}",
                f"at = {plane} + {inner} - image * volume",
            ]
        value = loaded("at_other, at", s.dtype, loaded_as(s.dtype))
        lines += indented(1, [*inside, f"a_{q} = {value}"])
    return lines


def _second(s: Signature, start: str, deep: bool, kind: str) -> list[str]:
    """Elements of windows from memory to registers; zero beyond the image."""
    lines: list[str] = []
    for q in range(matmul.fetches(s.shape)):
        lines += [*matmul.positions(s.shape, deep, q), f"b_{q} = {kind}(0)"]
        window, position = f"{start} + k", "first_column + r"
        if s.what == WEIGHTS:
            window, position = position, window
        inside = [*_taps(s, window), *_position(s, position), "inside = True"]
        for d in range(3):
            inside += _source_index(s, d)
        at = "(((image * groups + group) * channels + channel) * s0 + y0) * s1 + y1"
        value = loaded(f"at_source, ({at}) * s2 + y2", s.dtype, loaded_as(s.dtype))
        inside += ["if inside:", f"    b_{q} = {value}"]
        lines += [f"if first_column + r < columns and {start} + k < depth:", *indented(1, inside)]
    return lines


def _source_index(s: Signature, d: int) -> list[str]:
    """The source element that tap ``t`` of position ``p`` of a dimension reads, if there is one."""
    kernel, stride, padding, dilation = [x[d] for x in (s.kernel, s.stride, s.padding, s.dilation)]
    if s.what != TRANSPOSED:
        lines = [f"y{d} = p{d} * {stride} + t{d} * {dilation} - {padding}"]
        if (kernel, padding) != (1, 0):
            lines.append(f"inside = inside and y{d} >= 0 and y{d} < s{d}")
        return lines
    lines = [f"y{d} = p{d} + {padding} - t{d} * {dilation}"]
    if stride > 1:
        lines += [
            f"x{d} = y{d}",
            f"y{d} = max(x{d}, 0) // {stride}",
            f"inside = inside and x{d} >= 0 and x{d} == y{d} * {stride}",
        ]
    return [*lines, f"inside = inside and y{d} >= 0 and y{d} < s{d}"]


def _end(s: Signature) -> list[str]:
    """Write the registers, with the bias."""
    kind = numba_name(loaded_as(s.dtype))
    lines = []
    for j in range(s.shape.tile):
        lines.append(f"column = first_column + right + {j * s.shape.side}")
        inside = []
        if s.what != WEIGHTS:
            inside = [
                f"image = {_quotient(s, 'column', 'volume')}",
                "to = (image * groups + group) * rows * volume + column - image * volume",
            ]
        for i in range(s.shape.tile):
            value = f"c_{i}_{j}"
            if s.what == WEIGHTS:
                at = "((part * groups + group) * rows + row) * windows + column"
            else:
                at = "to + row * volume"
            if s.bias:
                bias = loaded("at_bias, group * rows + row", s.dtype, loaded_as(s.dtype))
                value = f"{value} + {kind}({bias})"
            inside += [
                f"row = first_row + down + {i * s.shape.side}",
                "if row < rows:",
                f"    {stored(f'at_out, {at}', value, s.result)}",
            ]
        lines += ["if column < columns:", *indented(1, inside)]
    return lines
