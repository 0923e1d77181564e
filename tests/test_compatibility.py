"""Every row of the table of compatibility prints what it says; the page of the table is current."""

import importlib.util
import pathlib

import pytest
from compatibility_row import printed
from compatibility_table import ROWS

import numbagrad
from numbagrad import numba_extension

# Numba does this by itself where the package is installed, which a source tree is not.
numba_extension.register()

ROOT = pathlib.Path(__file__).parent.parent


@pytest.mark.parametrize("row", ROWS, ids=[row.title for row in ROWS])
def test_row(row):
    assert printed(row.snippet, numbagrad) == row.prints


def test_titles_name_one_row_each():
    assert len({row.title for row in ROWS}) == len(ROWS)


def test_the_page_is_what_the_tool_writes():
    path = ROOT / "tools" / "write_compatibility.py"
    specification = importlib.util.spec_from_file_location("write_compatibility", path)
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    assert tool.PAGE.read_text() == tool.page(), "run python tools/write_compatibility.py"
