"""Templates of kernel sources: text with blocks of lines and names to fill in.

Used by the modules of this folder that write reductions, softmaxes and scans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def lines_of(text: str) -> list[str]:
    """The lines of a template."""
    return text.strip("\n").split("\n")


def fill(lines: list[str], blocks: Mapping[str, list[str]], fields: Mapping[str, str]) -> str:
    """The text of a template.

    A line that is the name of a block becomes the lines of that block, indented as it was; these
    may name blocks again. Then every ``<NAME>`` becomes the field of that name; a field may contain
    the names of fields after it.
    """
    pending = list(reversed(lines))
    filled = []
    while pending:
        line = pending.pop()
        margin = line[: len(line) - len(line.lstrip())]
        block = blocks.get(line.strip())
        if block is None:
            filled.append(line)
        else:
            pending += [margin + each for each in reversed(block)]
    text = "\n".join(filled)
    for name, value in fields.items():
        text = text.replace(f"<{name}>", value)
    return text


def renamed(lines: list[str], result: str, prefix: str) -> tuple[list[str], str]:
    """A printed formula whose temporaries are called ``prefix0``, ``prefix1``, ... for ``t0``, ...

    Two formulas of one kernel must not share variables: one name has one type.
    """
    pattern = re.compile(r"\bt(\d+)\b")
    replacement = rf"{prefix}\1"
    return [pattern.sub(replacement, line) for line in lines], pattern.sub(replacement, result)
