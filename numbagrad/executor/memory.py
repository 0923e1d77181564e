"""Where large arrays are written: past the caches, if they would not fit.

Called by ``builtin.py``, which tells the launchers.
"""

from __future__ import annotations

import pathlib

_CACHES = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")

#: The size of the last cache where the system does not tell.
_USUAL_CACHE_BYTES = 32 << 20


def last_cache_bytes() -> int:
    """Size of the largest cache of the first CPU."""
    sizes = [_USUAL_CACHE_BYTES]
    try:
        found = [file.read_text() for file in _CACHES.glob("index*/size")]
        sizes = [int(text.strip().removesuffix("K")) << 10 for text in found] or sizes
    except (OSError, ValueError):  # no such files, or not in kilobytes: the usual size will do
        pass
    return max(sizes)


def stream_bytes() -> int:
    """Bytes from which on an output is written past the caches.

    An operator's input and output, and what is left of the cache's other contents: at a third of
    the cache each, measured chains of operators begin to be faster if outputs are not kept in it.
    """
    return last_cache_bytes() * 3 // 8
