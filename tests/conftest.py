"""Settings of all tests."""

import gc
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


def _freeze() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _items_of_tests_are_frozen() -> None:
    """Again, where the library had to look at all objects."""
    if not gc.get_freeze_count():
        _freeze()


@pytest.fixture
def traced_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Composites are fused at the first call of a form, however many the process has met."""
    from numbagrad.ops.operators.composite import Composite

    monkeypatch.setattr(Composite, "_calls_to_trace", lambda self: 1)


def pytest_collection_finish() -> None:
    """The items of tens of thousands of tests are no concern of collections that tests ask for."""
    _freeze()
