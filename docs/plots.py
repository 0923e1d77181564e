"""Draws the tables of ``bench/RESULTS.md`` as pictures for the page on benchmarks.

A table becomes ``plots/<name>.svg``: for each row the ratio of our time (or memory) to that of the
fastest rival, on a logarithmic axis, one mark for each number of threads.
"""

from __future__ import annotations

import pathlib
import re
from typing import NamedTuple

#: The tables on the page, by heading, and how its pictures are called.
TABLES = {
    "Whole steps, compiled": "steps-compiled",
    "Whole steps, eager": "steps-eager",
    "Transformations of a three-layer tanh network, float32": "transformations",
    "Composite operators, eager, forward and backward, 4096×1024 float32": "composite",
    "Small tensors, eager": "small",
    "Peak memory of whole steps, KiB beyond what stays": "memory",
    "Fresh processes": "processes",
    "Elementary functions, 1e6 elements, float32": "elementary",
    "Memory-bound operators, 4096×1024 float32": "memory-bound",
    "Matrix product, float32": "products",
}
#: Colours that keep apart for every eye and on a light as on a dark page: one and two threads.
COLOURS = {"1": "#d97706", "2": "#2563eb"}
INK = "#7b8494"


class Row(NamedTuple):
    """A line of a table: what ran, with how many threads, and our time over the fastest rival's."""

    what: str
    threads: str
    ratio: float


def tables(text: str) -> dict[str, list[Row]]:
    """The tables of a results file, by heading: rows that have a ratio.

    Raises:
        ValueError: if a table has no column of ratios.
    """
    found: dict[str, list[Row]] = {}
    for section in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("|")]
        if not lines:
            continue
        head = [cell.strip() for cell in lines[0].strip("|").split("|")]
        rows = []
        for line in lines[2:]:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            record = dict(zip(head, cells, strict=False))
            if record.get("ratio"):
                rows.append(Row(record["what"], record["threads"], float(record["ratio"])))
        if heading not in found:
            found[heading] = rows
    return found


def draw(rows: list[Row], path: pathlib.Path) -> None:
    """Write the picture of a table; the file is the same for the same rows."""
    import matplotlib
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row.what for row in rows))
    with matplotlib.rc_context({"svg.hashsalt": "numbagrad", "svg.fonttype": "none",
                                "font.family": "sans-serif", "font.size": 9}):  # fmt: skip
        figure = Figure(figsize=(7.2, 0.7 + 0.27 * len(names)), layout="constrained")
        axes = figure.add_subplot(xscale="log", xlabel="time over that of the fastest rival")
        axes.axvline(1, color=INK, linewidth=1)
        drawn = set()
        for row in rows:
            height = names.index(row.what) + (0.16 if row.threads == "2" else -0.16)
            label = None if row.threads in drawn else _threads(row.threads)
            drawn.add(row.threads)
            colour = COLOURS.get(row.threads, INK)
            axes.plot([1, row.ratio], [height, height], color=colour, linewidth=1.2, alpha=0.4)
            axes.plot([row.ratio], [height], "o", color=colour, markersize=4.5, label=label)
        axes.set_yticks(range(len(names)), [_short(name) for name in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        ratios = [row.ratio for row in rows]
        axes.set_xlim(min(ratios) / 1.25, max(*ratios, 1) * 1.25)
        ticks = [x for x in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
                 if axes.get_xlim()[0] <= x <= axes.get_xlim()[1]]  # fmt: skip
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.minorticks_off()
        axes.tick_params(colors=INK, length=0)
        axes.xaxis.label.set_color(INK)
        axes.grid(axis="x", color=INK, alpha=0.2)
        for side in axes.spines.values():
            side.set_visible(False)
        if len(drawn) > 1:
            figure.legend(loc="outside upper right", ncols=2, frameon=False, labelcolor=INK)
        figure.savefig(path, transparent=True, metadata={"Date": None})


def _threads(count: str) -> str:
    return f"{count} thread" + "s" * (count != "1")


def _short(name: str) -> str:
    """The start of a row's text, which the table below the picture has whole."""
    name = name.partition(":")[0] if ":" in name[:40] else name
    return name if len(name) <= 46 else name[:45].rstrip() + "…"


def write(results: pathlib.Path, folder: pathlib.Path) -> None:
    """Draw the tables that the page shows.

    Raises:
        KeyError: if ``results`` has one of them no longer.
    """
    folder.mkdir(exist_ok=True)
    found = tables(results.read_text(encoding="utf-8"))
    for heading, slug in TABLES.items():
        path = folder / f"{slug}.svg"
        if not path.exists() or path.stat().st_mtime < results.stat().st_mtime:
            draw(found[heading], path)
