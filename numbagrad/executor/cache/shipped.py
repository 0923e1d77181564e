"""Kernels that come with the package, compiled ahead for microarchitecture levels.

A file a level in ``numbagrad/shipped/``, written by ``tools/ship_kernels.py`` when a wheel is made;
a checkout has none. ``executor/cache/library.py`` asks here for what the cache of the user does
not have, and the keys are those of the cache, so a kernel whose source, compiler or versions
differ in anything is not found. A file is a line of magic, the length of the index, the index
(JSON: key, place, length) and the objects, compressed one by one.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import struct
import zlib
from collections.abc import Mapping

_MAGIC = b"numbagrad-shipped-1\n"
_LENGTH = struct.Struct("<Q")

FOLDER = pathlib.Path(__file__).parents[2] / "shipped"


class Shipped:
    """The kernels of one file; without the file there are none."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        # A checkout has no such file, nor has a CPU that no kernels were compiled ahead for.
        self._start, self._positions = _index(path) if path.exists() else (0, {})

    def __len__(self) -> int:
        return len(self._positions)

    def read(self, key: str) -> bytes | None:
        """The object file of a kernel, or None."""
        position = self._positions.get(key)
        if position is None:
            return None
        with open(self.path, "rb") as file:
            file.seek(self._start + position[0])
            return zlib.decompress(file.read(position[1]))


def _index(path: pathlib.Path) -> tuple[int, dict[str, tuple[int, int]]]:
    """Where the objects of a file begin, and where each lies from there."""
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise RuntimeError(f"{path} holds no kernels; install the package again")
        (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
        positions = json.loads(file.read(length))
        return file.tell(), positions


@functools.cache
def of_level(level: str) -> Shipped:
    """The kernels for a CPU of :data:`numbagrad.codegen.loader.LEVELS`."""
    return Shipped(FOLDER / f"{level}.kernels")


#: NUMBAGRAD_SHIPPED=0 has everything compiled for this very CPU.
ENABLED = os.environ.get("NUMBAGRAD_SHIPPED", "1") != "0"


def write(path: pathlib.Path, objects: Mapping[str, bytes]) -> None:
    """Write the file of a level; the same kernels make the same bytes."""
    positions, packed, at = {}, [], 0
    for key in sorted(objects):
        data = zlib.compress(objects[key], 9)
        positions[key] = at, len(data)
        packed.append(data)
        at += len(data)
    index = json.dumps(positions, separators=(",", ":")).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join([_MAGIC, _LENGTH.pack(len(index)), index, *packed]))
