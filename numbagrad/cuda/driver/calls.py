"""Calls of CUDA's driver: their errors as exceptions, and whether there is a driver to call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from cuda.bindings import driver as cu

_SUCCESS = cu.CUresult.CUDA_SUCCESS

#: The oldest release of CUDA whose drivers run what the packages of this one make.
_OLDEST = 13000
#: The process that has the contexts: one that was forked from it can use none.
_process = os.getpid()


def count_devices() -> int:
    """How many GPUs there are; 0 without CUDA's driver, and with a warning for one too old."""
    try:
        (code,) = cu.cuInit(0)
    except RuntimeError:  # the library of the driver is not there
        return 0
    if code != _SUCCESS:
        return 0
    code, count = cu.cuDeviceGetCount()
    if code != _SUCCESS or not count:
        return 0
    _, version = cu.cuDriverGetVersion()
    if version < _OLDEST:
        release, oldest = [f"{x // 1000}.{x % 1000 // 10}" for x in (version, _OLDEST)]
        warnings.warn(
            f"The NVIDIA driver on your system is too old: it is of CUDA {release}, and GPUs are "
            f"used by drivers of CUDA {oldest} and later",
            stacklevel=2,
        )
        return 0
    return int(count)


def checked(result: Sequence[Any]) -> Any:
    """The value of a call of the driver.

    Raises:
        AcceleratorError: with CUDA's words, if it failed.
        RuntimeError: torch's, in a process that was forked from one that uses GPUs.
    """
    code, *values = result
    if code != _SUCCESS:
        if os.getpid() != _process:
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
                "multiprocessing, you must use the 'spawn' start method"
            )
        _, text = cu.cuGetErrorString(code)
        from ...errors import AcceleratorError

        raise AcceleratorError(f"CUDA error: {text.decode() if text else code}")
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)


def is_done(result: Sequence[Any]) -> bool:
    """The answer of a query."""
    return result[0] != cu.CUresult.CUDA_ERROR_NOT_READY and checked(result) is None
