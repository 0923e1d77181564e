"""One row of the table of compatibility: a snippet, what it prints, and what torch does with it.

The modules ``compatibility_<section>.py`` hold the rows, ``compatibility_table.py`` collects them.
"""

import contextlib
import io
import warnings
from types import ModuleType
from typing import NamedTuple

import numpy as np

#: What torch 2.13 does with a snippet.
SAME = "same text"
REFUSES = "refuses"
DIFFERS = "other text"


class Row(NamedTuple):
    """A snippet that calls the library ``torch``; an error it ends with counts as printed."""

    title: str
    snippet: str
    prints: str
    torch: str = SAME


def printed(snippet: str, torch: ModuleType) -> str:
    """Run a snippet with a library as ``torch`` and return what it prints.

    Snippets find ``np``, ``Variable`` and ``warnings`` imported.
    """
    names = {
        "torch": torch, "np": np, "Variable": torch.autograd.Variable, "warnings": warnings,
        "__name__": "snippet",
    }  # fmt: skip
    text = io.StringIO()
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(snippet, "snippet", "exec"), names)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    return text.getvalue()
