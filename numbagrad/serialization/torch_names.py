"""Names of torch in checkpoints: what stands for them here, and which names ``save`` writes.

``NAMES`` and ``CONSTRUCTORS`` are the closed list of ``load`` with ``weights_only=True``: those of
``allowed.py``, of NumPy's arrays (``legacy_names.py``), and what torch writes for tensors. With
``weights_only=False`` other names of torch are looked up in this package.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from ..device import device
from ..dtype import DTYPES
from ..layout import channels_last, channels_last_3d, contiguous_format, preserve_format
from ..nn.parameter import Buffer, Parameter
from ..size import Size
from ..tensor import Tensor
from ..untyped_storage import UntypedStorage
from . import allowed, legacy_names, rebuilding
from .storages import STORAGE_TYPES, UNTYPED
from .values import check

_OURS = __name__.partition(".")[0]
_FORMATS = (contiguous_format, preserve_format, channels_last, channels_last_3d)

#: Names in files, and the names of torch that they stand for.
_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor"): rebuilding.rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): rebuilding.rebuild_tensor_v2,
    ("torch._utils", "_rebuild_tensor_v3"): rebuilding.rebuild_tensor_v3,
    ("torch._utils", "_rebuild_parameter"): rebuilding.rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): rebuilding.rebuild_parameter_with_state,
    ("torch._tensor", "_rebuild_from_type_v2"): rebuilding.rebuild_from_type_v2,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): rebuilding.rebuild_meta_tensor,
    ("torch._utils", "_rebuild_sparse_tensor"): rebuilding.rebuild_sparse_tensor,
    ("torch.serialization", "_get_layout"): rebuilding.layout_of_name,
}
_OBJECTS: dict[tuple[str, str], Any] = {
    **_FUNCTIONS,
    **{("torch", kind.name): kind for kind in STORAGE_TYPES if kind is not UNTYPED},
    ("torch", UNTYPED.name): UNTYPED,
    ("torch.storage", UNTYPED.name): UNTYPED,
    **{("torch", dtype.name): dtype for dtype in DTYPES},
    **{("torch", repr(each).removeprefix("torch.")): each for each in _FORMATS},
    ("torch", "Tensor"): Tensor,
    ("torch", "Size"): Size,
    ("torch", "device"): device,
    ("torch.nn.parameter", "Parameter"): Parameter,
    ("torch.nn.parameter", "Buffer"): Buffer,
}
_WRITTEN = {id(thing): name for name, thing in _OBJECTS.items()}
_WRITTEN[id(UntypedStorage)] = "torch.storage", UNTYPED.name


def _size(*arguments: Any) -> Size:
    check(len(arguments) == 1 and type(arguments[0]) is tuple, "a Size is made of a tuple")
    check(all(type(size) is int for size in arguments[0]), "a Size has integers")
    return Size(*arguments)


def _bytes(*arguments: Any) -> bytes:
    check(len(arguments) == 2, "bytes are written as a text and its encoding")
    return rebuilding.encoded(*arguments)


NAMES: dict[tuple[str, str], Any] = {
    # NumPy's own functions are not called: those of legacy_names.py, which check, stand for them.
    **{
        name: thing
        for name, thing in legacy_names.NAMES.items()
        if not (name[0].startswith(_OURS) and name not in allowed.NAMES)
    },
    **_OBJECTS,
    ("_codecs", "encode"): rebuilding.encoded,
}
CONSTRUCTORS: dict[Any, Callable[..., Any]] = {
    **legacy_names.CONSTRUCTORS,
    **{function: function for function in _FUNCTIONS.values()},
    rebuilding.encoded: _bytes,
    Size: _size,
}
BUILDERS: Any = legacy_names.BUILDERS


def name_of(thing: Any) -> tuple[str, str] | None:
    """The module and the name under which torch has what this package has; None for all else."""
    found = _WRITTEN.get(id(thing))
    if found is not None:
        return found
    module = getattr(thing, "__module__", None)
    if type(module) is not str or module.partition(".")[0] != _OURS:
        return None
    name = getattr(thing, "__qualname__", None)
    return _public_name(thing, module, name) if type(name) is str and "<" not in name else None


def _public_name(thing: Any, module: str, name: str) -> tuple[str, str] | None:
    """Where torch has a class or function: in ``nn.modules``, or in the shortest path to it."""
    layers = _layers().get(thing) if isinstance(thing, type) else None
    if layers is not None:
        return layers, name
    parts = module.split(".")
    for length in range(2, len(parts) + 1):
        path = ".".join(parts[:length])
        if _attribute(sys.modules.get(path), name) is thing:
            return "torch" + path[len(_OURS) :], name
    return None


@functools.cache
def _layers() -> dict[type, str]:
    """The module of torch that each class of layers lies in."""
    package = importlib.import_module(f"{_OURS}.nn.modules")
    found: dict[type, str] = {}
    for _, name, _ in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{name}")
        for each in module.__all__:
            value = getattr(module, each)
            if isinstance(value, type):
                found.setdefault(value, f"torch.nn.modules.{name}")
    return found


def find(module: str, name: str) -> Any:
    """The object that a name of torch stands for, with ``weights_only=False``.

    Raises:
        AttributeError: if this package has nothing of that name.
    """
    if (module, name) in _OBJECTS:
        return _OBJECTS[module, name]
    path = _OURS + module.removeprefix("torch")
    try:
        return _attribute(importlib.import_module(path), name, raises=True)
    except (ImportError, AttributeError) as error:
        raise AttributeError(
            f"load: the file has a {module}.{name} of torch, which numbagrad does not have"
        ) from error


def _attribute(thing: Any, name: str, raises: bool = False) -> Any:
    for part in name.split("."):
        thing = getattr(thing, part) if raises else getattr(thing, part, None)
    return thing


__all__ = ["BUILDERS", "CONSTRUCTORS", "NAMES", "find", "name_of"]
