"""Tests of libraries run under torch's name: ``python -m numbagrad -m pytest tests/libraries``."""

import os
import sys

import pytest

os.environ.setdefault("DDE_BACKEND", "pytorch")


def pytest_collection_modifyitems(items):
    if items and getattr(sys.modules.get("torch"), "__name__", "") != "numbagrad":
        raise pytest.UsageError(
            "run python -m numbagrad -m pytest tests/libraries (make libraries)"
        )
