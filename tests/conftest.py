"""Settings of all tests."""

import locale
import os

import pytest

# Tests know what is compiled when; tests/test_background.py has other processes compile.
os.environ.setdefault("NUMBAGRAD_BACKGROUND", "0")


@pytest.fixture(autouse=True, scope="module")
def _locale_is_as_before():
    """Files are read and written in the encoding of the locale, by later tests as well."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    assert locale.setlocale(locale.LC_ALL) == before
