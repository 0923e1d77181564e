"""Object files on disk, under explicit keys, safe against other processes and damaged files.

Called by ``numbagrad.executor.cache.library``. An entry is written to a temporary file and
renamed, so a reader never sees half of one; it carries a checksum of its key and its bytes, so an
entry that was truncated, altered or renamed is a miss. A folder that cannot be written makes the
cache a no-op: the program runs and compiles again. Entries are machine code, so what another user
could have written is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import stat
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
        chosen = os.environ.get("XDG_CACHE_HOME", "")
        # Its specification says that a relative one is to be ignored.
        base = chosen if os.path.isabs(chosen) else pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "numbagrad"


class ObjectCache:
    """A folder of object files and of the generated sources they were compiled from."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        self._warned = False
        self._warned_of_others = False

    def read(self, key: str) -> bytes | None:
        """The object stored under ``key``, or None if there is none that is whole."""
        path = self.directory / f"{key}.o"
        try:
            if not self._is_ours(self.directory, os.stat(self.directory)):
                return None
            with open(path, "rb") as file:
                if not self._is_ours(path, os.fstat(file.fileno())):
                    return None
                data = file.read()
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

    def _is_ours(self, path: pathlib.Path, state: os.stat_result) -> bool:
        """Whether only this user, and root, can have written a file or folder; warns once."""
        if not hasattr(os, "geteuid"):  # Windows, where folders of users are closed to others
            return True
        if state.st_uid not in (os.geteuid(), 0):
            reason = f"belongs to another user ({state.st_uid})"
        elif state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            reason = "can be written by other users (chmod go-w it if only you have)"
        else:
            return True
        if not self._warned_of_others:
            self._warned_of_others = True
            warnings.warn(
                f"numbagrad does not use compiled kernels in {path}, which {reason}; they are "
                "compiled again. Remove it, or set NUMBAGRAD_CACHE_DIR to a folder of your own.",
                RuntimeWarning,
                stacklevel=3,
            )
        return False

    def _replace(self, name: str, data: bytes) -> None:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_ours(self.directory, os.stat(self.directory)):
                self._write_and_rename(name, data)
        except OSError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"numbagrad cannot keep compiled kernels in {self.directory} ({error}); they "
                    "will be compiled again in the next process. Set NUMBAGRAD_CACHE_DIR to a "
                    "folder that can be written.",
                    RuntimeWarning,
                    stacklevel=2,
                )

    def _write_and_rename(self, name: str, data: bytes) -> None:
        """Write a file beside the entry and put it in its place; Ctrl-C leaves none behind."""
        import tempfile  # slow to import, and not needed where everything is cached

        handle, temporary = tempfile.mkstemp(dir=self.directory, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, self.directory / name)
        except BaseException:
            with contextlib.suppress(OSError):  # the caller is told of the cause
                os.unlink(temporary)
            raise


def _header(key: str, payload: bytes) -> bytes:
    """The head of an entry: its kind, a checksum, and the ``key`` that it belongs to."""
    return _MAGIC + hashlib.sha256(key.encode() + payload).digest()
