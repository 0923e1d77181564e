"""What the project says of itself in several files is the same in each."""

import pathlib
import re

from numbagrad import _version

ROOT = pathlib.Path(__file__).parents[1]


def _field(file: str, name: str) -> str:
    return re.search(rf'^{name}(?:: | = )"?([^"\n]+)"?$', (ROOT / file).read_text(), re.M)[1]


def test_the_citation_names_this_version():
    assert _field("CITATION.cff", "version") == _version.__version__


def test_the_licence_is_one():
    assert _field("CITATION.cff", "license") == _field("pyproject.toml", "license")
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")
