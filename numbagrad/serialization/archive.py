"""The container of a checkpoint: a zip archive whose entries are stored as they are.

``save`` writes one entry after the other, without seeking, each beginning at a multiple of 64 bytes
so that it can be mapped into memory; ``load`` reads entries back by name and looks at nothing that
lies outside of them. Sizes and offsets above 4 GiB are written as ZIP64 has them.
"""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Entries begin at multiples of this many bytes.
ALIGNMENT = 64
#: Bytes that are read at once.
_PART = 1 << 18
#: The folder of the entries.
_ROOT = "archive"
#: The version of the zip format that ZIP64 came with.
_VERSION = 45
_LARGEST = 0xFFFFFFFF
_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
#: 1 January 1980, the first day that the format has.
_DATE = 0x21


class ArchiveWriter:
    """Writes an archive to a function that takes bytes.

    Args:
        write: called with the parts of the file, in their order.
    """

    def __init__(self, write: Callable[[Any], Any]) -> None:
        self._write = write
        self._position = 0
        self._central: list[bytes] = []

    def entry(self, name: str, content: Any) -> None:
        """Add an entry ``archive/name`` with the bytes of a buffer."""
        path = f"{_ROOT}/{name}".encode()
        size = memoryview(content).nbytes
        checksum = zlib.crc32(content)
        start = self._position
        large = size >= _LARGEST
        sizes = (_LARGEST, _LARGEST) if large else (size, size)
        extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
        begins = start + _LOCAL.size + len(path) + len(extra) + 4
        extra += struct.pack("<2sH", b"FB", -begins % ALIGNMENT) + b"Z" * (-begins % ALIGNMENT)
        head = (_VERSION, 0, 0, 0, _DATE, checksum, *sizes, len(path))
        self._out(_LOCAL.pack(0x04034B50, *head, len(extra)) + path + extra)
        self._out(content, size)
        self._note(start, size, head, path)

    def _note(self, start: int, size: int, head: tuple[int, ...], path: bytes) -> None:
        """Keep what the directory at the end says of an entry."""
        large = [size, size] if size >= _LARGEST else []
        if start >= _LARGEST:
            large.append(start)
        extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
        position = min(start, _LARGEST)
        fixed = (0x02014B50, _VERSION, *head, len(extra), 0, 0, 0, 0, position)
        self._central.append(_CENTRAL.pack(*fixed) + path + extra)

    def close(self) -> None:
        """Write the directory."""
        start, content = self._position, b"".join(self._central)
        self._out(content)
        count, size = len(self._central), len(content)
        if count >= 0xFFFF or start >= _LARGEST or size >= _LARGEST:
            end = self._position
            fields = (0x06064B50, 44, _VERSION, _VERSION, 0, 0, count, count, size, start)
            self._out(struct.pack("<IQHHIIQQQQ", *fields))
            self._out(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        count, size, start = min(count, 0xFFFF), min(size, _LARGEST), min(start, _LARGEST)
        self._out(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, size, start, 0))

    def _out(self, content: Any, size: int | None = None) -> None:
        self._write(content)
        self._position += len(content) if size is None else size


class FileContent:
    """The bytes of an open file from ``begin`` on; parts are read as they are asked for."""

    def __init__(self, file: Any, begin: int = 0) -> None:
        self._file, self._begin = file, begin
        self._size = file.seek(0, io.SEEK_END) - begin

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        self._file.seek(self._begin + start)
        found: bytes = self._file.read(max(stop - start, 0))
        return found

    def into(self, target: Array, start: int) -> tuple[int, int]:
        """Read the bytes from ``start`` on into an array.

        Returns how many there were, and their checksum, which is computed of each part while the
        processor's cache has it.
        """
        self._file.seek(self._begin + start)
        count = checksum = 0
        for begin in range(0, target.size, _PART):
            part = target[begin : begin + _PART]
            count += self._file.readinto(part)
            checksum = zlib.crc32(part.data, checksum)
        return count, checksum


Content = bytes | mmap.mmap | FileContent


class Archive:
    """Entries of an archive by name, without the folder that they lie in.

    Args:
        content: the bytes of the file; a ``FileContent`` or an ``mmap`` is read as it is used.
        name: what errors call the file.

    Raises:
        RuntimeError: for what is no archive, or was cut off or altered.
    """

    def __init__(self, content: Content, name: Any) -> None:
        self._content = content
        self._name = name
        reader: Any = _Reader(content)
        try:
            with zipfile.ZipFile(reader) as opened:
                entries = opened.infolist()
        except Exception as error:  # zipfile raises what its fields make it raise
            raise self._damaged(f"its directory cannot be read ({error})") from error
        roots = {entry.filename.partition("/")[0] for entry in entries}
        if len(roots) != 1:
            raise self._damaged("its entries lie in several folders")
        self._entries = {entry.filename.partition("/")[2]: entry for entry in entries}
        if len(self._entries) != len(entries):
            raise self._damaged("two entries have one name")
        #: Bytes that may still be copied: the entries of a file do not overlap.
        self._left = len(content)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        """The names of all entries."""
        return list(self._entries)

    def read(self, name: str) -> bytes:
        """The content of an entry, if its checksum is right."""
        start, size = self._range(name)
        content = self._content[start : start + size]
        self._check(name, zlib.crc32(content))
        return content

    def memory(self, name: str) -> Array:
        """The content of an entry as memory of its own, or as that of the mapped file.

        The checksum of what is mapped is not computed, which would read all of it.
        """
        start, size = self._range(name)
        content = self._content
        if isinstance(content, mmap.mmap) and start % 16 == 0:
            return np.frombuffer(content, np.uint8, size, start)
        self._left -= size
        if self._left < 0:
            raise self._damaged("its entries overlap")
        made = np.empty(size, np.uint8)
        if isinstance(content, FileContent):
            count, checksum = content.into(made, start)
            if count != size:
                raise self._damaged("it was cut off while it was read")
        else:
            made[:] = np.frombuffer(content, np.uint8, size, start)
            checksum = zlib.crc32(made.data)
        self._check(name, checksum)
        return made

    def _range(self, name: str) -> tuple[int, int]:
        """Where the bytes of an entry begin, and how many there are."""
        entry = self._entries.get(name)
        if entry is None:
            raise self._damaged(f"it has no entry {name!r}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise RuntimeError(
                f"load: {self._name} is compressed or encrypted; checkpoints store their entries "
                "as they are: write it again with torch.save"
            )
        position, size = entry.header_offset, entry.file_size
        head = self._content[position : position + _LOCAL.size]
        if len(head) != _LOCAL.size or head[:4] != b"PK\x03\x04":
            raise self._damaged(f"the entry {name!r} does not begin where the directory says")
        start = position + _LOCAL.size + sum(_LOCAL.unpack(head)[-2:])
        if entry.compress_size != size or start + size > len(self._content):
            raise self._damaged(f"the entry {name!r} does not lie within it")
        return start, size

    def _check(self, name: str, checksum: int) -> None:
        expected = self._entries[name].CRC
        # torch can be told to write no checksums, which are zero then.
        if expected and checksum != expected:
            raise self._damaged(f"the checksum of its entry {name!r} is another one")

    def _damaged(self, reason: str) -> RuntimeError:
        return RuntimeError(f"load: {self._name} is damaged or no checkpoint: {reason}")


class _Reader(io.RawIOBase):
    """The bytes of a file as a file object, which closes nothing."""

    def __init__(self, content: Any) -> None:
        self._content, self._position = content, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        start = (0, self._position, len(self._content))[whence]
        if start + offset < 0:
            raise OSError("a place before the beginning of the file")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        stop = len(self._content) if size is None or size < 0 else self._position + size
        found: bytes = self._content[self._position : stop]
        self._position += len(found)
        return found


__all__ = ["ALIGNMENT", "Archive", "ArchiveWriter", "Content", "FileContent"]
