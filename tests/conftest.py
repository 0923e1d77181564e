"""What every test module begins and ends with."""

import sys

import pytest


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
