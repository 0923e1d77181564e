"""Blocks of 64-bit words with named fields, for Python and compiled code to tell each other.

A block is declared once, and its declaration says where each field lies:

    class Slot(Record):
        key = Word()
        kernel = Word()

    class Table(Record):
        grain = Word()
        slots = Pointer(Slot)

Python reads and writes the fields of an array of words: ``Table().grain = 5``. In kernels and
launchers ``Table(address)`` is the block at an address, ``table.grain`` a load or a store,
``table.slots[2]`` the third of an array of blocks, and ``Table()`` a block on the stack
(``record_types.py``). Kernels that run as Python read the same blocks through views of memory.
This file must not import Numba.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, overload

import numpy as np

from .addresses import words_at

__all__ = [
    "Byte", "Half", "List", "Nested", "Pointer", "Record", "Records", "Shared", "Word", "Words",
    "array_of", "fields_of", "list_of", "row_of", "size_of", "write_list",
]  # fmt: skip

WORD_BYTES = 8

WordArray = np.ndarray[Any, Any]
_Value = TypeVar("_Value")
_Own = TypeVar("_Own", bound="Field[Any]")


class Field(Generic[_Value]):
    """A field of a record, which lies where C would put it."""

    #: Bytes that it takes, and of what its place is a multiple.
    bytes = WORD_BYTES
    alignment = WORD_BYTES
    #: Bytes from the start of the record.
    offset: int

    @property
    def position(self) -> int:
        """Words from the start of the record."""
        return self.offset // WORD_BYTES

    @overload
    def __get__(self: _Own, record: None, owner: type) -> _Own: ...
    @overload
    def __get__(self, record: Record, owner: type) -> _Value: ...
    def __get__(self, record: Record | None, owner: type) -> Any:
        return self if record is None else self.read(record.words)

    def __set__(self, record: Record, value: _Value) -> None:
        self.write(record.words, value)

    def read(self, words: WordArray) -> _Value:
        """The value of the field in a block."""
        raise NotImplementedError

    def write(self, words: WordArray, value: _Value) -> None:
        """Set the field of a block."""
        raise NotImplementedError


class Word(Field[int]):
    """A number, or an address that is taken as one."""

    def read(self, words: WordArray) -> int:
        return int(words[self.position])

    def write(self, words: WordArray, value: int) -> None:
        words[self.position] = value


class Shared(Word):
    """A number that several threads write: compiled code is given its address.

    It may be ``aligned`` to so many bytes, and with it the record.
    """

    def __init__(self, aligned: int = WORD_BYTES):
        self.alignment = aligned


class Half(Field[int]):
    """An int32, which compiled code alone reads and writes."""

    bytes = alignment = 4


class Byte(Field[int]):
    """An int8, which compiled code alone reads and writes."""

    bytes = alignment = 1


class Pointer(Field[Any]):
    """The address of a record, or of the first of several that follow one another.

    What is read is the record there, or NULL; without a record it is a number.
    """

    def __init__(self, record: type[Record] | None = None):
        self.record = record

    def read(self, words: WordArray) -> Any:
        address = int(words[self.position])
        return address if self.record is None or address == 0 else self.record(address)

    def write(self, words: WordArray, value: int) -> None:
        words[self.position] = value


class Words(Field[WordArray]):
    """So many words in a row."""

    def __init__(self, count: int):
        self.bytes = WORD_BYTES * count

    def read(self, words: WordArray) -> WordArray:
        return words[self.position : self.position + self.bytes // WORD_BYTES]

    def write(self, words: WordArray, value: Any) -> None:
        self.read(words)[:] = value


_Inner = TypeVar("_Inner", bound="Record")


class Nested(Field[_Inner]):
    """A record inside another one."""

    def __init__(self, record: type[_Inner]):
        self.record = record
        self.bytes = WORD_BYTES * size_of(record)
        self.alignment = record._alignment

    def read(self, words: WordArray) -> _Inner:
        return self.record(words[self.position : self.position + size_of(self.record)])


class Records(Field[WordArray]):
    """So many records in a row; to Python, rows of words."""

    def __init__(self, record: type[Record], count: int):
        self.record = record
        self.bytes = WORD_BYTES * size_of(record) * count
        self.alignment = record._alignment

    def read(self, words: WordArray) -> WordArray:
        size = size_of(self.record)
        found = words[self.position : self.position + self.bytes // WORD_BYTES]
        return found.reshape(-1, size)


class _RecordClass(type):
    """A class of records, which says where its fields lie."""

    _fields: dict[str, Field[Any]]
    _bytes: int
    _alignment: int

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        made = super().__new__(cls, name, bases, {"__slots__": (), **namespace})
        made._fields = {}
        made._bytes, made._alignment = 0, WORD_BYTES
        for base in bases:  # whose fields come first
            made._fields |= getattr(base, "_fields", {})
            made._bytes = WORD_BYTES * size_of(base) if isinstance(base, _RecordClass) else 0
            made._alignment = getattr(base, "_alignment", WORD_BYTES)
        for key, field in namespace.items():
            if isinstance(field, Field):
                if key in _TAKEN:
                    raise TypeError(f"{name}: a field may not be called {key}")
                if key in made._fields:  # another kind of field, in the place of the base's
                    field.offset = made._fields[key].offset
                    if field.bytes != made._fields[key].bytes:
                        raise TypeError(f"{name}: {key} is as long as in the base")
                    made._fields[key] = field
                    continue
                field.offset = -(-made._bytes // field.alignment) * field.alignment
                made._fields[key] = field
                made._bytes = field.offset + field.bytes
                made._alignment = max(made._alignment, field.alignment)
        return made


#: Names that are no fields.
_TAKEN = ("address", "words")


class Record(metaclass=_RecordClass):
    """A block of words, as Python sees it."""

    __slots__ = ("words",)

    _fields: ClassVar[dict[str, Field[Any]]]
    _bytes: ClassVar[int]
    _alignment: ClassVar[int]

    def __init__(self, words: WordArray | int | None = None):
        """The record in an array of words, or at an address; a new one is zero."""
        #: The words, an array of int64.
        self.words: WordArray
        if words is None:
            self.words = np.zeros(size_of(type(self)), dtype=np.int64)
        elif isinstance(words, np.ndarray):
            self.words = words
        else:
            self.words = words_at(words, size_of(type(self)))

    @property
    def address(self) -> int:
        """The address of the first word; the array has to be kept alive."""
        return int(self.words.ctypes.data)

    def __getitem__(self: _Inner, index: int) -> _Inner:
        """One of the records that follow one another in memory from this one on."""
        return type(self)(self.address + WORD_BYTES * size_of(type(self)) * index)


def fields_of(record: type[Record]) -> Mapping[str, Field[Any]]:
    """The fields of a record by their names, in their order."""
    return record._fields


def size_of(record: _RecordClass) -> int:
    """The words of a record, up to where the next one may begin."""
    return -(-record._bytes // record._alignment) * record._alignment // WORD_BYTES


def row_of(record: type[Record], **values: int) -> tuple[int, ...]:
    """The words of a record of single words, all of which are named."""
    if values.keys() != record._fields.keys():
        raise TypeError(f"{record.__name__} has the fields {', '.join(record._fields)}")
    return tuple([values[name] for name in record._fields])


def array_of(record: type[Record], count: int) -> WordArray:
    """Memory for so many records, a row each, with zeros in it; for one at least."""
    return np.zeros((max(count, 1), size_of(record)), dtype=np.int64)


class List(Record):
    """How many records, or words, there are in an array, and the address of the first."""

    count = Word()
    first = Pointer()


def write_list(field: List, rows: Sequence[Any]) -> WordArray:
    """Have a list be these rows, or words; returns their memory, to be kept alive."""
    words = np.array(rows or [0], dtype=np.int64)
    # One store: another thread may read the list between two.
    field.words[:] = row_of(List, count=len(rows), first=words.ctypes.data)
    return words


def list_of(record: type[Record]) -> Nested[List]:
    """A field for a :class:`List` whose ``first`` is such a record to launchers."""
    made = _RecordClass(f"ListOf{record.__name__}", (List,), {"first": Pointer(record)})
    return Nested(made)
