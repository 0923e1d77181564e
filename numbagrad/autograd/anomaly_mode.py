"""Anomaly detection: which call in forward made the node that fails in backward.

While it is switched on, every new node notes where it was made, in its ``metadata``, and the engine
looks for NaN in what nodes return. Users switch it with ``detect_anomaly`` and
``set_detect_anomaly``; the engine reads ``anomaly`` once a walk and calls ``explain`` when a node
failed.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import half_precision as half
from ..executor import capture
from ..warn_once import warn_caller
from . import tensor_interface as interface
from .grad_mode import state as grad_mode
from .hooks import watching

__all__ = [
    "anomaly", "check_for_nan", "detect_anomaly", "explain", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "set_anomaly_enabled", "set_detect_anomaly",
]  # fmt: skip

#: The names torch uses in ``metadata``.
_TRACEBACK = "traceback_"
_PARENT = "parent_"


class _Anomaly:
    """The switches, one pair a process."""

    __slots__ = ("check_nan", "enabled")

    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True

    def set(self, enabled: bool, check_nan: bool) -> None:
        """Set both switches."""
        if enabled != self.enabled:
            watching.change(1 if enabled else -1)
        self.enabled, self.check_nan = enabled, check_nan


anomaly = _Anomaly()


def is_anomaly_enabled() -> bool:
    """Return True if anomaly detection is switched on."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Return True if anomaly detection, once switched on, looks for NaN."""
    return anomaly.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off; with ``check_nan`` it raises for NaN too.

    Raises:
        TypeError: unless both are bool.
    """
    for position, (name, value) in enumerate((("enabled", enabled), ("check_nan", check_nan)), 1):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, "
                f"not {type(value).__name__}"
            )
    anomaly.set(enabled, check_nan)


class set_detect_anomaly:
    """Switch anomaly detection on or off: at once when called, or for a block.

    Args:
        mode: True to switch it on.
        check_nan: raise when a node returns NaN.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = anomaly.enabled, anomaly.check_nan
        anomaly.set(bool(mode), check_nan)

    def __enter__(self) -> None:
        """The switch was set when the object was made."""

    def __exit__(self, *exception: object) -> None:
        anomaly.set(self.prev, self.prev_check_nan)


class detect_anomaly:
    """Note, within a block, where nodes are made, and raise when one returns NaN in backward.

    If the backward of a node fails, a warning shows the call in forward that made the node.

    Args:
        check_nan: whether NaN counts as a failure.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = anomaly.enabled, anomaly.check_nan
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        anomaly.set(True, self.check_nan)

    def __exit__(self, *exception: object) -> None:
        anomaly.set(self.prev, self.prev_check_nan)


def note_origin(node: Any) -> None:
    """Note where a node is made, and by which node if that is in a backward."""
    if not anomaly.enabled:
        return
    metadata = node.metadata
    metadata[_TRACEBACK] = traceback.format_stack(_caller())
    walk = grad_mode.walk
    if walk is not None and walk.node is not None:
        metadata[_PARENT] = walk.node


watching.watcher(note_origin, switch=is_anomaly_enabled)


def _caller() -> Any:
    """The innermost frame that is not of this package's rooms for operators and autograd."""
    frame = sys._getframe(2)
    inside = ("numbagrad.autograd", "numbagrad.ops")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(inside):
        frame = frame.f_back
    return frame


def check_for_nan(node: Any, results: Sequence[Any]) -> None:
    """Raise if a node returned NaN.

    Raises:
        RuntimeError: naming the node and the input.
    """
    capture.refuse("the search for NaN")
    for index, result in enumerate(results):
        if result is None:
            continue
        if np.isnan(half.readable(interface.array_of(result))).any():
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output."
            )


def explain(node: Any) -> None:
    """Warn where the node that just failed was made, and what made the node that made it.

    A warning that is turned into an error is written to ``sys.stderr`` instead, since the error of
    the node is to be raised.
    """
    name = node.name()
    if _TRACEBACK not in node.metadata:
        _warn(
            f"Error detected in {name}. No forward pass information available. Enable detect "
            "anomaly during forward pass for more information."
        )
    else:
        made = "".join(node.metadata[_TRACEBACK])
        _warn(f"Error detected in {name}. Traceback of forward call that caused the error:\n{made}")
    parent = node.metadata.get(_PARENT)
    while parent is not None:
        _warn(_induced(parent))
        parent = parent.metadata.get(_PARENT)


def _induced(parent: Any) -> str:
    start = f"\n\nPrevious calculation was induced by {parent.name()}. "
    if _TRACEBACK not in parent.metadata:
        return (
            f"{start}No forward pass information available. Enable detect anomaly during forward "
            "pass for more information."
        )
    stack = "".join(parent.metadata[_TRACEBACK])
    return f"{start}Traceback of forward call that induced the previous calculation:\n{stack}"


def _warn(text: str) -> None:
    try:
        warn_caller(text)
    except UserWarning as warning:
        print(f"{type(warning).__name__}: {warning}", file=sys.stderr)
