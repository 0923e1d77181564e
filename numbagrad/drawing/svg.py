"""The shapes of which pictures are made, as SVG text.

Coordinates are pixels, text is 11 pixels high unless a style says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

__all__ = ["INK", "curve", "document", "group", "rectangle", "text_width", "words"]

#: The colour of secondary text.
INK = "#555"


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """A picture of the given size on white."""
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect {size} fill="white"/>',
        *parts,
        "</svg>",
    ])  # fmt: skip


def rectangle(x: float, y: float, width: float, height: float, style: str) -> str:
    """A rectangle; ``style`` is a text of attributes."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {style}/>'


def words(x: float, y: float, text: str, style: str = "") -> str:
    """A line of text whose baseline begins at a point; ``style`` is a text of attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


def group(tooltip: str, parts: Iterable[str]) -> str:
    """Shapes that show a text while the pointer is over them."""
    return "\n".join([f"<g><title>{escape(tooltip)}</title>", *parts, "</g>"])


def curve(points: Sequence[tuple[float, float]], style: str) -> str:
    """A line through points, from top to bottom, that is vertical in each of them."""
    (x, y), *rest = points
    path = [f"M{x:.1f},{y:.1f}"]
    for right, below in rest:
        middle = (y + below) / 2
        path.append(f"C{x:.1f},{middle:.1f} {right:.1f},{middle:.1f} {right:.1f},{below:.1f}")
        x, y = right, below
    return f'<path d="{" ".join(path)}" fill="none" {style}/>'


def text_width(text: str) -> float:
    """About how wide a line of text is."""
    return 6.4 * len(text)
