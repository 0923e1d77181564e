"""torch's switches of precision, determinism and threads, as programs set them at their top.

Results here are what the strictest setting asks for: every operator is deterministic, whatever the
number of threads, and products of float32 are computed in float32. So the settings are kept, and
can be read again, but change nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .executor.memory import arrays
from .executor.threads.cpus import available_cpus
from .utils import deterministic
from .warn_once import warn_once

__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
    "get_float32_matmul_precision", "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode",
    "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads",
    "use_deterministic_algorithms",
]  # fmt: skip

_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


class _Settings:
    """The settings, one of each a process."""

    precision = "highest"
    deterministic = False
    warn_only = False
    interop_threads: int | None = None


_settings = _Settings()


# --- precision ------------------------------------------------------------------------------------


def get_float32_matmul_precision() -> str:
    """The last setting of ``set_float32_matmul_precision``."""
    return _settings.precision


def set_float32_matmul_precision(precision: str) -> None:
    """Say how exact products of float32 have to be: "highest", "high" or "medium".

    They are computed in float32 whatever is said, which each of the three allows.

    Raises:
        RuntimeError: for what is no text; of another text there is a warning.
    """
    if not isinstance(precision, str):
        raise RuntimeError(
            f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}"
        )
    if precision not in _PRECISIONS:
        warn_once(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect."
        )
        return
    _settings.precision = precision


def set_flush_denormal(mode: bool) -> bool:
    """Ask for denormal numbers to be taken as zero; returns False, as kernels compute with them.

    Raises:
        RuntimeError: for what is no bool.
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


# --- determinism ----------------------------------------------------------------------------------


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic results, which all operators have anyway: nothing ever raises or warns.

    What ``empty`` and its kin return is filled meanwhile, with NaN, True or the largest integer,
    unless ``utils.deterministic.fill_uninitialized_memory`` is False.

    Raises:
        TypeError: for what is no bool.
    """
    for name, value, position in (("mode", mode, " (position 1)"), ("warn_only", warn_only, "")):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name}'{position} must be bool, not "
                f"{type(value).__name__}"
            )
    _settings.deterministic, _settings.warn_only = mode, warn_only
    arrays.fill_unset = _fill if mode else None


def _fill(array: Any) -> None:
    """Fill memory that is not set, as torch does for programs that read it by mistake."""
    if not deterministic.fill_uninitialized_memory:
        return
    kind = array.dtype.kind
    if kind in "iu":
        value: Any = np.iinfo(array.dtype).max
    else:
        value = True if kind == "b" else math.nan
    arrays.set_all(array, value)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` asked for them; results are the same either way."""
    return _settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` asked for warnings instead of errors."""
    return _settings.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` by number or name: 0 "default", 1 "warn", 2 "error".

    Raises:
        TypeError: for what is neither.
        RuntimeError: for another number or name.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _DEBUG_MODES[debug_mode]
    if debug_mode not in _DEBUG_MODES.values():
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """The number of the mode that ``set_deterministic_debug_mode`` sets."""
    if not _settings.deterministic:
        return 0
    return 1 if _settings.warn_only else 2


# --- threads --------------------------------------------------------------------------------------


def get_num_interop_threads() -> int:
    """The setting of ``set_num_interop_threads``, or the number of CPUs."""
    return _settings.interop_threads or available_cpus()


def set_num_interop_threads(num_threads: int) -> None:
    """Say how many operators may run side by side. Each runs alone, on ``get_num_threads()``.

    Raises:
        RuntimeError: for what is no positive int, and if it was said before.
    """
    if isinstance(num_threads, bool) or not isinstance(num_threads, int):
        raise RuntimeError(
            f"set_num_interop_threads expects an int, but got {type(num_threads).__name__}"
        )
    if num_threads < 1:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if _settings.interop_threads is not None:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or "
            "set_num_interop_threads called"
        )
    _settings.interop_threads = num_threads
