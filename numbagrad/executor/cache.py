"""Object files on disk, under explicit keys, safe against other processes and damaged files.

Called by ``numbagrad.executor.library``. An entry is written to a temporary file and renamed, so a
reader never sees half of one; it carries a checksum of its key and its bytes, so an entry that was
truncated, altered or renamed is a miss. A folder that cannot be written makes the cache a no-op:
the program runs and compiles again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import sys
import warnings

_MAGIC = b"numbagrad-object-2\n"


def default_directory() -> pathlib.Path:
    """``NUMBAGRAD_CACHE_DIR``, or the user's cache folder as the platform defines it."""
    chosen = os.environ.get("NUMBAGRAD_CACHE_DIR")
    if chosen:
        return pathlib.Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or pathlib.Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = pathlib.Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "numbagrad"


class ObjectCache:
    """A folder of object files and of the generated sources they were compiled from."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        self._warned = False

    def read(self, key: str) -> bytes | None:
        """The object stored under ``key``, or None if there is none that is whole."""
        try:
            data = (self.directory / f"{key}.o").read_bytes()
        except OSError:
            return None
        header_size = len(_MAGIC) + hashlib.sha256().digest_size
        payload = data[header_size:]
        return payload if data[:header_size] == _header(key, payload) else None

    def write(self, key: str, payload: bytes) -> None:
        """Store an object; a failure to write warns once and is otherwise harmless."""
        self._replace(f"{key}.o", _header(key, payload) + payload)

    def write_source(self, key: str, text: str) -> pathlib.Path:
        """Store a generated source, for a reader and for debuggers; return where it lies."""
        name = f"{key}.py"
        self._replace(name, text.encode())
        return self.directory / name

    def source_path(self, key: str) -> pathlib.Path:
        """Where the generated source of ``key`` lies (if the folder could be written)."""
        return self.directory / f"{key}.py"

    def _replace(self, name: str, data: bytes) -> None:
        import tempfile  # slow to import, and not needed where everything is cached

        temporary = None
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.directory, prefix=".writing-")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, self.directory / name)
        except OSError as error:
            if temporary is not None:
                with contextlib.suppress(OSError):  # the warning below is about the cause
                    os.unlink(temporary)
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"numbagrad cannot keep compiled kernels in {self.directory} ({error}); they "
                    "will be compiled again in the next process. Set NUMBAGRAD_CACHE_DIR to a "
                    "folder that can be written.",
                    RuntimeWarning,
                    stacklevel=2,
                )


def _header(key: str, payload: bytes) -> bytes:
    """What an entry begins with: what it is, and that it is whole and belongs to ``key``."""
    return _MAGIC + hashlib.sha256(key.encode() + payload).digest()
