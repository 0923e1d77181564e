"""``save`` and ``load``: tensors, state dicts and what holds them, as files of pickle's protocol.

``values.py`` says how tensors are written and rebuilt, ``unpickler.py`` reads files that may hold
nothing but data, ``allowed.py`` lists what that is, ``replacement.py`` brings files to disk. A
checksum at the end tells a file that was damaged later.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from pathlib import Path
from typing import IO, Any

__all__ = ["load", "save"]

#: How a file begins; the number is that of the format.
_MAGIC = b"numbagrad checkpoint 2\n"
#: The format in which arrays were written as NumPy pickles them.
_FIRST_MAGIC = b"numbagrad checkpoint 1\n"
_DIGEST_SIZE = 32


def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = pickle,
    pickle_protocol: int = pickle.DEFAULT_PROTOCOL,
) -> None:
    """Write an object to a file that :func:`load` reads.

    Tensors of ``obj`` and of containers in it that share memory do so again when loaded. Gradients
    of parameters are not saved.

    Args:
        obj: tensors, state dicts, numbers, text, and containers of them; or any object that pickle
            can write, which ``load`` reads with ``weights_only=False``.
        f: a path, of which a regular file is replaced in one step, so that a process killed at any
            moment leaves the old file or the new one, whole; links are followed, and what is no
            regular file (a pipe) is written to. Or a file object, which is written to.
        pickle_module: another module with pickle's ``Pickler``.
        pickle_protocol: the version of pickle's format.
    """
    content = _packed(obj, pickle_module, pickle_protocol)
    if hasattr(f, "write"):
        f.write(content)
        return
    # Packed before a file is opened: an object that cannot be written leaves no trace.
    from .replacement import write_file

    write_file(Path(f), content)


def _packed(obj: Any, pickle_module: Any, protocol: int) -> bytes:
    buffer = io.BytesIO()
    buffer.write(_MAGIC)
    _pickler(obj, buffer, pickle_module, protocol).dump(obj)
    buffer.write(hashlib.sha256(buffer.getbuffer()[len(_MAGIC) :]).digest())
    return buffer.getvalue()


def _pickler(obj: Any, buffer: IO[bytes], pickle_module: Any, protocol: int) -> Any:
    """A pickler of that module that writes tensors and arrays as ``values.py`` says."""
    from .values import Writer

    writer = Writer(obj)

    class Pickler(pickle_module.Pickler):
        def reducer_override(self, value: Any) -> Any:
            found = writer.reduced(value)
            if found is NotImplemented and hasattr(pickle_module.Pickler, "reducer_override"):
                return super().reducer_override(value)
            return found

    return Pickler(buffer, protocol=protocol)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that :func:`save` wrote.

    Args:
        f: a path or a file object.
        map_location: where tensors go; they are on the CPU always.
        pickle_module: another module with pickle's ``load``; only with ``weights_only=False``.
        weights_only: whether the file may hold nothing but data: tensors, arrays, numbers, dates,
            text and containers of them (the default). Set it to False only for files you trust:
            loading one can run any code.
        mmap: not supported.
        **pickle_load_args: further arguments of ``pickle_module.load``; for data they are of no
            consequence.

    Raises:
        RuntimeError: if the file is damaged, or no checkpoint.
        pickle.UnpicklingError: if the file holds or asks for anything else than data.
    """
    if mmap:
        raise NotImplementedError("load: mmap is not supported; files are read whole")
    only_data = pickle_module is None if weights_only is None else weights_only
    if only_data and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified; leave it out or "
            "set weights_only=False"
        )
    content = f.read() if hasattr(f, "read") else Path(f).read_bytes()
    start, stop = _packed_range(content, getattr(f, "name", f))
    if not only_data:
        file = io.BytesIO(content[start:stop])
        return (pickle_module or pickle).load(file, **pickle_load_args)
    from . import allowed, older
    from .unpickler import ClosedUnpickler

    names: Any = older if content.startswith(_FIRST_MAGIC) else allowed
    return ClosedUnpickler(
        content, names.NAMES, names.CONSTRUCTORS, names.BUILDERS, start=start, stop=stop
    ).load()


def _packed_range(content: bytes, name: Any) -> tuple[int, int]:
    """Where in a file pickle's part lies, or an error that says what is wrong with the file."""
    if not content:
        raise EOFError("Ran out of input")
    if not content.startswith((_MAGIC, _FIRST_MAGIC)):
        raise RuntimeError(
            f"load: {name} is no numbagrad checkpoint; files of torch are read with torch, whose "
            "tensors from_numpy() takes"
        )
    start, stop = len(_MAGIC), len(content) - _DIGEST_SIZE
    packed = memoryview(content)[start : max(start, stop)]
    if hashlib.sha256(packed).digest() != content[stop:]:
        raise RuntimeError(f"load: {name} is damaged: its checksum does not match its content")
    return start, stop
