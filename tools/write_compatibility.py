"""Writes ``docs/torch-compatibility.md`` from the tables of ``tests/``: programs, and absent names.

Run ``python tools/write_compatibility.py`` after changing a row; a test compares the page with what
this module would write.
"""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs" / "torch-compatibility.md"

sys.path.insert(0, str(ROOT / "tests"))

from absent_names import ABSENT, NAMESPACES, REASONS  # noqa: E402
from compatibility_row import Row  # noqa: E402
from compatibility_table import SECTIONS  # noqa: E402

from numbagrad.absent_modules import REASONS as MODULE_REASONS  # noqa: E402

_INTRODUCTION = """\
<!-- Written by tools/write_compatibility.py from tests/compatibility_table.py; do not edit. -->
# Programs for torch, of both eras

Each row is a snippet that runs with `import numbagrad as torch` and prints the text below it: a
test runs every one, and another runs it with torch 2.13 beside. `np`, `warnings` and
`Variable` (from `torch.autograd`) are imported. An error that a snippet ends with is shown as its
last lines.

In the column *torch 2.13*, *same text* means that torch prints the same, character for character,
*refuses* that torch of today raises where numbagrad runs, and *other text* that it prints something
else: a shorter error, or what today's torch makes of an argument that it ignores.

What the rows do not show: `volatile` reaches everything that is called through the library's names
and through methods. One of the shortest functions that was bound to a name of its own (`from
numbagrad import add`) before the first volatile Variable was made records. The class of a tensor is
`numbagrad.tensor.Tensor`, and prints so.
"""


def _table(rows: list[Row], first: int) -> list[str]:
    lines = ["| | what | torch 2.13 |", "| --- | --- | --- |"]
    for number, row in enumerate(rows, first):
        title = row.title.replace("|", "\\|")
        lines.append(f"| [{number}](#row-{number}) | {title} | {row.torch} |")
    return lines


def _snippet(row: Row, number: int) -> list[str]:
    lines = [f'<a id="row-{number}"></a>', f"**{number}. {row.title}**", ""]
    lines += ["```python", row.snippet.rstrip("\n"), "```"]
    if row.prints:
        lines += ["```text", row.prints.rstrip("\n"), "```"]
    return [*lines, ""]


def _absences() -> list[str]:
    """Which public names of torch are absent, by reason."""
    count = sum(len(names.split()) for found in ABSENT.values() for names in found.values())
    walked = ", ".join([f"`{path}`" for path in NAMESPACES])
    lines = [
        "## Names of torch that are absent",
        "",
        f"Of what `dir()` shows of torch 2.13 in {walked}, these {count} names are absent, or "
        "stand here and raise NotImplementedError where they are used. A test walks the "
        "namespaces of torch and compares.",
        "",
    ]
    for key, reason in REASONS.items():
        lines += [f"**{reason}**", "", "| namespace | names |", "| --- | --- |"]
        for path, names in ABSENT[key].items():
            lines.append(f"| `{path}` | {' '.join([f'`{name}`' for name in names.split()])} |")
        lines.append("")
    return lines


def _absent_modules() -> list[str]:
    """Which public modules of torch have none of its names, by reason."""
    paths: dict[str, list[str]] = {}
    for path, reason in MODULE_REASONS.items():
        paths.setdefault(reason, []).append(f"`torch.{path}`")
    return [
        "## Modules of torch that are absent",
        "",
        "Every public module of torch 2.13 can be imported under torch's name. These, with what "
        "lies below them, are not written: their names stand in annotations and as bases, and "
        "raise NotImplementedError where they are used. So do those of torch's internal modules "
        "(`torch._dynamo`, `torch._inductor`, ...).",
        "",
        "| modules | instead |",
        "| --- | --- |",
        *[f"| {' '.join(found)} | {reason} |" for reason, found in paths.items()],
        "",
    ]


def page() -> str:
    """The text of the page."""
    lines = [_INTRODUCTION]
    first = 1
    for section, rows in SECTIONS.items():
        lines += [f"## {section}", "", *_table(rows, first), ""]
        for number, row in enumerate(rows, first):
            lines += _snippet(row, number)
        first += len(rows)
    lines += [*_absences(), *_absent_modules()]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
