"""The picture of a program, as SVG text: operations from top to bottom, memory beside them.

``explanation.py`` hands over what to draw. Every operation is a box in a row of its own; in the
arena, drawn to scale from left to right, a block covers the rows that need it, so that blocks above
one another are memory that is used again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

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
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _words(_MARGIN, 20, title, "font-size=\"14\" font-weight=\"bold\""),
        _words(_MARGIN, 40, f"{len(boxes)} operations", 'fill="#555"'),
        _words(_MARGIN + _BOX + _GAP, 40, arena, 'fill="#555"'),
        *_operations(boxes),
        *_memory(bands, size, len(boxes)),
        "</svg>",
    ])  # fmt: skip


def _operations(boxes: Sequence[Box]) -> Iterator[str]:
    for k, box in enumerate(boxes):
        top = _TOP + _ROW * k
        yield f"<g><title>{escape(f'{k}: {box.name} | {box.detail}')}</title>"
        yield (
            f'<rect x="{_MARGIN}" y="{top + 2}" width="{_BOX}" height="{_ROW - 4}" rx="3" '
            f'fill="{_FILLS[box.kind]}" stroke="#667"/>'
        )
        name = box.name if len(box.name) <= 34 else box.name[:33] + "…"
        yield _words(_MARGIN + 6, top + 16, f"{k}  {name}")
        right = f'x="{_MARGIN + _BOX - 6}" y="{top + 16}"'
        yield f'<text {right} text-anchor="end" fill="#555">{escape(box.note)}</text></g>'


def _memory(bands: Sequence[Band], size: int, rows: int) -> Iterator[str]:
    left = _MARGIN + _BOX + _GAP
    yield (
        f'<rect x="{left}" y="{_TOP}" width="{_ARENA}" height="{_ROW * max(rows, 1)}" '
        'fill="#f7f7f7" stroke="#bbb"/>'
    )
    scale = _ARENA / max(size, 1)
    for k, band in enumerate(bands):
        x, width = left + scale * band.offset, max(scale * band.bytes, 1.0)
        top, height = _TOP + _ROW * band.first, _ROW * (band.last - band.first + 1)
        yield f"<g><title>{escape(f'{band.detail}, rows {band.first} to {band.last}')}</title>"
        yield (
            f'<rect x="{x:.1f}" y="{top + 2}" width="{width:.1f}" height="{height - 4}" '
            f'fill="{_BANDS[k % len(_BANDS)]}" fill-opacity="0.8" stroke="#445" '
            'stroke-width="0.5"/>'
        )
        if width > 6.5 * len(band.name) + 4:
            yield _words(x + 4, top + 16, band.name)
        yield "</g>"


def _words(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


__all__ = ["Band", "Box", "draw"]
