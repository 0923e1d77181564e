"""Anomaly detection: a switch under which the engine looks for NaN in every gradient.

Users switch it with ``detect_anomaly`` and ``set_detect_anomaly``; the engine reads ``anomaly``
once a walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..executor import capture

__all__ = ["anomaly", "check_for_nan", "detect_anomaly", "set_detect_anomaly"]


class _Anomaly:
    """The switches, one pair a process."""

    __slots__ = ("check_nan", "enabled")

    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True


anomaly = _Anomaly()


class set_detect_anomaly:
    """Switch anomaly detection on or off: at once when called, or for a block.

    Args:
        mode: True to switch it on.
        check_nan: raise when a node returns NaN.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = anomaly.enabled, anomaly.check_nan
        anomaly.enabled, anomaly.check_nan = mode, check_nan

    def __enter__(self) -> None:
        """The switch was set when the object was made."""

    def __exit__(self, *exception: object) -> None:
        anomaly.enabled, anomaly.check_nan = self._previous


class detect_anomaly:
    """Raise, within a block, when a node returns NaN in backward.

    Args:
        check_nan: False leaves detection without effect.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._previous = anomaly.enabled, anomaly.check_nan
        anomaly.enabled, anomaly.check_nan = True, self._check_nan

    def __exit__(self, *exception: object) -> None:
        anomaly.enabled, anomaly.check_nan = self._previous


def check_for_nan(node: Any, results: Sequence[Any]) -> None:
    """Raise if a node returned NaN.

    Raises:
        RuntimeError: naming the node and the input.
    """
    capture.refuse("the search for NaN")
    for index, result in enumerate(results):
        if result is not None and np.isnan(result._array).any():
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output."
            )
