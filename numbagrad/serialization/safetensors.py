"""Files of the safetensors format: tensors by name, and nothing else.

Eight bytes with the size of a header, the header (JSON: for each tensor its dtype, its shape and
where its bytes lie), and the bytes of the tensors, one after the other without gaps. Files are
described at https://github.com/huggingface/safetensors. Nothing in one runs, and the header is
checked against the file before a tensor is made.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..backend import backend_for, on_host
from ..device import device as Device
from ..dtype import (
    bfloat16,
    bool_,
    complex64,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..dtype import dtype as DType
from ..tensor import Tensor, new_tensor

__all__ = ["SafetensorError", "load", "load_file", "safe_open", "save", "save_file"]

Array = np.ndarray[Any, Any]

_DTYPES = {
    "F64": float64, "F32": float32, "F16": float16, "BF16": bfloat16, "I64": int64, "I32": int32,
    "I16": int16, "I8": int8, "U8": uint8, "BOOL": bool_, "C64": complex64,
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
#: As the format has it.
_LARGEST_HEADER = 100_000_000
_ALIGNMENT = 8
_METADATA = "__metadata__"


class SafetensorError(Exception):
    """A file is not of the format, or has no tensor of a name."""


# ---------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a file with tensors by name.

    Args:
        tensors: dense, and none of them with memory of another.
        metadata: texts by name.

    Raises:
        TypeError: for names or metadata that are no texts, and for what is no tensor.
        ValueError: for a dtype that the format does not have.
        RuntimeError: for tensors that share memory, or have gaps.
    """
    parts: list[bytes] = []
    _write(tensors, metadata, lambda part: parts.append(bytes(part)))
    return b"".join(parts)


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a file with tensors by name, as :func:`save`; a file there is replaced whole."""
    from .replacement import write_file

    found = _checked(tensors, metadata)
    write_file(Path(filename), lambda out: _write_checked(found, metadata, out))


def _write(tensors: Any, metadata: Any, out: Callable[[Any], Any]) -> None:
    _write_checked(_checked(tensors, metadata), metadata, out)


def _checked(tensors: Any, metadata: Any) -> list[tuple[str, DType, Array]]:
    """Names, dtypes and arrays in the order of the file: larger elements first, so that each lies
    at a multiple of its size, then by name.
    """
    if not isinstance(tensors, Mapping):
        raise TypeError(f"save: expected a dict of tensors by name, not {type(tensors).__name__}")
    if metadata is not None and not all(
        isinstance(key, str) and isinstance(value, str) for key, value in metadata.items()
    ):
        raise TypeError("save: metadata are texts by name")
    found = []
    for name, tensor in tensors.items():
        if not isinstance(name, str) or name == _METADATA:
            raise TypeError(f"save: a tensor has a text as its name, not {name!r}")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"save: {name!r} is no tensor but a {type(tensor).__name__}")
        if tensor.dtype not in _NAMES:
            raise ValueError(
                f"save: the format has no {tensor.dtype}, which {name!r} is of; convert it"
            )
        if not tensor.is_contiguous():
            raise RuntimeError(
                f"save: the tensor {name!r} is not contiguous; save tensor.contiguous()"
            )
        found.append((name, tensor.dtype, on_host(tensor.detach().resolve_conj()._array)))
    _check_not_shared(found)
    return sorted(found, key=lambda each: (-each[1].itemsize, each[0]))


def _check_not_shared(found: list[tuple[str, DType, Array]]) -> None:
    positions = sorted(
        (array.ctypes.data, array.ctypes.data + array.nbytes, name)
        for name, _, array in found
        if array.size
    )
    for one, other in zip(positions, positions[1:], strict=False):
        if other[0] < one[1]:
            raise RuntimeError(
                f"save: the tensors {one[2]!r} and {other[2]!r} share memory, which the format "
                "cannot say; leave one out, or save a clone() of it"
            )


def _write_checked(
    found: list[tuple[str, DType, Array]], metadata: Any, out: Callable[[Any], Any]
) -> None:
    header: dict[str, Any] = {} if metadata is None else {_METADATA: dict(metadata)}
    position = 0
    for name, dtype, array in found:
        header[name] = {
            "dtype": _NAMES[dtype],
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    out(struct.pack("<Q", len(text)))
    out(text)
    for _, _, array in found:
        if array.size:
            dense = np.ascontiguousarray(array)
            out((ctypes.c_char * dense.nbytes).from_address(dense.ctypes.data))


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors of the bytes of a file, by name.

    Raises:
        SafetensorError: if they are not of the format.
    """
    file = _File(data)
    return {name: file.tensor(name, None, True) for name in file.entries}


def load_file(
    filename: str | os.PathLike[str], device: str | int | Device = "cpu"
) -> dict[str, Tensor]:
    """The tensors of a file, by name.

    Raises:
        SafetensorError: if it is not of the format.
    """
    with safe_open(filename, "pt", device) as file:
        return {name: file.get_tensor(name) for name in file.offset_keys()}


class safe_open:
    """A file whose tensors are read one by one, as they are asked for.

    The file is mapped into memory. Tensors on the CPU are that memory, read as they are used; what
    is written to them stays in this process. The file must not be cut off meanwhile.

    Args:
        filename: a path.
        framework: "pt" for tensors, "np" for arrays of NumPy.
        device: where tensors go.

    Raises:
        SafetensorError: if it is not of the format.
        FileNotFoundError: if there is none.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        framework: str = "pt",
        device: str | int | Device = "cpu",
    ) -> None:
        if framework not in ("pt", "torch", "pytorch", "np", "numpy"):
            raise SafetensorError(f"framework is 'pt' or 'np', not {framework!r}")
        with open(filename, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise SafetensorError(f"{filename} is empty")
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._file: _File | None = _File(content)
        self._numpy = framework.startswith("n")
        self._device = device

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *error: Any) -> None:
        self._file = None  # tensors keep the memory that they show

    def _opened(self) -> _File:
        if self._file is None:
            raise SafetensorError("the file is closed")
        return self._file

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._opened().entries)

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order in which they lie in the file."""
        return list(self._opened().entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def metadata(self) -> dict[str, str] | None:
        """The texts of the file by name, or None."""
        return self._opened().metadata

    def get_tensor(self, name: str) -> Any:
        """The tensor of a name.

        Raises:
            SafetensorError: if there is none.
        """
        file = self._opened()
        if self._numpy:
            return file.tensor(name, None, False).numpy()
        return file.tensor(name, backend_for(self._device), False)

    def get_slice(self, name: str) -> _Slice:
        """A tensor of which ``[...]`` reads a part."""
        file = self._opened()
        return _Slice(file.entry(name), lambda: self.get_tensor(name))


class _Slice:
    """A tensor of a file, before it is read."""

    def __init__(self, entry: _Entry, read: Callable[[], Any]) -> None:
        self._entry, self._read = entry, read

    def get_shape(self) -> list[int]:
        """The sizes of the dimensions."""
        return list(self._entry.shape)

    def get_dtype(self) -> str:
        """The format's name of the dtype."""
        return _NAMES[self._entry.dtype]

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]


class _Entry:
    """The description of a tensor in a header."""

    __slots__ = ("dtype", "shape", "start", "stop")

    def __init__(self, name: str, said: Any) -> None:
        _check(type(said) is dict, f"of {name!r} the header says nothing")
        _check(set(said) == {"dtype", "shape", "data_offsets"}, f"{name!r} has other fields")
        shape, positions = said["shape"], said["data_offsets"]
        _check(
            type(shape) is list and all(type(size) is int and size >= 0 for size in shape),
            f"the shape of {name!r} is no list of sizes",
        )
        _check(
            type(positions) is list
            and len(positions) == 2
            and all(type(x) is int for x in positions),
            f"the offsets of {name!r} are no two numbers",
        )
        found = _DTYPES.get(said["dtype"]) if type(said["dtype"]) is str else None
        if found is None:
            raise SafetensorError(f"{name!r} is of the dtype {said['dtype']!r}, which is unknown")
        self.dtype, self.shape = found, tuple(shape)
        self.start, self.stop = positions
        size = found.itemsize
        for each in shape:
            size *= each
        _check(len(shape) <= 64 and size < 2**62, f"{name!r} is too large")
        _check(self.stop - self.start == size, f"{name!r} has another number of bytes")


class _File:
    """A file that was checked.

    Attributes:
        entries: what the header says of each tensor, in the order of their bytes.
        metadata: texts by name, or None.
    """

    def __init__(self, content: bytes | mmap.mmap) -> None:
        _check(len(content) >= 8, "the file is shorter than the size of its header")
        (size,) = struct.unpack("<Q", content[:8])
        _check(size <= _LARGEST_HEADER, "the header is too large")
        _check(8 + size <= len(content), "the file ends in its header")
        try:
            header = json.loads(content[8 : 8 + size].decode(), object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            raise SafetensorError(f"the header is no JSON: {error}") from error
        _check(type(header) is dict, "the header is no object")
        metadata = header.pop(_METADATA, None)
        _check(
            metadata is None
            or type(metadata) is dict
            and all(type(value) is str for value in metadata.values()),
            "the metadata are no texts",
        )
        self.metadata: dict[str, str] | None = metadata
        entries = {name: _Entry(name, said) for name, said in header.items()}
        self.entries = dict(sorted(entries.items(), key=lambda each: (each[1].start, each[1].stop)))
        position = 0
        for name, entry in self.entries.items():
            _check(entry.start == position, f"the bytes of {name!r} overlap others, or leave a gap")
            position = entry.stop
        _check(position == len(content) - 8 - size, "the file has other bytes than its tensors")
        self._content, self._start = content, 8 + size

    def entry(self, name: str) -> _Entry:
        """The description of a tensor in the header."""
        found = self.entries.get(name)
        if found is None:
            raise SafetensorError(f"File does not contain tensor {name}")
        return found

    def tensor(self, name: str, where: Any, copied: bool) -> Tensor:
        """A tensor, on the device of a backend or (None) the CPU, there on the memory of the file
        unless it is to be copied or does not begin at a multiple of the size of its elements.
        """
        entry = self.entry(name)
        count = (entry.stop - entry.start) // entry.dtype.itemsize
        position = self._start + entry.start
        held = np.frombuffer(self._content, np.uint8, entry.stop - entry.start, position)
        if entry.dtype is bool_:
            _check(bool((held <= 1).all()), f"an element of {name!r} is neither 0 nor 1")
        if copied or held.ctypes.data % entry.dtype.itemsize or not count:
            held = held.copy()
        array = held.view(entry.dtype.numpy).reshape(entry.shape)
        return new_tensor(array if where is None else where.from_host(array))


def _check(fits: bool, text: str) -> None:
    """Raise for what is not of the format."""
    if not fits:
        raise SafetensorError(f"Error while deserializing: {text}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dict.

    Raises:
        ValueError: for a name that occurs twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found
