"""Checkpoints that this package wrote before it wrote torch's format: a pickle with a checksum.

Tensors and arrays in them are calls of the functions of ``values.py``, in the first of the two
versions those of NumPy (``legacy_names.py``). They are read as torch's are: by a closed list of
names.
"""

from __future__ import annotations

import hashlib
import io
from typing import Any

#: How a file begins; the number is that of the format.
_MAGIC = b"numbagrad checkpoint 2\n"
#: The format in which arrays were written as NumPy pickles them.
_FIRST_MAGIC = b"numbagrad checkpoint 1\n"
_DIGEST_SIZE = 32


def load(content: bytes, name: Any, pickle_module: Any, arguments: dict[str, Any]) -> Any:
    """The object of a file; ``pickle_module`` is None for nothing but data.

    Raises:
        RuntimeError: if the file is damaged, or none of these.
    """
    start, stop = _packed_range(content, name)
    if pickle_module is not None:
        return pickle_module.load(io.BytesIO(content[start:stop]), **arguments)
    from . import allowed, legacy_names
    from .unpickler import ClosedUnpickler

    names: Any = legacy_names if content.startswith(_FIRST_MAGIC) else allowed
    return ClosedUnpickler(
        content, names.NAMES, names.CONSTRUCTORS, names.BUILDERS, start=start, stop=stop
    ).load()


def _packed_range(content: bytes, name: Any) -> tuple[int, int]:
    """Where in a file pickle's part lies, or an error that says what is wrong with the file."""
    if not content.startswith((_MAGIC, _FIRST_MAGIC)):
        raise RuntimeError(
            f"load: {name} is no checkpoint: it begins with none of the formats that torch.save "
            "has had"
        )
    start, stop = len(_MAGIC), len(content) - _DIGEST_SIZE
    packed = memoryview(content)[start : max(start, stop)]
    if hashlib.sha256(packed).digest() != content[stop:]:
        raise RuntimeError(f"load: {name} is damaged: its checksum does not match its content")
    return start, stop


__all__ = ["load"]
