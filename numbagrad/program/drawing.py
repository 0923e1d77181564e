"""The picture of a program, as SVG text: operations from top to bottom, memory beside them.

``explanation.py`` hands over what to draw. Every operation is a box in a row of its own; in the
arena, drawn to scale from left to right, a block covers the rows that need it, so that blocks above
one another are memory that is used again. The shapes come from ``numbagrad/drawing/svg.py``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from ..drawing.svg import INK, document, group, rectangle, text_width, words

_ROW, _BOX, _GAP, _ARENA, _TOP, _MARGIN = 24, 360, 40, 480, 52, 16
_FILLS = {"plain": "#dbe7f5", "fused": "#cfe8d5", "python": "#f6d5cf"}
_BANDS = ("#7fa6d6", "#8cc29b", "#d9a86c", "#b59ad0", "#d68f9e", "#7fbfc0")


@dataclasses.dataclass(frozen=True)
class Box:
    """An operation: name, a short note, more for the tooltip; kind: plain, fused or python."""

    name: str
    note: str
    detail: str
    kind: str


@dataclasses.dataclass(frozen=True)
class Band:
    """A block of memory: place and size in bytes, the rows that need it, text for the tooltip."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int
    detail: str


def draw(title: str, boxes: Sequence[Box], arena: str, size: int, bands: Sequence[Band]) -> str:
    """The picture; ``arena`` is the heading of the memory, ``size`` its bytes."""
    width = 2 * _MARGIN + _BOX + _GAP + _ARENA
    height = _TOP + _ROW * max(len(boxes), 1) + _MARGIN
    grey = f'fill="{INK}"'
    return document(width, height, [
        words(_MARGIN, 20, title, 'font-size="14" font-weight="bold"'),
        words(_MARGIN, 40, f"{len(boxes)} operations", grey),
        words(_MARGIN + _BOX + _GAP, 40, arena, grey),
        *_operations(boxes),
        *_memory(bands, size, len(boxes)),
    ])  # fmt: skip


def _operations(boxes: Sequence[Box]) -> Iterator[str]:
    for k, box in enumerate(boxes):
        top = _TOP + _ROW * k
        name = box.name if len(box.name) <= 34 else box.name[:33] + "…"
        style = f'rx="3" fill="{_FILLS[box.kind]}" stroke="#667"'
        right = _MARGIN + _BOX - 6
        yield group(f"{k}: {box.name} | {box.detail}", [
            rectangle(_MARGIN, top + 2, _BOX, _ROW - 4, style),
            words(_MARGIN + 6, top + 16, f"{k}  {name}"),
            words(right, top + 16, box.note, f'text-anchor="end" fill="{INK}"'),
        ])  # fmt: skip


def _memory(bands: Sequence[Band], size: int, rows: int) -> Iterator[str]:
    left = _MARGIN + _BOX + _GAP
    frame = 'fill="#f7f7f7" stroke="#bbb"'
    yield rectangle(left, _TOP, _ARENA, _ROW * max(rows, 1), frame)
    scale = _ARENA / max(size, 1)
    for k, band in enumerate(bands):
        x, width = left + scale * band.offset, max(scale * band.bytes, 1.0)
        top, height = _TOP + _ROW * band.first, _ROW * (band.last - band.first + 1)
        fill = f'fill="{_BANDS[k % len(_BANDS)]}" fill-opacity="0.8"'
        parts = [
            rectangle(x, top + 2, width, height - 4, f'{fill} stroke="#445" stroke-width="0.5"')
        ]
        if width > text_width(band.name) + 4:
            parts.append(words(x + 4, top + 16, band.name))
        yield group(f"{band.detail}, rows {band.first} to {band.last}", parts)


__all__ = ["Band", "Box", "draw"]
