"""Bringing a file to disk in one step: ``save`` calls ``write_file``.

The content is written beside its destination and renamed into place, so that a process killed at
any moment leaves the old file or the new one, whole. The temporary file that it leaves behind is
removed by the next save to the same place: its name says where it belongs, and a process that
still writes one holds a lock on it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows, which refuses to remove a file that a process has open
    fcntl = None  # type: ignore[assignment]

#: How temporary files are called, after the name of the file that they become.
_ENDING = ".{}.saving"


def write_file(path: Path, write: Callable[[Callable[[Any], Any]], None]) -> None:
    """Let ``path`` hold what ``write`` writes: all of it, or what was there before.

    Links are followed. What is no regular file, as a pipe or a device, is written to as it is.

    Args:
        path: of the file.
        write: called with a function that takes the parts of the content, in their order.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:  # raises for a folder
            write(file.write)
        return
    path = Path(os.path.realpath(path))
    _remove_left_behind(path)
    descriptor, temporary = _open_temporary(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file.write)
            file.flush()
            os.fsync(descriptor)
            os.chmod(temporary, _mode_of_new_files() if mode is None else stat.S_IMODE(mode))
            if fcntl is not None:  # while the lock is held, nobody takes it for left behind
                os.replace(temporary, path)
        if fcntl is None:
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _open_temporary(path: Path) -> tuple[int, Path]:
    """A new file beside ``path``, locked.

    Beside it, since only within one file system does a rename replace a file in one step.
    """
    while True:
        temporary = path.parent / (_prefix(path) + _ENDING.format(secrets.token_hex(8)))
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        descriptor = os.open(temporary, flags, 0o600)
        try:
            # Another save may have found it before the lock, and removed it.
            if not _lock(descriptor) or temporary.exists():
                return descriptor, temporary
        except BaseException:
            temporary.unlink(missing_ok=True)
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock an open file, until it is closed; False where that cannot be done."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked by another process, or a file system without locks
        return False
    return True


def _prefix(path: Path) -> str:
    """How the names of temporary files begin that become ``path``."""
    name = path.name
    if len(os.fsencode(name)) > 200:  # with an ending, it would be too long for a name
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}"


def _remove_left_behind(path: Path) -> None:
    """Remove temporary files of saves to ``path`` that were killed."""
    pattern = re.compile(re.escape(_prefix(path)) + _ENDING.format("[0-9a-f]{16}"))
    for entry in os.scandir(path.parent):
        if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            # Another user's, or one that somebody else removes just now, is none of ours.
            with contextlib.suppress(PermissionError, FileNotFoundError):
                _remove_unless_locked(entry.path)


def _remove_unless_locked(path: str) -> None:
    if fcntl is None:
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _lock(descriptor):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _mode_of_new_files() -> int:
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


__all__ = ["write_file"]
