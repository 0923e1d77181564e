"""The way to CUDA: memory, kernels and launches, on a GPU or in Numba's simulator.

No other room imports a package of CUDA. ``driver()`` is one of two objects with the same methods:
``simulated.Simulated`` where ``NUMBA_ENABLE_CUDASIM=1`` (memory of the host, kernels as Python,
one CUDA thread after another) and ``device.Device`` over ``cuda.bindings``. ``compiling`` makes PTX
and cubins, which needs no GPU.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
from collections.abc import Iterator
from typing import Any


@functools.cache
def is_simulated() -> bool:
    """Whether Numba's simulator stands for a GPU, as its own variable of the environment says."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


@functools.cache
def is_installed() -> bool:
    """Whether the packages of the extra ``cuda`` are there; imports none of them."""
    if importlib.util.find_spec("numba_cuda") is None:
        return False
    return is_simulated() or importlib.util.find_spec("cuda") is not None


#: Drivers that stand for that of this process.
_chosen: list[Any] = []


def device_count() -> int:
    """How many devices there are: none without the packages, a GPU or its driver."""
    if _chosen:
        return int(_chosen[-1].device_count)
    if not is_installed():
        return 0
    if is_simulated():
        return 1
    return _count_gpus()


@functools.cache
def _count_gpus() -> int:
    from .calls import count_devices

    return count_devices()


@contextlib.contextmanager
def chosen(one: Any) -> Iterator[None]:
    """Have another driver stand for that of this process, as ``offline.Offline``."""
    _chosen.append(one)
    try:
        yield
    finally:
        _chosen.pop()


def unavailable(where: Any) -> AssertionError:
    """The error of what needs a GPU."""
    return AssertionError(
        f"Torch not compiled with CUDA enabled: numbagrad cannot use the device '{where}'; use "
        "device='cpu', or ask torch.cuda.is_available() first"
    )


def driver() -> Any:
    """The driver of this process.

    Raises:
        AssertionError: without a device, as torch without CUDA.
    """
    return _chosen[-1] if _chosen else _own_driver()


@functools.cache
def _own_driver() -> Any:
    if not device_count():
        raise unavailable("cuda")
    if is_simulated():
        from .simulated import Simulated

        return Simulated()
    from .device import Device

    return Device()
