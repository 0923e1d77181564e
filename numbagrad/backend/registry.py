"""Which backend holds an array, and which one a device is: asked by whoever meets another array.

The CPU is no entry: ndarrays, and what transformations show in their place, are None here, so that
the question costs one comparison of classes.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import device as devices
from ..device import CPU, device, get_default_device
from .interface import Backend

__all__ = [
    "address_of", "array_namespace", "backend_for", "backend_of", "device_of", "files", "foreign",
    "foreign_among", "home_of", "is_array", "lies_with", "may_share", "on_host", "refuse_foreign",
    "register", "shared_by", "shared_by_operands", "unregister",
]  # fmt: skip

_BY_CLASS: dict[type, Backend] = {}
_BY_TYPE: dict[str, Backend] = {}

#: Modules that register the backend of a device type when they are imported, and those whose
#: ``is_available()`` says whether it can be used. Only who names the device pays for them.
_OFFERED: dict[str, tuple[str, str]] = {
    "cuda": ("numbagrad.cuda.backend", "numbagrad.cuda"),
    "meta": ("numbagrad.executor.meta_backend", ""),
}

#: The files that backends and their arrays are written in: their code is no code of users.
files: set[str] = set()


def register(backend: Backend) -> Backend:
    """Let a backend hold the arrays of its class, and ``device()`` know its type.

    Raises:
        ValueError: for a class or a device type that is taken; for a class of ndarrays.
    """
    kind, name = backend.array_class, backend.device_type
    if issubclass(kind, np.ndarray) or issubclass(np.ndarray, kind):
        raise ValueError(f"arrays of class {kind.__name__} are those of the CPU")
    if kind in _BY_CLASS or name in _BY_TYPE or name == "cpu":
        raise ValueError(f"there is a backend for {kind.__name__} or for the device {name!r}")
    if name not in _OFFERED:
        devices.accept(name)
    _BY_CLASS[kind] = _BY_TYPE[name] = backend
    modules = [sys.modules.get(each.__module__) for each in (kind, type(backend))]
    files.update([path for x in modules if (path := getattr(x, "__file__", None))])
    return backend


def unregister(backend: Backend) -> None:
    """Take a backend out again; whoever still has arrays of it has arrays of nobody."""
    del _BY_CLASS[backend.array_class], _BY_TYPE[backend.device_type]
    devices.forget(backend.device_type)


def foreign(array: Any) -> Backend | None:
    """The backend of an array; None for ndarrays, and for what is no array."""
    return _BY_CLASS.get(array.__class__) if _BY_CLASS else None


def backend_of(array: Any) -> Backend:
    """The backend that holds an array of another class than the CPU's.

    Raises:
        TypeError: for what no backend holds.
    """
    found = _BY_CLASS.get(array.__class__)
    if found is None:
        raise TypeError(f"no backend holds arrays of class {type(array).__name__}")
    return found


def is_array(value: Any) -> bool:
    """Whether it is an array, of whatever backend."""
    return isinstance(value, np.ndarray) or value.__class__ in _BY_CLASS


def array_namespace(array: Any) -> Any:
    """Functions under NumPy's names for arrays of this class: NumPy itself on the CPU.

    Raises:
        NotImplementedError: for a backend without such functions.
    """
    found = foreign(array)
    if found is None:
        return np
    if found.namespace is None:
        found.refuse("a function of NumPy")
    return found.namespace


def backend_for(where: Any) -> Backend | None:
    """The backend of a device (or its name, or None for the default one); None for the CPU.

    Raises:
        AssertionError: for CUDA while no backend is there, as torch without CUDA.
        NotImplementedError: for another device that no backend is there for.
        RuntimeError: for a text that names no device.
    """
    if where is None:
        where = get_default_device()
    if where is CPU:
        return None
    kind = device(where).type
    if kind == "cpu":
        return None
    found = _BY_TYPE.get(kind) or _offered(kind)
    if found is None and kind != "cuda":
        raise NotImplementedError(
            f"numbagrad has no device '{where}': no backend is registered for it; use device='cpu'"
        )
    if found is None:
        raise AssertionError(
            f"Torch not compiled with CUDA enabled: numbagrad cannot use the device '{where}'; use "
            "device='cpu', or ask torch.cuda.is_available() first"
        )
    return found.on(device(where).index)


def is_there(kind: str) -> bool:
    """Whether there is a backend for a type of device other than the CPU."""
    return (_BY_TYPE.get(kind) or _offered(kind)) is not None


def _offered(kind: str) -> Backend | None:
    """The backend of a device that is there, registered when it is first named."""
    if kind in _OFFERED:
        home, asked = _OFFERED[kind]
        if not asked or importlib.import_module(asked).is_available():
            importlib.import_module(home)
    return _BY_TYPE.get(kind)


def device_of(array: Any) -> device:
    """The device that holds an array, or what one under a transformation stands for."""
    found = home_of(array)
    if found is None:
        return CPU
    held = array if array.__class__ is found.array_class else array.elsewhere
    return device(found.device_type, found.index_of(held))


def home_of(array: Any) -> Backend | None:
    """The backend that makes arrays beside this one, also of one under a transformation.

    Such an array is none of the backend, which ``foreign`` is asked for: operators see to it.
    """
    if not _BY_CLASS:
        return None
    found = _BY_CLASS.get(array.__class__)
    if found is not None or array.__class__ is np.ndarray:
        return found
    return foreign(getattr(array, "elsewhere", None))


def lies_with(array: Any, where: Backend | None) -> bool:
    """Whether an array is on the device of a backend, None for the CPU."""
    if where is None:
        return home_of(array) is None
    held = array if foreign(array) is not None else getattr(array, "elsewhere", None)
    return where.holds(held)


def shared_by_operands(operator: str, operands: Sequence[Any]) -> Backend | None:
    """The same for a pointwise operator, where an ndarray without dimensions counts as a number."""
    if not _BY_CLASS:
        return None
    for operand in operands:
        if foreign(operand) is not None:
            return shared_by(
                operator, [x for x in operands if not (x.__class__ is np.ndarray and x.ndim == 0)]
            )
    return None


def foreign_among(values: Iterable[Any]) -> Backend | None:
    """The backend of the first array that is not the CPU's, in lists too."""
    if not _BY_CLASS:
        return None
    for value in _arrays_in(values):
        if (found := foreign(value)) is not None:
            return found
    return None


def shared_by(operator: str, values: Iterable[Any]) -> Backend | None:
    """The backend of the arrays among operands, and in lists of them; None for the CPU's.

    Raises:
        RuntimeError: if they are on several devices.
    """
    if not _BY_CLASS:
        return None
    arrays = list(_arrays_in(values))
    found = next((own for x in arrays if (own := foreign(x)) is not None), None)
    if found is None:
        return None
    positions = list(dict.fromkeys([str(device_of(x)) for x in arrays]))
    if len(positions) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{positions[0]} and {positions[1]}! (when checking the arguments of {operator})"
        )
    return found


def address_of(array: Any) -> int:
    """Where an array begins, as its backend numbers the bytes of its memory."""
    if isinstance(array, np.ndarray):
        # NumPy's ``__array_interface__`` ends the process where there is no memory for it.
        return int(array.ctypes.data)
    return backend_of(array).address(array)


def refuse_foreign(operator: str, *values: Any) -> None:
    """Raise for an operator that reads the memory of the CPU alone.

    Raises:
        NotImplementedError: names the operator and the device, if a value is an array of another.
    """
    if not _BY_CLASS:
        return
    for value in values:
        where = foreign(value)
        if where is not None:
            where.refuse(operator)


def on_host(value: Any) -> Any:
    """An array as an ndarray, copied if it is on another device; anything else as it is."""
    where = foreign(value)
    return value if where is None else where.to_host(value)


def may_share(one: Any, other: Any) -> bool:
    """Whether two arrays may lie in one memory."""
    if one.__class__ is other.__class__ and foreign(one) is not None:
        first, second = [x if x.base is None else x.base for x in (one, other)]
        return first is second
    if foreign(one) is not None or foreign(other) is not None:
        return False
    return np.may_share_memory(one, other)


def _arrays_in(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if is_array(value):
            yield value
        elif value.__class__ is list or value.__class__ is tuple:
            yield from _arrays_in(value)
