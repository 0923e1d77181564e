"""The pages for those who work on the library name files and functions that are there."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PAGES = ("docs/design.md", "docs/contributing.md", "README.md")
#: Where paths begin, beside the root of the repository.
ROOMS = ("numbagrad", "tests")


def files():
    return [p for room in (*ROOMS, "tools", "bench", "examples") for p in (ROOT / room).rglob("*")]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page):
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    names = {path.name for path in files()}
    missing = [
        path for path in sorted(named)
        if not any((ROOT / room / path).exists() for room in ("", *ROOMS))
        and ("/" in path or path not in names)
    ]  # fmt: skip
    assert not missing


def test_every_name_of_the_tour_is_in_its_file():
    """What the first sections say stands in a file, as ``name`` in ``file``."""
    text = (ROOT / "docs" / "design.md").read_text()
    text = text[text.index("## Where to look") : text.index("## Kernels are objects")]
    found = re.findall(r"`(\w+)` (?:and `(\w+)` )?in\s+`([\w/]+\.py)`", text)
    assert len(found) >= 8
    for first, second, path in found:
        code = (ROOT / "numbagrad" / path).read_text()
        for name in filter(None, (first, second)):
            assert re.search(rf"\b(def|class) {name}\b", code), (name, path)


#: Pronouns that leave the reader to find the subject.
HIDDEN_SUBJECT = re.compile(
    r'^[ \t]*(?:r?"""|#: )((?:What|Who|Whom|Whose|That of|Those|Of)\b.*)', re.MULTILINE
)


def test_docstrings_begin_with_their_subject():
    """With a noun or a verb: "the kernel", "returns", not "what there is of it"."""
    found = [
        f"{path.relative_to(ROOT)}: {head}"
        for path in (ROOT / "numbagrad").rglob("*.py")
        for head in HIDDEN_SUBJECT.findall(path.read_text())
    ]
    assert not found


def test_no_file_of_the_package_is_long():
    """A file is for one thing: of those above 600 lines, two could be made."""
    long = {}
    for path in (ROOT / "numbagrad").rglob("*.py"):
        lines = path.read_text().count("\n")
        if lines > 600:
            long[str(path.relative_to(ROOT))] = lines
    assert not long
