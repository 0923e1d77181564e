"""What every test module begins and ends with."""

import os
import sys

import pytest

# Tests know what is compiled when; tests/test_background.py has other processes compile.
os.environ.setdefault("NUMBAGRAD_BACKGROUND", "0")


@pytest.fixture(autouse=True, scope="module")
def _no_overrides_of_other_modules():
    """A subclass of Tensor that one module defines changes public functions: only for that one."""
    _uninstall()
    yield
    _uninstall()


def _uninstall():
    overrides = sys.modules.get("numbagrad.overrides")
    if overrides is not None:
        overrides.uninstall()
