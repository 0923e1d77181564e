"""``save`` and ``load``: tensors, state dicts and what holds them, as files of pickle's protocol.

A file is written beside its destination, brought to disk and renamed into place, so that a process
killed at any moment leaves the old file or the new one, whole. A checksum at the end tells a file
that was damaged later.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ["load", "save"]

#: How a file begins; the number is that of the format.
_MAGIC = b"numbagrad checkpoint 1\n"
_DIGEST_SIZE = 32

#: What files may name when only data is wanted: containers, numbers, tensors and their parts.
_DATA = {
    "builtins": {"bool", "bytearray", "complex", "dict", "float", "frozenset", "int", "list",
                 "object", "range", "set", "slice", "str", "tuple"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "numpy": {"dtype", "ndarray"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.numeric": {"_frombuffer"},
}  # fmt: skip

#: What of this package is data: classes and the functions that rebuild their objects.
_OWN_DATA = {
    "numbagrad.tensor": {"Tensor", "_unpickled"},
    "numbagrad.nn.parameter": {"Buffer", "Parameter"},
    "numbagrad.size": {"Size"},
    "numbagrad.dtype": {"dtype", "dtype_from_name", "_by_name"},
    "numbagrad.device": {"device"},
}


def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = pickle,
    pickle_protocol: int = pickle.DEFAULT_PROTOCOL,
) -> None:
    """Write an object to a file that :func:`load` reads.

    Tensors that share memory through one array do so again when loaded. Gradients of parameters
    are not saved.

    Args:
        obj: tensors, state dicts, numbers, text, and containers of them; or any object that pickle
            can write, which ``load`` reads with ``weights_only=False``.
        f: a path, replaced in one step, or a file object, which is written as it is.
        pickle_module: another module with pickle's ``dump``.
        pickle_protocol: the version of pickle's format.
    """
    if hasattr(f, "write"):
        f.write(_packed(obj, pickle_module, pickle_protocol))
        return
    # Packed before a file is opened: an object that cannot be written leaves no trace.
    _replace(Path(f), _packed(obj, pickle_module, pickle_protocol))


def _packed(obj: Any, pickle_module: Any, protocol: int) -> bytes:
    buffer = io.BytesIO()
    pickle_module.dump(obj, buffer, protocol=protocol)
    content = buffer.getvalue()
    return _MAGIC + content + hashlib.sha256(content).digest()


def _replace(path: Path, content: bytes) -> None:
    """Let ``path`` hold ``content``: all of it, or what was there before."""
    import tempfile  # slow to import, and most programs save nothing

    folder = path.parent
    # Beside the destination, since only within one file system does a rename replace in one step.
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(folder)


def _mode(path: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Bring the rename itself to disk, where folders can be opened for that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        weights_only: whether the file may name nothing but data (the default). Set it to False
            only for files you trust: loading one can run any code.
        mmap: not supported.

    Raises:
        RuntimeError: if the file is damaged, or no checkpoint.
        pickle.UnpicklingError: if the file names other classes than those of data.
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
    buffer = io.BytesIO(_checked(content, getattr(f, "name", f)))
    if only_data:
        return _DataUnpickler(buffer, **pickle_load_args).load()
    return (pickle_module or pickle).load(buffer, **pickle_load_args)


def _checked(content: bytes, name: Any) -> bytes:
    """What was packed, or an error that says what is wrong with the file."""
    if not content:
        raise EOFError("Ran out of input")
    if not content.startswith(_MAGIC):
        raise RuntimeError(
            f"load: {name} is no numbagrad checkpoint; files of torch are read with torch, whose "
            "tensors from_numpy() takes"
        )
    packed, digest = content[len(_MAGIC) : -_DIGEST_SIZE], content[-_DIGEST_SIZE:]
    if hashlib.sha256(packed).digest() != digest:
        raise RuntimeError(f"load: {name} is damaged: its checksum does not match its content")
    return packed


class _DataUnpickler(pickle.Unpickler):
    """Reads what can run no code of the file's choice."""

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if name in _DATA.get(module, ()) or name in _OWN_DATA.get(module, ()):
            return super().find_class(module, name)
        if module in ("numpy", "numpy.dtypes") and name.endswith("DType"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Weights only load failed: the file names {module}.{name}, which is not data. If you "
            "trust the file, load it with weights_only=False, which can run any code in it."
        )
