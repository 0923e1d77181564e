"""``load`` of torch's format: a zip archive, or the pickles one after the other of before 2020.

The pickle is read by ``ClosedUnpickler``, with the closed list of ``torch_names.py`` and what users
declared safe, or (``weights_only=False``) by pickle itself, with names of torch found in this
package. Storages are read when the pickle first names them.
"""

from __future__ import annotations

import io
import mmap
import pickle
import pickletools
from collections.abc import Callable
from typing import Any

from . import legacy, locations, safe, torch_names
from .archive import Archive, Content, FileContent
from .options import order_of_old_files
from .storages import StoredMemory, elements_of, swapped
from .unpickler import ClosedUnpickler
from .values import check

ZIP = b"PK\x03\x04"


class _Unpicklers:
    """How pickles of a file are read: what they may name, and by which module.

    Args:
        pickle_module: None for ``weights_only=True``.
        arguments: of pickle's ``Unpickler``.
    """

    def __init__(self, pickle_module: Any, arguments: dict[str, Any]) -> None:
        self._pickle = pickle_module
        self._arguments = arguments
        self._trusted = safe.declared(_name_of_declared) if pickle_module is None else {}

    def read(self, content: bytes, position: int, persistent_load: Any) -> tuple[Any, int]:
        """The object that was pickled at a place, and where it ends."""
        if self._pickle is None:
            reader = ClosedUnpickler(
                content, torch_names.NAMES, torch_names.CONSTRUCTORS, torch_names.BUILDERS,
                persistent_load, position, trusted=self._trusted,
            )  # fmt: skip
            return reader.load(), reader.position
        file = io.BytesIO(content)
        file.seek(position)
        unpickler = _unpickler_of(self._pickle, persistent_load)
        return unpickler(file, **self._arguments).load(), file.tell()


def _name_of_declared(thing: Any) -> tuple[str, str]:
    return torch_names.name_of(thing) or (thing.__module__, thing.__qualname__)


def _unpickler_of(pickle_module: Any, load: Any) -> type[Any]:
    """The unpickler of a module, with names of torch, and storages that ``load`` finds."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.partition(".")[0] == "torch":
                return torch_names.find(module, name)
            return super().find_class(module, name)

        def persistent_load(self, identity: Any) -> Any:
            if load is None:
                raise pickle.UnpicklingError("the file refers to objects outside of it")
            return load(identity)

    return Unpickler


def load_archive(
    content: Content,
    name: Any,
    map_location: Any,
    pickle_module: Any,
    arguments: dict[str, Any],
) -> Any:
    """The object of a zip archive; arguments as for ``load``, ``pickle_module`` None for data."""
    archive = Archive(content, name)
    if "constants.pkl" in archive:
        raise RuntimeError(
            f"load: {name} is a TorchScript archive, which is a program; numbagrad reads what "
            "torch.save writes, such as the state_dict() of the module"
        )
    if "data.pkl" not in archive:
        raise RuntimeError(f"load: {name} is no checkpoint: it has no data.pkl")
    order = archive.read("byteorder") if "byteorder" in archive else order_of_old_files()
    if order not in (b"little", b"big"):
        raise RuntimeError(f"load: {name} is damaged: the byte order {order!r} is unknown")
    restore = locations.restorer(map_location)
    found: dict[str, StoredMemory] = {}

    def storage(identity: Any) -> StoredMemory:
        kind, key, location, count, part = elements_of(identity)
        check(part is None, "a storage of an archive has no parts")
        if key not in found:
            held = archive.memory(f"data/{key}")
            check(held.size == count * kind.itemsize, "a storage has another size")
            if order == b"big":
                swapped(held, kind.dtype)
            found[key] = restore(StoredMemory(held, kind.dtype), location)
        made = found[key]
        if kind.dtype is not made.dtype:  # bytes that are also a storage of a dtype
            check(kind.dtype is None, "a storage has one dtype")
        check(made.held.size == count * kind.itemsize, "a storage has another size")
        return made

    unpicklers = _Unpicklers(pickle_module, arguments)
    return unpicklers.read(archive.read("data.pkl"), 0, storage)[0]


def load_legacy(
    content: bytes, map_location: Any, pickle_module: Any, arguments: dict[str, Any]
) -> tuple[Any, int]:
    """The object of a file of the older format, and where it ends in ``content``."""
    unpicklers = _Unpicklers(pickle_module, arguments)
    closed = _Unpicklers(None, {})

    def read(position: int, persistent_load: Callable[[Any], Any] | None) -> tuple[Any, int]:
        # What lies around the object is data, whatever the object is.
        chosen = closed if persistent_load is None else unpicklers
        return chosen.read(content, position, persistent_load)

    return legacy.load(content, locations.restorer(map_location), read)


def names_in(content: bytes, name: Any) -> list[str]:
    """The names in the pickle of an archive that ``load`` refuses, as ``module.name``."""
    allowed = {**torch_names.NAMES, **safe.declared(_name_of_declared)}
    found: dict[str, None] = {}
    for named in _named(Archive(content, name).read("data.pkl")):
        if named not in allowed:
            found[".".join(named)] = None
    return sorted(found)


def _named(content: bytes) -> list[tuple[str, str]]:
    """The names of a pickle, without running it."""
    found: list[tuple[str, str]] = []
    texts: list[str] = []
    memo: dict[Any, Any] = {}
    last: Any = None
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name in ("GLOBAL", "INST"):
                module, _, name = str(argument).partition(" ")
                found.append((module, name))
            elif opcode.name == "STACK_GLOBAL":
                found.append((texts[-2], texts[-1]))
            elif "PUT" in opcode.name or opcode.name == "MEMOIZE":
                memo[len(memo) if argument is None else argument] = last
                continue
            last = memo.get(argument) if "GET" in opcode.name else argument
            if isinstance(last, str):
                texts.append(last)
    except (ValueError, IndexError) as error:
        raise pickle.UnpicklingError(f"the pickle of the file is damaged: {error}") from error
    return found


def mapped(path: Any) -> mmap.mmap:
    """A file as memory, which is read when it is used and never written to."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


__all__ = ["ZIP", "FileContent", "load_archive", "load_legacy", "mapped", "names_in"]
