"""The error of a device without memory."""

from __future__ import annotations

from ...errors import OutOfMemoryError


def exhausted(
    nbytes: int, device: int, total: int, allocated: int, reserved: int
) -> OutOfMemoryError:
    """torch's error of an allocation that does not fit."""
    return OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {_readable(nbytes)}. GPU {device} has a total "
        f"capacity of {_readable(total)}, of which {_readable(max(total - reserved, 0))} is free; "
        f"{_readable(allocated)} is allocated by tensors. Let tensors go, or make batches smaller"
    )


def _readable(nbytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"
