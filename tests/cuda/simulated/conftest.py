"""Tests of ``cuda``: in Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``), or on a GPU."""

from __future__ import annotations

import pytest

import numbagrad as torch


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run where there is neither, as every test would fail alike."""
    if not torch.cuda.is_available():
        raise pytest.UsageError(
            "tests/cuda needs a GPU or NUMBA_ENABLE_CUDASIM=1, and pip install numbagrad[cuda]; "
            "'make cuda' sees to that"
        )


@pytest.fixture(autouse=True)
def _no_failure_is_left():
    """What a device-side assert noted was raised by the test that caused it."""
    yield
    torch.cuda.synchronize()
