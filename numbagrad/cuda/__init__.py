"""CUDA devices, as far as code that asks for them must know: there are none.

Creation functions and conversions ask ``backend.backend_for`` for the device they are given.
"""

from __future__ import annotations

from typing import Any

from ..device import device

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "manual_seed",
           "manual_seed_all", "synchronize"]  # fmt: skip


def is_available() -> bool:
    """Whether tensors can be put on a GPU: never."""
    return False


def device_count() -> int:
    """The number of GPUs that tensors can be put on: 0."""
    return 0


def is_initialized() -> bool:
    """Whether a GPU is in use: never."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU; as there is none, nothing happens."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs; as there are none, nothing happens."""


def current_device() -> int:
    """The index of the current GPU; raises, as there is none."""
    raise _unavailable(device("cuda"))


def synchronize(device: Any = None) -> None:
    """Wait for a GPU; raises, as there is none."""
    raise _unavailable(device)


def _unavailable(where: Any) -> AssertionError:
    return AssertionError(
        f"Torch not compiled with CUDA enabled: numbagrad cannot use the device '{where}'; use "
        "device='cpu', or ask torch.cuda.is_available() first"
    )
