"""How the objects of CPython and NumPy begin, as far as launchers look: fixed by their ABI.

``probes.py`` compares all of it with real objects at import. This file must not import Numba.
"""

from __future__ import annotations

from ..codegen.record import Byte, Half, Pointer, Record, Word

# Flags of arrays.
FLAG_CONTIGUOUS = 1
FLAG_OWNS_DATA = 4
FLAG_WRITEABLE = 0x0400
FLAG_ALIGNED_WRITEABLE = 0x100 | FLAG_WRITEABLE


class ObjectHead(Record):
    """CPython's PyObject."""

    references = Half()  # from CPython 3.12 on negative for what lives for ever
    rest_of_references = Half()
    type = Word()


class ArrayHead(ObjectHead):
    """NumPy's PyArrayObject."""

    data = Word()
    dimensions = Half()
    shape = Word()  # address of the sizes
    strides = Word()
    base = Word()
    descriptor = Word()
    flags = Half()
    weak_references = Word()
    buffer_information = Word()
    handler = Word()  # the capsule of the functions that free the memory of the array (NEP 49)


class DescriptorHead(ObjectHead):
    """NumPy's PyArray_Descr."""

    scalar_type = Word()
    kind = Byte()
    letter = Byte()
    byte_order = Byte()
    former_flags = Byte()
    type_number = Half()


class ListHead(ObjectHead):
    """CPython's PyListObject."""

    size = Word()
    items = Pointer()  # address of the addresses of the items


class CellHead(ObjectHead):
    """CPython's PyCellObject."""

    contents = Word()


class DictionaryHead(ObjectHead):
    """CPython's PyDictObject."""

    size = Word()
    version = Word()  # PEP 509: no two states of dictionaries have one number; up to 3.11
