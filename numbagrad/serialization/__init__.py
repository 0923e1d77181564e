"""``torch.serialization``: ``save`` and ``load``, files of torch's format.

``archive.py`` has the container, ``pickler.py`` and ``reading.py`` write and read what it holds,
``unpickler.py`` reads files that may hold nothing but data, ``torch_names.py`` lists what that is,
``locations.py`` says to which device it goes, ``replacement.py`` brings files to disk. Files that
this package wrote before it wrote torch's format are read by ``own_format.py``; ``safetensors.py``
is another format altogether.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ..absent import lacking

__all__ = ["load", "save"]

#: The protocol of pickle in which files are written.
DEFAULT_PROTOCOL = 2

_LOCATIONS = ("default_restore_location", "location_tag", "register_package")
_SAFE = ("add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals")
_OPTIONS = (
    "LoadEndianness", "SourceChangeWarning", "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "set_crc32_options", "set_default_load_endianness",
    "set_default_mmap_options",
)  # fmt: skip

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "it is a helper of torch's own files; tensors without numbers are those of device='meta'",
    """check_module_version_greater_or_equal mkdtemp normalize_storage_type skip_data
    storage_to_tensor_type validate_cuda_device validate_hpu_device""",
    {
        **dict.fromkeys(_LOCATIONS, ".locations"),
        **dict.fromkeys(_SAFE, ".safe"),
        **dict.fromkeys(_OPTIONS, ".options"),
        "StorageType": ".storages",
        "safetensors": ".safetensors",
    },
)


def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file that :func:`load`, and torch, read.

    Tensors of ``obj`` and of containers in it that share memory do so again when loaded. Gradients
    are not saved, nor is memory that no tensor shows.

    Args:
        obj: tensors, state dicts, numbers, text, and containers of them; or any object that pickle
            can write, which ``load`` reads with ``weights_only=False``.
        f: a path, of which a regular file is replaced in one step, so that a process killed at any
            moment leaves the old file or the new one, whole; links are followed, and what is no
            regular file (a pipe) is written to. Or a file object, which is written to.
        pickle_module: another module with pickle's ``Pickler``.
        pickle_protocol: the version of pickle's format; torch reads 2 without a warning.
        _use_new_zipfile_serialization: has to be True; the format of before 2020 is only read.
        _disable_byteorder_record: leave out the entry that says in which order bytes are.
    """
    from .archive import ArchiveWriter
    from .pickler import pickled

    if not _use_new_zipfile_serialization:
        raise NotImplementedError(
            "save: the format of before 2020 is read, but not written; leave out "
            "_use_new_zipfile_serialization=False, as torch 1.6 and later read what is written then"
        )
    # Pickled before a file is opened: an object that cannot be written leaves no trace.
    content, blocks = pickled(obj, pickle_module, pickle_protocol)

    def write(out: Callable[[Any], Any]) -> None:
        archive = ArchiveWriter(out)
        archive.entry("data.pkl", content)
        archive.entry(".format_version", b"1")
        archive.entry(".storage_alignment", b"64")
        if not _disable_byteorder_record:
            archive.entry("byteorder", sys.byteorder.encode())
        for number, block in enumerate(blocks.written):
            archive.entry(f"data/{number}", block.content())
        archive.entry("version", b"3\n")
        archive.close()

    if hasattr(f, "write"):
        write(f.write)
        return
    from .replacement import write_file

    write_file(Path(f), write)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that :func:`save`, or torch, wrote.

    Args:
        f: a path or a file object.
        map_location: where tensors go: a device or its name, a dict of names of devices, a function
            of a storage and the name of its device that returns a storage or None; where they were,
            without it.
        pickle_module: another module with pickle's ``Unpickler``; only with ``weights_only=False``.
        weights_only: whether the file may hold nothing but data: tensors, arrays, numbers, dates,
            text and containers of them (the default), and what ``add_safe_globals`` declared. Set
            it to False only for files you trust: loading one can run any code.
        mmap: whether tensors are the memory of the file itself, which is read as they are used;
            what is written to them stays in this process. The file must not be cut off meanwhile.
        **pickle_load_args: further arguments of ``pickle_module.Unpickler``; for data they are of
            no consequence.

    Raises:
        RuntimeError: if the file is damaged, or no checkpoint; for a device that is not there.
        pickle.UnpicklingError: if the file holds or asks for anything else than data.
        ValueError: for ``mmap`` of what is no path.
    """
    only_data = pickle_module is None if weights_only is None else weights_only
    if only_data and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified; leave it out or "
            "set weights_only=False"
        )
    from . import legacy, own_format, reading

    module = None if only_data else pickle_module or pickle
    is_file = hasattr(f, "read")
    file: Any = f
    if mmap and is_file:
        raise ValueError("f must be a string filename in order to use mmap argument")
    name = getattr(f, "name", f) if is_file else f
    start = file.tell() if is_file and _seeks(file) else None
    if not is_file and not mmap:
        with open(file, "rb") as opened:
            if opened.read(4) == reading.ZIP:
                found = reading.FileContent(opened)
                return reading.load_archive(found, name, map_location, module, pickle_load_args)
    if isinstance(file, _READ_IN_PARTS) and start is not None:
        is_archive = file.read(4) == reading.ZIP
        file.seek(start)
        if is_archive:
            found = reading.FileContent(file, start)
            made = reading.load_archive(found, name, map_location, module, pickle_load_args)
            file.seek(0, os.SEEK_END)
            return made
    content = file.read() if is_file else _content(f, bool(mmap))
    if not content:
        raise EOFError("Ran out of input")
    if content[:4] == reading.ZIP:
        return reading.load_archive(content, name, map_location, module, pickle_load_args)
    if mmap:
        raise RuntimeError(
            "mmap can only be used with files saved with "
            f"`torch.save({name}, _use_new_zipfile_serialization=True)`, which are zip archives"
        )
    if content[: len(legacy.MAGIC)] == legacy.MAGIC:
        found, end = reading.load_legacy(content, map_location, module, pickle_load_args)
        if start is not None:  # another object may follow
            file.seek(start + end)
        return found
    return own_format.load(content, name, module, pickle_load_args)


#: Files whose parts are read into memory without a copy in between.
_READ_IN_PARTS = (io.BytesIO, io.BufferedReader, io.BufferedRandom)


def _content(path: Any, is_mapped: bool) -> Any:
    from .reading import mapped

    path = Path(path)
    return mapped(path) if is_mapped and path.stat().st_size else path.read_bytes()


def _seeks(file: Any) -> bool:
    return hasattr(file, "seekable") and file.seekable()


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The names in a file that :func:`load` refuses, as ``module.name``; nothing in it is run.

    Raises:
        ValueError: for what is no zip archive.
    """
    from .reading import ZIP, names_in

    content = f.read() if hasattr(f, "read") else Path(f).read_bytes()
    if content[:4] != ZIP:
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    return names_in(content, getattr(f, "name", f))


#: The type of torch's ``map_location``, for annotations.
MAP_LOCATION = Any
