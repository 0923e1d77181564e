"""Where the storages of a checkpoint go: ``map_location`` of ``load``, in every form that it has.

A file says of each storage where it was. The bytes are read into main memory; a storage for
another device is copied there once, by the device's backend (``backend/registry.py``), when its
first tensor is made. This file is the one that asks which devices there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import backend_for
from ..device import CPU, device
from ..untyped_storage import UntypedStorage
from .storages import StoredMemory

#: Entries of ``register_package``: a priority, a function that names a storage's location, and
#: one of a storage and a location that restores it.
_packages: list[tuple[int, Callable[[Any], Any], Callable[[Any, str], Any]]] = []


def restorer(map_location: Any) -> Callable[[StoredMemory, str], StoredMemory]:
    """The function of a storage and its location that ``map_location`` stands for.

    Args:
        map_location: a device or its name for all storages; a dict of names of devices; a function
            of a storage and a location that returns a storage, or None for its own place; None.
    """
    if map_location is None:
        return restore
    if isinstance(map_location, dict):
        return lambda storage, location: restore(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device, int)):
        where = map_location.decode("ascii") if isinstance(map_location, bytes) else map_location
        position = str(where if isinstance(where, str) else device(where))
        return lambda storage, location: restore(storage, position)
    if not callable(map_location):
        raise TypeError(
            "load: map_location is a device, its name, a dict or a function, not "
            f"{type(map_location).__name__}"
        )

    def by_function(storage: StoredMemory, location: str) -> StoredMemory:
        found = map_location(storage, location)
        if found is None:
            return restore(storage, location)
        if isinstance(found, StoredMemory):
            return found
        if not isinstance(found, UntypedStorage):
            raise TypeError(
                f"load: map_location returned a {type(found).__name__}; return a storage or None"
            )
        return StoredMemory(found._bytes(), storage.dtype)

    return by_function


def restore(storage: StoredMemory, location: Any) -> StoredMemory:
    """The storage for tensors at a location, such as ``"cpu"`` or ``"cuda:0"``.

    Raises:
        RuntimeError: if no backend is there for such a device.
    """
    if isinstance(location, device):
        location = str(location)
    for _, _, deserialize in _packages:
        found = deserialize(storage, location)
        if isinstance(found, StoredMemory):
            return found
    if location == "cpu":
        return storage.cpu()
    try:
        return storage._for(backend_for(device(location)))
    except AssertionError:  # there is no backend for this device
        raise RuntimeError(
            f"Attempting to deserialize object on a {str(location).partition(':')[0].upper()} "
            "device but torch.cuda.is_available() is False. If you are running on a CPU-only "
            "machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        ) from None
    except (RuntimeError, TypeError) as error:  # also NotImplementedError, of devices like "mps"
        raise RuntimeError(
            "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{location}); use map_location='cpu'"
        ) from error


def location_tag(storage: Any) -> str:
    """The name of the device that holds a storage, as files have it."""
    for _, tagger, _ in _packages:
        found = tagger(storage)
        if found is not None:
            return str(found)
    backend = getattr(storage, "backend", None)
    return str(CPU) if backend is None else str(backend.device_type)


def register_package(
    priority: int,
    tagger: Callable[[Any], str | None],
    deserializer: Callable[[Any, str], Any],
) -> None:
    """Have ``load`` ask ``deserializer(storage, location)`` first; the lowest priority begins.

    Args:
        priority: a number.
        tagger: the location of a storage, or None.
        deserializer: a storage for a location, or None for one that it does not know.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda entry: entry[0])


default_restore_location = restore

__all__ = ["default_restore_location", "location_tag", "register_package", "restore", "restorer"]
