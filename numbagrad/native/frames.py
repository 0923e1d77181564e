"""The function that a frame runs, which CPython knows and does not tell.

``compiling/reachable_state.py`` asks it of every frame that a recording enters: a code object does
not say which of its functions runs, and to ask the garbage collector who refers to the code looks
through all objects of the process.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import types

from ..codegen.record import Word
from ..referrers import referrers
from .object_heads import ObjectHead

__all__ = ["functions_of", "is_told"]


class FrameHead(ObjectHead):
    """CPython's PyFrameObject, from 3.11 on."""

    back = Word()
    inner = Word()  # address of the frame that the interpreter runs on


#: Words of an interpreter's frame among which the function is looked for.
_WORDS = 6
#: Bits that CPython 3.14 keeps in the words of a frame beside an address.
_TAGS = 0b11


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _is_here() -> types.FrameType:
    return sys._getframe()


@functools.cache
def _position() -> int | None:
    """Where the function is in an interpreter's frame; None where it cannot be known.

    Up to CPython 3.10 a frame knows its code alone.
    """
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 14):
        return None
    frame = _is_here()
    if _word(id(frame) + ObjectHead.type.offset) != id(types.FrameType):
        return None
    inner = _word(id(frame) + FrameHead.inner.offset)
    found = [8 * k for k in range(_WORDS) if (_word(inner + 8 * k) & ~_TAGS) == id(_is_here)]
    del frame  # leads back to this one, and with it to all that callers hold
    return found[0] if len(found) == 1 else None


def is_told() -> bool:
    """Whether ``functions_of`` finds one function at once; else it looks through all objects."""
    return _position() is not None


def functions_of(frame: types.FrameType) -> list[types.FunctionType]:
    """The function that ``frame`` runs, or else all that have its code; empty for a module's."""
    code, position = frame.f_code, _position()
    if position is not None:
        inner = _word(id(frame) + FrameHead.inner.offset)
        address = _word(inner + position) & ~_TAGS
        function = ctypes.cast(address, ctypes.py_object).value
        if isinstance(function, types.FunctionType) and function.__code__ is code:
            return [function]
    return [x for x in referrers(code) if isinstance(x, types.FunctionType)]
