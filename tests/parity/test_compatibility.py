"""Every row of the table of compatibility with the installed torch: what the table says of it."""

import re

import pytest
import torch
from compatibility_row import REFUSES, SAME, printed
from compatibility_table import ROWS


@pytest.mark.parametrize("row", ROWS, ids=[row.title for row in ROWS])
def test_row(row):
    text = printed(row.snippet, torch)
    if row.torch == SAME:
        assert text == row.prints
    else:
        assert text != row.prints
    if row.torch == REFUSES:
        assert re.search(r"^\w+Error: ", text, re.MULTILINE)
