"""Whether objects lie in memory as compiled launchers read them, found by looks at real ones.

Launchers read the heads of arrays, lists and dictionaries at the places that ``object_heads.py``
names, and count references themselves. Those places hold for the CPython and the
NumPy that this was written for. ``disagreement`` looks at objects of this process once, when the
package is imported (25 µs): where one place differs, no launcher is used, and calls are
planned in Python (``NUMBAGRAD_NATIVE=0`` does the same by hand). Slots of this package's own
classes need no probe: their places are looked up (``ops/operators/native_launchers.py``).
"""

from __future__ import annotations

import ctypes
import struct
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import object_heads
from .object_heads import ArrayHead, CellHead, DescriptorHead, DictionaryHead, ListHead, ObjectHead

__all__ = ["disagreement"]

#: Versions of CPython under which the tests have run.
KNOWN = range(10, 15)


def disagreement() -> str | None:
    """The first fact that is not as launchers expect it, in words; None if all are."""
    return next(_disagreements(), None)


def _disagreements() -> Iterator[str]:
    # In this order: nothing is read at a place that an earlier answer makes doubtful.
    if sys.implementation.name != "cpython":
        yield f"the interpreter is {sys.implementation.name}, not CPython"
    version = sys.version_info
    if version[0] != 3 or version[1] not in KNOWN:
        yield f"CPython {version[0]}.{version[1]} is not known"
    if "t" in getattr(sys, "abiflags", ""):
        yield "this CPython has no global interpreter lock"
    if struct.calcsize("P") != 8 or sys.byteorder != "little":
        yield "addresses are not of 64 bits, the lowest first"
    if not _counts_are_first():
        yield "objects do not begin with their count of references"
    if _word(id(np.float64) + ObjectHead.type.offset) != id(type):
        yield "the type of an object is elsewhere"
    yield from _of_arrays()
    if not _lists_are_known():
        yield "lists are laid out in another way"
    cell = types.CellType(ObjectHead)
    if _word(id(cell) + CellHead.contents.offset) != id(ObjectHead):
        yield "the contents of a cell are elsewhere"
    if not _dictionaries_are_known():
        yield "dictionaries are laid out in another way"


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _half_word(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _counts_are_first() -> bool:
    """Whether a new reference adds one to the first half word, and eternal objects have no count.

    From CPython 3.12 on the lower half of the count of what lives for ever is negative.
    """
    probe = object()
    before = _half_word(id(probe))
    held = [probe, probe]
    more = _half_word(id(probe)) - before
    eternal = _half_word(id(None)) < 0
    return more == len(held) and eternal == (sys.version_info >= (3, 12))


def _of_arrays() -> Iterator[str]:
    whole = np.zeros((3, 5, 4), np.int16)
    part: Any = whole[1:, ::2, :3]  # its data, sizes and strides are all different
    sizes, strides = list(part.shape), list(part.strides)
    head = id(part)
    found = {
        "data": _word(head + ArrayHead.data.offset) == part.__array_interface__["data"][0],
        "number of dimensions": _half_word(head + ArrayHead.dimensions.offset) == part.ndim,
        "shape": _words_at(_word(head + ArrayHead.shape.offset), 3, sizes),
        "strides": _words_at(_word(head + ArrayHead.strides.offset), 3, strides),
        "base": _word(head + ArrayHead.base.offset) == id(whole),
        "dtype": _word(head + ArrayHead.descriptor.offset) == id(part.dtype),
        "flags": _half_word(head + ArrayHead.flags.offset) == part.flags.num
        and _half_word(id(whole) + ArrayHead.flags.offset) == whole.flags.num
        and _flags_are_known(whole),
        "handler of memory": _is_capsule(_word(id(whole) + ArrayHead.handler.offset)),
    }
    yield from (
        f"the {name} of an array is elsewhere" for name, right in found.items() if not right
    )
    swapped = np.dtype(">f8")
    kind = id(swapped)
    if _half_word(kind + DescriptorHead.type_number.offset) != swapped.num:
        yield "the number of a dtype is elsewhere"
    if ctypes.string_at(kind + DescriptorHead.byte_order.offset, 1) != b">":
        yield "the byte order of a dtype is elsewhere"


def _words_at(address: int, count: int, expected: list[int]) -> bool:
    """Whether there are these words; an address that is none of the array's is not followed."""
    if address < 1 << 16 or address % 8:
        return False
    return list((ctypes.c_int64 * count).from_address(address)) == expected


def _flags_are_known(whole: np.ndarray[Any, Any]) -> bool:
    expected = (
        object_heads.FLAG_CONTIGUOUS
        | object_heads.FLAG_OWNS_DATA
        | object_heads.FLAG_ALIGNED_WRITEABLE
    )
    return whole.flags.num & expected == expected


def _is_capsule(address: int) -> bool:
    capsule = type(np._core._multiarray_umath._ARRAY_API)
    return address > 1 << 16 and _word(address + ObjectHead.type.offset) == id(capsule)


def _lists_are_known() -> bool:
    probe = [object(), object(), object()]
    if _word(id(probe) + ListHead.size.offset) != len(probe):
        return False
    items = _word(id(probe) + ListHead.items.offset)
    return _words_at(items, len(probe), [id(item) for item in probe])


def _dictionaries_are_known() -> bool:
    """Whether their size is where it should be, and up to CPython 3.11 a number that changes."""
    probe = {"a": 1, "b": 2, "c": 3}
    if _word(id(probe) + DictionaryHead.size.offset) != len(probe):
        return False
    if sys.version_info >= (3, 12):
        return True
    before = _word(id(probe) + DictionaryHead.version.offset)
    probe["a"] = 4
    return _word(id(probe) + DictionaryHead.version.offset) != before
