"""The seam between what operators mean and what computes them: one backend for a class of arrays.

A ``Tensor`` holds an array. Ndarrays are the CPU's: launchers take them and nothing else, and their
callers ask here only when a launcher has said no. Everything that allocates, or reads and writes
elements in Python, asks ``backend_of(array)``, or ``backend_for(device)`` where there is no array
yet. ``interface.py`` says what a backend has; this room imports nothing but devices and dtypes.
"""

from .interface import Backend
from .registry import (
    address_of,
    array_namespace,
    backend_for,
    backend_of,
    device_of,
    files,
    foreign,
    foreign_among,
    home_of,
    is_array,
    lies_with,
    may_share,
    on_host,
    refuse_foreign,
    register,
    shared_by,
    shared_by_operands,
    unregister,
)

__all__ = [
    "Backend", "address_of", "array_namespace", "backend_for", "backend_of", "device_of", "files",
    "foreign", "foreign_among", "home_of", "is_array", "lies_with", "may_share", "on_host",
    "refuse_foreign",
    "register", "shared_by", "shared_by_operands", "unregister",
]  # fmt: skip
